"""Format lint: every C++ file is as clang-format 14 (Debian 12) writes it with .clang-format.

Another version formats differently, so with another version this says that it was skipped. script/format repairs.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import lint

REFERENCE = 14
STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '.clang-format')


def _require_reference():
    if not shutil.which('clang-format'):
        raise lint.Skip('clang-format is not installed')
    version = subprocess.run(['clang-format', '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
    if int(re.search(r'version (\d+)', version).group(1)) != REFERENCE:
        raise lint.Skip(f'clang-format {REFERENCE} is the reference, this is: {version.strip()}')


def _check_file(path):
    run = subprocess.run(['clang-format', '--dry-run', '--Werror', '--ferror-limit=1', f'--style=file:{STYLE}', path],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return run.returncode, run.stderr.splitlines()


def check(root):
    _require_reference()
    names = lint.files(root, '.cc', '.h')
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(_check_file, [os.path.join(root, n) for n in names])
        for name, (code, said) in zip(names, results):
            if code:
                place = re.search(r':(\d+):\d+: error', said[0]) if said else None
                yield f'{name}:{place.group(1) if place else 1}: not formatted: script/format {name}'


SAMPLES = [
    lint.Sample('brace', {'src/a.cc': 'int F()\n{\n  return 0;\n}\n'}, 'src/a.cc:1: not formatted'),
    lint.Sample('width', {'src/a.h': '// ' + 'long ' * 40 + '\n'}, 'not formatted'),
    lint.Sample('what is right', {'src/a.cc': 'int F() {\n  return 0;\n}\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
