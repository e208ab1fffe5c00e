"""Link lint: what the documents point at is there.

Markdown links to files and headings, paths of the tree in backquotes, and cross references between man pages.
"""
import fnmatch
import os
import re
import sys

import lint

LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
CODE = re.compile(r'`([^`]+)`')
FENCE = re.compile(r'^\s*(```|~~~)')
# A path in backquotes is one of ours when it begins with one of these.
PLACES = ('src/', 'include/', 'fuse/', 'indexer/', 'bench/', 'tests/', 'script/', 'docs/', 'deploy/', 'cmake/', '.ci/')
CROSS_REFERENCE = re.compile(r'^\.Xr (tarn[a-z.-]*) (\d)')


def _anchors(text):
    """The anchors that GitHub gives the headings of a Markdown text."""
    anchors, fenced = set(), False
    for row in text.splitlines():
        if FENCE.match(row):
            fenced = not fenced
        if row.startswith('#') and not fenced:
            words = re.sub(r'[^\w\- ]', '', row.lstrip('#').strip().lower().replace('`', ''))
            anchors.add(words.replace(' ', '-'))
    return anchors


def _check_link(root, name, target, known):
    if re.match(r'[a-z]+:', target):
        return None
    path, _, anchor = target.partition('#')
    path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if path not in known and not any(k.startswith(path + '/') for k in known):
        return f'the link leads to {path}, which is not there'
    if anchor and path.endswith('.md') and anchor not in _anchors(lint.read(root, path)):
        return f'{path} has no heading #{anchor}'
    return None


def _check_path(token, known):
    """A path as documents write it: whole, a directory, or with * and <...> standing for any name."""
    pattern = re.sub(r'<[^>]*>|[A-Z]{3,}(?=/|$)', '*', token.split('#')[0].split(':')[0].rstrip('/'))
    if not re.fullmatch(r'[\w./*{},+-]+', pattern):
        return None
    for choice in _braces(pattern):
        if not any(fnmatch.fnmatch(k, choice) or fnmatch.fnmatch(k, choice + '/*') for k in known):
            return f'`{token}` is not in the tree'
    return None


def _braces(pattern):
    match = re.search(r'\{([^{}]*)\}', pattern)
    if not match:
        return [pattern]
    return [p for word in match.group(1).split(',')
            for p in _braces(pattern[:match.start()] + word + pattern[match.end():])]


def check(root):
    known = lint.files(root)
    for name in [n for n in known if n.endswith('.md')]:
        fenced = False
        for number, line in lint.lines(root, name):
            if FENCE.match(line):
                fenced = not fenced
            if fenced:
                continue
            for target in LINK.findall(CODE.sub('', line)):
                trouble = _check_link(root, name, target, known)
                if trouble:
                    yield f'{name}:{number}: {trouble}'
            for code in CODE.findall(line):
                token = code.split()[0] if code.split() else ''
                if token.startswith(PLACES) and _check_path(token, known):
                    yield f'{name}:{number}: {_check_path(token, known)}'
    pages = {os.path.basename(n) for n in known if n.startswith('docs/man/')}
    for name in [n for n in known if n.startswith('docs/man/')]:
        for number, line in lint.lines(root, name):
            match = CROSS_REFERENCE.match(line)
            if match and '.'.join(match.groups()) not in pages:
                yield f'{name}:{number}: there is no man page {match.group(1)}({match.group(2)})'


SAMPLES = [
    lint.Sample('file', {'README.md': '[a](docs/a.md)\n'}, 'docs/a.md, which is not there'),
    lint.Sample('heading', {'README.md': '[a](docs/a.md#b)\n', 'docs/a.md': '# A\n```\n# B\n```\n'}, 'no heading #b'),
    lint.Sample('folder long gone', {'docs/a.md': 'See `src/old/` for it.\n', 'src/new/a.cc': '\n'}, '`src/old/`'),
    lint.Sample('pattern', {'docs/a.md': 'See `src/*/b.cc`.\n', 'src/new/a.cc': '\n'}, '`src/*/b.cc`'),
    lint.Sample('man page', {'docs/man/tarn.1': '.Xr tarn-mount 8\n'}, 'no man page tarn-mount(8)'),
    lint.Sample('what is right', {
        'README.md': '[a](docs/a.md#the-b) [c](https://example.org) `script/test --label x` [d](docs)\n',
        'docs/a.md': '# A\n## The `b`\n[up](../README.md) `src/<layer>/a.cc`, `src/{new,newer}/`\n',
        'src/new/a.cc': '\n', 'src/newer/a.cc': '\n', 'script/test': '\n',
        'docs/man/tarn.1': '.Xr tarn.conf 5 ,\n.Xr tar 1\n', 'docs/man/tarn.conf.5': '\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
