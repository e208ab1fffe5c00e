"""Shell lint: shellcheck finds nothing in any shell script."""
import shutil
import subprocess
import sys

import lint


def _is_shell(root, name):
    head = lint.read(root, name)[:400] if not name.endswith(('.cc', '.h', '.py', '.md', '.tar')) else ''
    first = head.split('\n', 1)[0]
    return (first.startswith('#!') and first.rstrip().endswith(('/bash', '/sh', ' bash', ' sh'))) \
        or 'shellcheck shell=' in head


def check(root):
    if not shutil.which('shellcheck'):
        raise lint.Skip('shellcheck is not installed')
    names = [n for n in lint.files(root) if _is_shell(root, n)]
    if names:
        run = subprocess.run(['shellcheck', '--external-sources', '--source-path=SCRIPTDIR', '--format=gcc', *names],
                             cwd=root, stdout=subprocess.PIPE, text=True, check=False)
        yield from run.stdout.splitlines()


SAMPLES = [
    lint.Sample('unquoted', {'script/a': '#!/bin/sh\n# Does.\nrm $1\n'}, 'SC2086'),
    lint.Sample('sourced files', {'script/lib': '# shellcheck shell=bash\ncd /nowhere\n'}, 'SC2164'),
    lint.Sample('what is right', {'script/a': '#!/bin/sh\n# Does.\nrm "$1"\n', 'src/a.cc': 'rm $1\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
