"""Consumer test: what `cmake --install` leaves behind is enough for a stranger.

Installs a build to a scratch prefix, builds a small project with find_package(tarn) against it, walks an archive and
reads a published member with it, and looks at what else was installed. The project links no libfuse.
"""
import argparse
import os
import subprocess
import sys
import tempfile


def run(*command, **more):
    """Standard output of a command that has to succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                          **more)
    if done.returncode:
        sys.exit(f'{" ".join(command)}: exit code {done.returncode}\n'
                 f'{done.stdout.decode(errors="replace")}{done.stderr.decode(errors="replace")}')
    return done.stdout


def expect(what, expected, found):
    if expected != found:
        sys.exit(f'{what}: expected {expected!r}, found {found!r}')
    print(f'ok: {what}')


def install(build, prefix):
    run('cmake', '--install', build, '--prefix', prefix)
    for path in ('bin/tarn', 'bin/tarn-index', 'share/man/man1/tarn.1', 'share/man/man5/tarn.conf.5',
                 'share/doc/tarn/examples/tarn.conf', 'share/doc/tarn/LICENSE',
                 'share/bash-completion/completions/tarn-index'):
        expect(f'{path} is installed', True, os.path.isfile(os.path.join(prefix, path)))
    if os.path.exists(os.path.join(build, 'bin', 'tarn-mount')):
        helper = os.path.join(prefix, 'sbin', 'mount.fuse.tarn')
        expect('mount.fuse.tarn is tarn-mount', os.path.join(prefix, 'bin', 'tarn-mount'), os.path.realpath(helper))


def build_project(prefix, project, out, compiler, flags):
    run('cmake', '-S', project, '-B', out, '-G', 'Ninja', f'-DCMAKE_PREFIX_PATH={prefix}',
        f'-DCMAKE_CXX_COMPILER={compiler}', f'-DCMAKE_CXX_FLAGS={flags}', '-DCMAKE_CXX_COMPILER_LAUNCHER=ccache')
    run('cmake', '--build', out)
    return os.path.join(out, 'consumer')


def make_dataset(scratch):
    tree = os.path.join(scratch, 'tree')
    os.makedirs(os.path.join(tree, 'n01'))
    content = bytes(range(256)) * 700
    with open(os.path.join(tree, 'n01', 'a b.bin'), 'wb') as f:
        f.write(content)
    dataset = os.path.join(scratch, 'data', 'tiny')
    os.makedirs(dataset)
    archive = os.path.join(dataset, 'train.tar')
    run('tar', '--create', '--file', archive, '--format', 'pax', '--directory', tree, 'n01')
    return dataset, archive, content


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', required=True)
    parser.add_argument('--project', required=True)
    parser.add_argument('--compiler', default='c++')
    parser.add_argument('--flags', default='')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='tarn consumer ') as scratch:
        prefix = os.path.join(scratch, 'prefix')
        install(arguments.build, prefix)
        consumer = build_project(prefix, arguments.project, os.path.join(scratch, 'build'), arguments.compiler,
                                 arguments.flags)
        expect('the library needs no libfuse', False, b'fuse' in run('ldd', consumer))
        dataset, archive, content = make_dataset(scratch)
        expect('walks an archive', b'0 n01/\n%d n01/a b.bin\n0 findings\n' % len(content),
               run(consumer, 'walk', archive))
        index = os.path.join(scratch, 'index')
        run(os.path.join(prefix, 'bin', 'tarn-index'), 'publish', dataset, '--name', 'tiny', '--index', index,
            '--settle', '0')
        expect('reads a published member', content,
               run(consumer, 'read', index, 'tiny', os.path.dirname(dataset), 'train', 'n01', 'a b.bin'))


if __name__ == '__main__':
    main()
