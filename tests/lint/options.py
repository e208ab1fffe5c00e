"""Option lint: what the programs say with --help, the man pages, the example configuration and the sources agree.

The built programs are asked, so nothing that they offer goes undescribed and nothing described is long gone:
every option of every command has an `.It` in its man page below `.Ss COMMAND` of the section COMMANDS (or outside all
of these, when it is common to them), and the other way round; every key of the configuration file stands in tarn.conf(5) and in the example;
every TARN_ variable that the sources read stands in a man page. groff formats each page without a warning.
"""
import os
import re
import shutil
import subprocess
import sys

import lint

PAGES = {'tarn': 'docs/man/tarn.1', 'tarn-index': 'docs/man/tarn-index.1', 'tarn-mount': 'docs/man/tarn-mount.8',
         'tarn-bench': 'docs/man/tarn-bench.1'}
# Commands that a program has beside its main one, which its help does not list under a heading.
BESIDE = {'tarn-mount': ('unmount',)}
# Commands that hand everything on to another program, whose own page has their options.
HANDED_ON = {'tarn': ('index', 'mount', 'bench')}
CONFIG_SOURCE, CONFIG_PAGE, CONFIG_EXAMPLE = 'src/base/config.cc', 'docs/man/tarn.conf.5', 'deploy/tarn.conf'
OPTION = re.compile(r'(?<![\w-])--([a-z][a-z0-9-]*)')
COMMANDS_HEADING = re.compile(r'^(sub)?commands\b.*:$', re.IGNORECASE)


