"""Test-list lint: no registered test disappears in silence.

tests/lint/registered-tests lists the tests that a full build registers with ctest. One that is no longer registered
is a finding until its line is taken out, in the commit that says why. New tests are told and added with
script/update-test-list.
"""
import json
import os
import subprocess
import sys

import lint

LIST = 'tests/lint/registered-tests'
HEAD = ['# Tests that a full build registers (ctest -N), sorted. script/update-test-list adds new ones; a test that goes',
        '# is taken out by hand, in the commit that says why.']


def _registered(root, build):
    """Names of the build's tests. A sample brings them along in a file instead of a build."""
    given = os.path.join(root, 'ctest-names')
    if os.path.exists(given):
        return set(lint.read(root, 'ctest-names').splitlines())
    if not build:
        raise lint.Skip('--build is not given')
    shown = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], stdout=subprocess.PIPE, check=True)
    # ctest may say a word before the object.
    text = shown.stdout.decode(errors='surrogateescape')
    names = {t['name'] for t in json.loads(text[text.index('{'):])['tests']}
    # What gtest_discover_tests registers for a program that is not there.
    unbuilt = sorted(n for n in names if n.endswith('_NOT_BUILT'))
    if unbuilt:
        sys.exit(f'not built, so its tests are not known: {", ".join(unbuilt)}')
    return names


def _listed(root):
    return [row for row in lint.read(root, LIST).splitlines() if row and not row.startswith('#')]


def update(root, build):
    names = sorted(set(_listed(root)) | _registered(root, build))
    added = len(names) - len(_listed(root))
    with open(os.path.join(root, LIST), 'w', encoding='utf-8', errors='surrogateescape') as f:
        f.write('\n'.join(HEAD + names) + '\n')
    print(f'{LIST}: {added} added, {len(names)} in all')


def check(root, arguments):
    listed = _listed(root)
    registered = _registered(root, arguments.build)
    if listed != sorted(set(listed)):
        yield f'{LIST}: not sorted, or a name stands twice: script/update-test-list'
    for name in sorted(set(listed) - registered):
        yield f'{LIST}: {name} is not registered any more: take it out in the commit that says why it goes'
    new = registered - set(listed)
    if new and not arguments.self_test:
        print(f'{len(new)} tests are not in {LIST} yet: script/update-test-list adds them')


SAMPLES = [
    lint.Sample('a test went', {LIST: '# head\na.b\na.c\n', 'ctest-names': 'a.b\n'}, 'a.c is not registered'),
    lint.Sample('order', {LIST: 'b\na\n', 'ctest-names': 'a\nb\n'}, 'not sorted'),
    lint.Sample('a test came', {LIST: 'a\n', 'ctest-names': 'a\nb\n'}, None),
]


def _arguments(parser):
    parser.add_argument('--build', help='the build directory whose tests count')
    parser.add_argument('--update', action='store_true', help='add the tests that are not in the list')


if __name__ == '__main__':
    if '--update' in sys.argv:
        import argparse
        PARSER = argparse.ArgumentParser()
        PARSER.add_argument('--root')
        _arguments(PARSER)
        ARGUMENTS = PARSER.parse_args()
        update(ARGUMENTS.root, ARGUMENTS.build)
        sys.exit(0)
    sys.exit(lint.main(check, SAMPLES, _arguments))
