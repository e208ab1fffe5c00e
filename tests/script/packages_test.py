"""Test of script/install-packages against a dpkg and an apt-get of its own: it installs what is missing, only that,
and only with the rights to."""
import argparse
import os
import stat
import subprocess
import sys
import tempfile

INSTALLED = 'installed cmake \ninstalled pkgconf pkg-config\nconfig-files gdb \n'


def write_program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\n' + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def expect(what, expected, found):
    if expected != found:
        sys.exit(f'{what}: expected {expected!r}, found {found!r}')
    print(f'ok: {what}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    script = os.path.join(parser.parse_args().root, 'script', 'install-packages')
    with tempfile.TemporaryDirectory(prefix='tarn packages ') as scratch:
        log = os.path.join(scratch, 'log')
        write_program(scratch, 'dpkg-query', f"cat <<'END'\n{INSTALLED}END\n")
        write_program(scratch, 'apt-get', f'echo "$*" >>"{log}"\n')
        write_program(scratch, 'id', 'echo 0\n')

        def run(*arguments):
            done = subprocess.run([script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False, env={**os.environ, 'PATH': f'{scratch}:{os.environ["PATH"]}'})
            return done.returncode, done.stdout

        code, text = run('--dry-run', 'dev')
        expect('a dry run says what is missing', (1, 'Missing of dev: clang-tidy gdb\n'), (code, text))
        expect('a dry run installs nothing', False, os.path.exists(log))
        code, text = run('dev')
        with open(log, encoding='utf-8') as f:
            expect('what is missing is installed',
                   [0, 'update -qq\n', 'install -qq -y --no-install-recommends clang-tidy gdb\n'], [code, *f])
        code, text = run('--dry-run', 'build')
        expect('what is there, or provided, is not missing', (False, False), (' cmake' in text, ' pkg-config' in text))
        code, text = run('no-such-group')
        expect('an unknown group is a usage error that names the groups', (2, True), (code, 'build run test' in text))
        write_program(scratch, 'id', 'echo 1000\n')
        write_program(scratch, 'sudo', f'echo "sudo $*" >>"{log}"\n')
        os.unlink(log)
        expect('a user goes through sudo', 0, run('dev')[0])
        with open(log, encoding='utf-8') as f:
            expect('both steps', [True, True], [row.startswith('sudo ') for row in f])


if __name__ == '__main__':
    main()
