"""What the lints share: the files they look at, how findings are told, and the proof that each can fail.

A lint is a module with a generator `check(root)` that yields findings ("file:line: what is wrong") and a list of
samples. ctest runs it twice: over the tree, and with --self-test over its samples: a small tree each, and the
finding it must give (or None: a tree that is fine). A lint without a sample that fails is not accepted.
"""
import argparse
import os
import subprocess
import sys
import tempfile

SKIPPED = 77  # exit code that CMake's SKIP_RETURN_CODE names


class Skip(Exception):
    """The lint cannot run on this machine; the text says why."""


class Sample:
    """A tree of files ({path: text}) and a part of the one finding that it must give, or None for no finding."""

    def __init__(self, rule, files, finding):
        self.rule, self.files, self.finding = rule, files, finding


def files(root, *suffixes):
    """Paths relative to root of the files git tracks (all files where there is no git), sorted."""
    names = _tracked(root)
    if names is None:
        names = []
        for directory, below, here in os.walk(root):
            below[:] = [d for d in below if d not in ('.git', 'build', '__pycache__')]
            names += [os.path.relpath(os.path.join(directory, n), root) for n in here]
    return sorted(n for n in names
                  if os.path.isfile(os.path.join(root, n)) and (not suffixes or n.endswith(suffixes)))


def _tracked(root):
    if not os.path.exists(os.path.join(root, '.git')):
        return None
    listing = subprocess.run(['git', '-c', 'safe.directory=*', '-C', root, 'ls-files', '-z'], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False)
    return None if listing.returncode else [os.fsdecode(n) for n in listing.stdout.split(b'\0') if n]


def read(root, name):
    """Text of a file; bytes that are no UTF-8 are kept as surrogates."""
    with open(os.path.join(root, name), encoding='utf-8', errors='surrogateescape', newline='') as f:
        return f.read()


def lines(root, name):
    """(number from 1, text without the line end) for each line."""
    return enumerate(read(root, name).splitlines(), 1)


def _self_test(check, samples):
    trouble = []
    if not any(s.finding for s in samples):
        trouble.append('no sample that must fail')
    for sample in samples:
        with tempfile.TemporaryDirectory(prefix='tarn-lint-') as root:
            for name, text in sample.files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='utf-8', newline='') as f:
                    f.write(text)
                if text.startswith('#!'):
                    os.chmod(path, 0o755)
            found = list(check(root))
        if sample.finding is None:
            trouble += [f'{sample.rule}: expected no finding, got: {f}' for f in found]
        elif len(found) != 1 or sample.finding not in found[0]:
            trouble.append(f'{sample.rule}: expected one finding with {sample.finding!r}, got: {found}')
    return trouble


def main(check, samples, add_arguments=None):
    """Runs a lint from the command line; exit 0 when nothing was found, 1 when something was, 77 when it cannot run.

    check(root) or, with add_arguments, check(root, arguments).
    """
    parser = argparse.ArgumentParser(description=sys.modules['__main__'].__doc__)
    parser.add_argument('--root', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    parser.add_argument('--self-test', action='store_true', help='run over the samples instead')
    if add_arguments:
        add_arguments(parser)
    arguments = parser.parse_args()
    try:
        if arguments.self_test:
            found = _self_test(lambda root: check(root, arguments) if add_arguments else check(root), samples)
        else:
            root = os.path.realpath(arguments.root)
            found = list(check(root, arguments) if add_arguments else check(root))
    except Skip as reason:
        print(f'[  SKIPPED ] {reason}')
        return SKIPPED
    for finding in found:
        print(finding)
    print(f'{len(found)} findings' if found else 'nothing found')
    return 1 if found else 0