def _help(program, *command):
    run = subprocess.run([program, *command, '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=60, check=False, stdin=subprocess.DEVNULL)
    return run.returncode, run.stdout


def _help_options(text):
    """The options that a help text offers: those that begin a line of it, with their other spellings."""
    rows = [re.match(r'\s+((?:-\w,?\s*)?--[a-z].*)', row) for row in text.splitlines()]
    # A spelling ends where the description begins, two blanks further on.
    return {o for row in rows if row for o in OPTION.findall(re.split(r'\s{2,}', row.group(1))[0])}


def _help_commands(text):
    commands, inside = [], False
    for row in text.splitlines():
        if row and not row.startswith(' '):
            inside = bool(COMMANDS_HEADING.match(row))
        elif inside and re.match(r'  ?[a-z]', row):
            commands.append(row.split()[0].rstrip(',:'))
    return commands


def _page_options(text):
    """{command: {option: line}} of an mdoc page: what stands in `.It` lines. The command '' has what stands outside all
    commands, which are the `.Ss` of the section COMMANDS."""
    found, section, command = {'': {}}, '', ''
    for number, row in enumerate(text.replace('\\-', '-').splitlines(), 1):
        if row.startswith('.Sh '):
            section, command = row[4:], ''
        elif row.startswith('.Ss ') and section == 'COMMANDS':
            command = row.split()[1]
            found[command] = {}
        elif row.startswith('.It '):
            for option in re.findall(r'\bFl -([a-z][a-z0-9-]*)', row):
                found[command].setdefault(option, number)
    return found


def _check_program(binary, page, page_text):
    program = os.path.basename(binary)
    code, text = _help(binary)
    if code:
        yield f'{program} --help: exit code {code}'
        return
    described = _page_options(page_text)
    offered = {'': _help_options(text)}
    for command in [*_help_commands(text), *BESIDE.get(program, ())]:
        if command in HANDED_ON.get(program, ()):
            continue
        code, text = _help(binary, command)
        if code:
            yield f'{program} {command} --help: exit code {code}'
        offered[command] = _help_options(text)
    for command, options in offered.items():
        if command not in described:
            yield f'{page}: no ".Ss {command}": {program} has this command'
            continue
        for option in sorted(options - set(described[command]) - set(described[''])):
            yield f'{page}: --{option} of "{" ".join([program, command]).rstrip()}" is not described'
    everything = set().union(*offered.values())
    for command, options in described.items():
        if command in HANDED_ON.get(program, ()):
            continue
        if command and command not in offered:
            yield f'{page}: describes the command {command}, which {program} --help does not list'
            continue
        for option, number in options.items():
            if option not in (offered.get(command, set()) if command else everything):
                yield f'{page}:{number}: --{option} is described, and "{" ".join([program, command]).rstrip()}" does not offer it'


def _check_configuration(root):
    known = set(re.findall(r'key [!=]= "(\w+)"', lint.read(root, CONFIG_SOURCE)))
    page = set(re.findall(r'^\.It (?:Ic|Va|Cm) (\w+)', lint.read(root, CONFIG_PAGE), re.MULTILINE))
    example = set(re.findall(r'^#?\s*(\w+)\s*= ', lint.read(root, CONFIG_EXAMPLE), re.MULTILINE))
    for place, keys in ((CONFIG_PAGE, page), (CONFIG_EXAMPLE, example)):
        for key in sorted(known - keys):
            yield f'{place}: the key {key} is missing'
        for key in sorted(keys - known):
            yield f'{place}: the key {key} is none that {CONFIG_SOURCE} reads'


def _check_variables(root):
    pages = ''.join(lint.read(root, n) for n in lint.files(root) if n.startswith('docs/man/'))
    for name in lint.files(root, '.cc'):
        if not name.startswith('tests/'):
            for number, row in lint.lines(root, name):
                for variable in re.findall(r'Environment\("(TARN_\w+)"\)', row):
                    if f'Ev {variable}' not in pages:
                        yield f'{name}:{number}: no man page describes the variable {variable}'


def _check_rendering(root, page):
    if not shutil.which('groff'):
        raise lint.Skip('groff is not installed')
    run = subprocess.run(['groff', '-mandoc', '-Tutf8', '-ww', '-z', page], cwd=root, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    # Warnings about the macro package itself are groff's own.
    yield from (row for row in run.stdout.splitlines() if page in row)


def check(root, arguments):
    bin_directory = os.path.join(root, 'bin') if arguments.self_test else arguments.bin
    if not bin_directory:
        raise lint.Skip('--bin is not given')
    programs = sorted(n for n in os.listdir(bin_directory) if re.fullmatch(r'tarn(-[a-z]+)?', n))
    for program in programs:
        page = PAGES.get(program)
        if not page or not os.path.exists(os.path.join(root, page)):
            yield f'{program} has no man page'
            continue
        yield from _check_program(os.path.join(bin_directory, program), page, lint.read(root, page))
    for program, page in PAGES.items():
        if program not in programs and os.path.exists(os.path.join(root, page)):
            yield f'{page}: there is no program {program}'
    yield from _check_configuration(root)
    yield from _check_variables(root)
    for page in lint.files(root):
        if page.startswith('docs/man/'):
            yield from _check_rendering(root, page)


PAGE_HEAD = '.Dd November 30, 2026\n.Dt TARN 1\n.Os\n.Sh NAME\n.Nm tarn\n.Nd x\n'
PAGE = PAGE_HEAD + '.Sh OPTIONS\n.Bl -tag -width x\n.It Fl -help\nx\n.El\n.Sh COMMANDS\n.Ss ls\n' \
    '.Bl -tag -width x\n.It Fl -json\nx\n.El\n'
PROGRAM = '''#!/bin/sh
# Stands for tarn.
case $1 in
  ls) printf 'Usage\\nOptions:\\n  -h,--help        x, unlike --nothing\\n  --json       x\\n' ;;
  *) printf 'tarn\\nCommands:\\n  ls     lists\\n  mount  mounts\\nOptions:\\n  --help  x\\n' ;;
esac
'''
TREE = {'bin/tarn': PROGRAM, 'docs/man/tarn.1': PAGE, CONFIG_SOURCE: 'if (key == "index") {\nEnvironment("TARN_INDEX")\n',
        CONFIG_PAGE: PAGE_HEAD.replace('tarn', 'tarn.conf') + '.Sh KEYS\n.Bl -tag -width x\n.It Ic index\nx\n.El\n'
                     '.Sh ENVIRONMENT\n.Ev TARN_INDEX\n',
        CONFIG_EXAMPLE: '# index = /x\n'}


def _with(**changes):
    paths = {'page': 'docs/man/tarn.1', 'program': 'bin/tarn', 'source': CONFIG_SOURCE, 'example': CONFIG_EXAMPLE,
             'config_page': CONFIG_PAGE}
    return {**TREE, **{paths[k]: v for k, v in changes.items()}}


SAMPLES = [
    lint.Sample('what is right', TREE, None),
    lint.Sample('an option is new', _with(program=PROGRAM.replace('--json ', '--json   x\\n  --long ')), '--long of "tarn ls"'),
    lint.Sample('an option went', _with(page=PAGE.replace('Fl -json\n', 'Fl -json\nx\n.It Fl -gone\n')), '--gone is described'),
    lint.Sample('another command has it', _with(page=PAGE.replace('.Ss ls\n', '.Ss ls\nx\n.Ss mount\n')), '--json of'),
    lint.Sample('a command is new', _with(program=PROGRAM.replace('lists\\n', 'lists\\n  cat  x\\n')), 'no ".Ss cat"'),
    lint.Sample('a command went', _with(page=PAGE + '.Ss why\nx\n'), 'the command why'),
    lint.Sample('a program without a page', {**TREE, 'bin/tarn-new': PROGRAM}, 'tarn-new has no man page'),
    lint.Sample('a page without a program', {**TREE, 'docs/man/tarn-bench.1': PAGE_HEAD}, 'no program tarn-bench'),
    lint.Sample('help fails', _with(program='#!/bin/sh\n# Fails.\nexit 4\n'), 'exit code 4'),
    lint.Sample('a key is not in the example', _with(example='# nothing\n'), 'index is missing'),
    lint.Sample('a key is not in the page', _with(config_page=TREE[CONFIG_PAGE].replace('.It Ic index', '.It x')), 'index is missing'),
    lint.Sample('a key that nobody reads', _with(example='# index = /x\nsources = /y\n'), 'sources is none'),
    lint.Sample('a variable', _with(source=TREE[CONFIG_SOURCE].replace('_INDEX', '_NEW')), 'variable TARN_NEW'),
    lint.Sample('a macro that is none', _with(page=PAGE + '.Zz x\n'), 'Zz'),
]


def _arguments(parser):
    parser.add_argument('--bin', help='the directory of the built programs')


if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES, _arguments))
