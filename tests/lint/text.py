"""Text lint: what every tracked text file keeps to, whatever its language.

Headers open with their idea and have the guard that their path gives; nothing is left for later; nothing is merged
half; lines end plainly.
"""
import re
import sys

import lint

# Written in two halves, so that this file passes itself.
LEFT_FOR_LATER = re.compile(r'\b(' + '|'.join(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK']) + r')\b')
MERGE_MARKER = re.compile(r'^(<{7} |>{7} |={7}$)')
SUFFIXES = ('.cc', '.h', '.py', '.sh', '.md', '.cmake', '.txt', '.json', '.in', '.conf', '.yaml', '.yml', '.service',
            '.1', '.5', '.8')
# Verbatim from elsewhere.
FOREIGN = ('LICENSE',)


def _is_text(root, name):
    if name in FOREIGN or name.startswith(('tests/golden/', 'tests/fuzz/corpus/')):
        return False
    if name.endswith(SUFFIXES) or name.split('/')[-1] in ('Dockerfile', 'Containerfile', 'packages', 'lib'):
        return True
    return lint.read(root, name)[:2] == '#!'


def _guards(name):
    """The guards that a header may have: its path, where the roots include/ and src/ may be left out."""
    paths = [name, re.sub(r'^(include|src)/', '', name)]
    guards = [re.sub(r'[^A-Za-z0-9]', '_', path).upper() + '_' for path in paths]
    return [g if g.startswith('TARN_') else 'TARN_' + g for g in guards]


def _check_header(name, text, owners):
    rows = text.splitlines()
    if not rows or not rows[0].startswith('// '):
        yield f'{name}:1: a header opens with its idea: a comment that says what it is for and why this way'
        return
    start = next((i for i, row in enumerate(rows) if not row.startswith('//')), 0)
    for guard in _guards(name):
        if rows[start:start + 2] == [f'#ifndef {guard}', f'#define {guard}'] and rows[-1] == f'#endif  // {guard}':
            if owners.setdefault(guard, name) != name:
                yield f'{name}:{start + 1}: {owners[guard]} has the same guard'
            return
    guard = _guards(name)[-1]
    yield f'{name}:{start + 1}: the guard of this header is {guard}, from its path, with "#endif  // {guard}" last'


def check(root):
    owners = {}
    for name in lint.files(root):
        if not _is_text(root, name):
            continue
        text = lint.read(root, name)
        if name.endswith('.h'):
            yield from _check_header(name, text, owners)
        if text and not text.endswith('\n'):
            yield f'{name}: does not end with a line end'
        if text.startswith('#!') and len(text.splitlines()) > 1 and not re.match(r'#|"""', text.splitlines()[1]):
            yield f'{name}:2: a script opens with a comment that says what it is for'
        for number, line in enumerate(text.split('\n'), 1):
            if LEFT_FOR_LATER.search(line):
                yield f'{name}:{number}: left for later: do it, or leave it out'
            if MERGE_MARKER.match(line):
                yield f'{name}:{number}: a merge marker'
            if line != line.rstrip():
                yield f'{name}:{number}: blanks at the end of the line'
            if '\t' in line and not name.endswith('.md'):
                yield f'{name}:{number}: a tab'


HEADER = '// The idea.\n#ifndef TARN_IO_A_H_\n#define TARN_IO_A_H_\n#endif  // TARN_IO_A_H_\n'
SAMPLES = [
    lint.Sample('left for later', {'src/a.cc': '// TO' 'DO: later\n'}, 'left for later'),
    lint.Sample('merged half', {'docs/a.md': '<' * 7 + ' HEAD\n'}, 'merge marker'),
    lint.Sample('line ends', {'src/a.cc': 'int a;\r\n'}, 'blanks at the end'),
    lint.Sample('tabs', {'script/a': '#!/bin/sh\n# Does.\n\ttrue\n'}, 'a tab'),
    lint.Sample('last line', {'src/a.cc': 'int a;'}, 'line end'),
    lint.Sample('idea', {'include/tarn/io/a.h': HEADER[HEADER.index('#'):]}, 'opens with its idea'),
    lint.Sample('guard of a public header', {'include/tarn/io/b.h': HEADER}, 'TARN_IO_B_H_'),
    lint.Sample('guard of a private header', {'src/index/a.h': HEADER}, 'TARN_INDEX_A_H_'),
    lint.Sample('guard of a program', {'fuse/a.h': HEADER}, 'TARN_FUSE_A_H_'),
    lint.Sample('guards that meet', {'include/tarn/io/a.h': HEADER, 'src/io/a.h': HEADER}, 'the same guard'),
    lint.Sample('script', {'script/a': '#!/bin/sh\ntrue\n'}, 'opens with a comment'),
    lint.Sample('what is right', {'include/tarn/io/a.h': HEADER, 'src/io/a.h': HEADER.replace('_IO', '_SRC_IO'), 'LICENSE': 'x \n',
                                  'script/a': '#!/bin/sh\n# Does.\ntrue\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
