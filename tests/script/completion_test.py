"""Completion test: what bash offers for a program is what the program's --help lists."""
import argparse
import os
import re
import subprocess
import sys

COMPLETE = '''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tarn
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
'''


def offered(completions, *words):
    done = subprocess.run(['bash', '-c', COMPLETE, 'bash', completions, *words], stdout=subprocess.PIPE, text=True,
                          check=True)
    return set(done.stdout.split())


def expect(what, expected, found):
    if expected != found:
        sys.exit(f'{what}: expected {sorted(expected)}, found {sorted(found)}')
    print(f'ok: {what}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--completions', required=True)
    arguments = parser.parse_args()
    for name in sorted(n for n in os.listdir(arguments.bin) if re.fullmatch(r'tarn(-[a-z]+)?', n)):
        program = os.path.join(arguments.bin, name)
        text = subprocess.run([program, '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
        options = set(re.findall(r'^\s+(?:-\w,\s*)?(--[a-z][a-z0-9-]*)', text, re.MULTILINE))
        expect(f'{name} offers its options', options, offered(arguments.completions, program, '--'))
        expect(f'{name} offers what fits', {'--help'}, offered(arguments.completions, program, '--hel'))
    tarn = os.path.join(arguments.bin, 'tarn')
    expect('tarn offers its commands', {'walk'}, offered(arguments.completions, tarn, 'wal'))
    expect('a command offers its options', True,
           {'--json', '--help'} <= offered(arguments.completions, tarn, 'walk', '--'))


if __name__ == '__main__':
    main()
