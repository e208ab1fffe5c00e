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
FILES_AT_ONCE = 32
STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '.clang-format')


def _require_reference():
    if not shutil.which('clang-format'):
        raise lint.Skip('clang-format is not installed')
    version = subprocess.run(['clang-format', '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
    if int(re.search(r'version (\d+)', version).group(1)) != REFERENCE:
        raise lint.Skip(f'clang-format {REFERENCE} is the reference, this is: {version.strip()}')


def _unformatted(paths):
    """{path: first line that is not as clang-format writes it}"""
    run = subprocess.run(['clang-format', '--dry-run', '--Werror', f'--style=file:{STYLE}', *paths],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace', check=False)
    found = {}
    for path, line in re.findall(r'^(.*):(\d+):\d+: error: ', run.stderr, re.MULTILINE):
        found.setdefault(path, int(line))
    if run.returncode and not found:
        raise RuntimeError(f'clang-format: exit code {run.returncode}: {run.stderr}')
    return found


def check(root):
    _require_reference()
    paths = [os.path.join(root, n) for n in lint.files(root, '.cc', '.h')]
    batches = [paths[i:i + FILES_AT_ONCE] for i in range(0, len(paths), FILES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(_unformatted, batches):
            for path, line in sorted(found.items()):
                name = os.path.relpath(path, root)
                yield f'{name}:{line}: not formatted: script/format {name}'


SAMPLES = [
    lint.Sample('brace', {'src/a.cc': 'int F()\n{\n  return 0;\n}\n'}, 'src/a.cc:1: not formatted'),
    lint.Sample('width', {'src/a.h': '// ' + 'long ' * 40 + '\n'}, 'not formatted'),
    lint.Sample('what is right', {'src/a.cc': 'int F() {\n  return 0;\n}\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
