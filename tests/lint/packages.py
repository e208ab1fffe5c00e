"""Package lint: script/packages names what the build looks for and what scripts and tests run, once, with a reason.

PROVIDERS and COMMANDS say which Debian package a CMake name or a command comes from; a CMake name that is in
neither is a finding, so that nobody adds a dependency without naming its package.
"""
import re
import sys

import lint

LIST = 'script/packages'
# What CMake looks for, and the package that has it. None: part of the compiler or of CMake.
PROVIDERS = {
    'Threads': None, 'GoogleTest': None, 'Python3': 'python3', 'PkgConfig': 'pkg-config', 'fmt': 'libfmt-dev',
    'spdlog': 'libspdlog-dev', 'tl-expected': 'libexpected-dev', 'CLI11': 'libcli11-dev',
    'nlohmann_json': 'nlohmann-json3-dev', 'RocksDBLibrary': 'librocksdb-dev', 'rocksdb': 'librocksdb-dev',
    'libarchive': 'libarchive-dev', 'libxxhash': 'libxxhash-dev', 'fuse3': 'libfuse3-dev', 'liburing': 'liburing-dev',
    'GTest': 'libgtest-dev', 'benchmark': 'libbenchmark-dev', 'prometheus-cpp': 'prometheus-cpp-dev',
    'ccache': 'ccache', 'tarn': None,
}
# Commands that scripts and tests run, and their packages.
COMMANDS = {
    'cmake': 'cmake', 'ninja': 'ninja-build', 'git': 'git', 'clang-format': 'clang-format', 'clang-tidy': 'clang-tidy',
    'shellcheck': 'shellcheck', 'groff': 'groff-base', 'strace': 'strace', 'setfattr': 'attr', 'getfattr': 'attr',
    'setfacl': 'acl', 'xxh128sum': 'xxhash', 'fusermount3': 'fuse3', 'unshare': 'util-linux', 'setpriv': 'util-linux',
    'cmp': 'diffutils', 'bsdtar': 'libarchive-tools', 'fsck.erofs': 'erofs-utils', 'mkfs.erofs': 'erofs-utils',
    'ganesha.nfsd': 'nfs-ganesha', 'slurmctld': 'slurm-wlm', 'slurmd': 'slurm-wlm', 'sbatch': 'slurm-wlm',
    'munged': 'munge',
}
FINDS = re.compile(r'^\s*(?:find_package|find_dependency|find_program|find_library)\(\s*([\w.+-]+)([^)]*)')
CHECKS_MODULE = re.compile(r'^\s*pkg_check_modules\(\s*\w+\s+([^)]*)\)')
WORD = re.compile(r'''["'\s(]([a-z][\w.-]*)["'\s)]''')


def _listed(root):
    """{package: line number}; findings about the list itself."""
    packages, trouble, group, last = {}, [], None, ''
    for number, line in lint.lines(root, LIST):
        if line.startswith('['):
            group, last = line, ''
            continue
        if not line or line.startswith('#'):
            continue
        match = re.fullmatch(r'([a-z0-9][a-z0-9.+-]*) +# (\S.*)', line)
        if not match:
            trouble.append(f'{LIST}:{number}: expected "package  # what it is for"')
            continue
        name = match.group(1)
        if group is None:
            trouble.append(f'{LIST}:{number}: {name} stands in no group')
        if name in packages:
            trouble.append(f'{LIST}:{number}: {name} is already named in line {packages[name]}')
        if name < last:
            trouble.append(f'{LIST}:{number}: {name} stands after {last}: keep each group sorted')
        packages[name], last = number, name
    return packages, trouble


def _cmake_names(line):
    match = CHECKS_MODULE.match(line)
    if match:
        return [re.split('[<>=]', w)[0] for w in match.group(1).split()
                if w not in ('REQUIRED', 'QUIET', 'IMPORTED_TARGET', 'GLOBAL')]
    match = FINDS.match(line)
    if not match:
        return []
    if 'find_program' in line or 'find_library' in line:
        return match.group(2).split()[:1]
    return [match.group(1)]


def check(root):
    packages, trouble = _listed(root)
    yield from trouble
    for name in lint.files(root):
        if name.endswith('CMakeLists.txt') or name.startswith('cmake/'):
            for number, line in lint.lines(root, name):
                for wanted in _cmake_names(line):
                    if wanted not in PROVIDERS and wanted not in COMMANDS:
                        yield f'{name}:{number}: {wanted}: say in {__file__} which package gives it'
                    package = PROVIDERS.get(wanted, COMMANDS.get(wanted))
                    if package and package not in packages:
                        yield f'{name}:{number}: {wanted} comes from {package}, which {LIST} does not name'
        elif name.startswith(('script/', 'tests/', '.ci/')) and not name.startswith('tests/lint/') and name != LIST:
            yield from _check_commands(root, name, packages)


def _check_commands(root, name, packages):
    if name.endswith(('.cc', '.py', '.sh')) or lint.read(root, name)[:2] == '#!':
        for number, line in lint.lines(root, name):
            if line.lstrip().startswith(('#', '//')):
                continue
            for word in WORD.findall(f' {line} '):
                if word in COMMANDS and COMMANDS[word] not in packages:
                    yield f'{name}:{number}: {word} comes from {COMMANDS[word]}, which {LIST} does not name'


GOOD = '[build]\ncmake  # builds\nlibfmt-dev  # text\n'
SAMPLES = [
    lint.Sample('CMake', {LIST: GOOD, 'CMakeLists.txt': 'find_package(GTest REQUIRED)\n'}, 'libgtest-dev'),
    lint.Sample('module', {LIST: GOOD, 'src/CMakeLists.txt': 'pkg_check_modules(F REQUIRED fuse3>=3.14)\n'}, 'libfuse3'),
    lint.Sample('unknown', {LIST: GOOD, 'CMakeLists.txt': 'find_package(Nobody)\n'}, 'say in'),
    lint.Sample('program', {LIST: GOOD, 'cmake/a.cmake': 'find_program(X ccache)\n'}, 'ccache comes from ccache'),
    lint.Sample('command of a test', {LIST: GOOD, 'tests/a.py': "run(['strace', 'ls'])\n"}, 'strace comes from'),
    lint.Sample('reason', {LIST: '[build]\ncmake\n'}, 'what it is for'),
    lint.Sample('twice', {LIST: '[build]\ncmake  # a\n[test]\ncmake  # b\n'}, 'already named'),
    lint.Sample('order', {LIST: '[build]\nlibfmt-dev  # a\ncmake  # b\n'}, 'sorted'),
    lint.Sample('group', {LIST: 'cmake  # a\n'}, 'no group'),
    lint.Sample('what is right', {LIST: GOOD, 'CMakeLists.txt': 'find_package(fmt)\nfind_package(Threads)\n',
                                  'script/a': '#!/bin/sh\ncmake -B build\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
