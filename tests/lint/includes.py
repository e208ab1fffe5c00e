"""Include lint: layers include only what stands before them, and each foreign library has one home.

The tables say who may include what; docs/architecture.md says why.
"""
import re
import sys

import lint

# A layer, and the layers whose public headers (tarn/<layer>/) it may include beside its own.
LAYERS = {
    'base': [],
    'io': ['base'],
    'digest': ['base', 'io'],
    'tar': ['base', 'io'],
    'index': ['base', 'io', 'tar'],
    'dataset': ['base', 'io', 'digest', 'index', 'tar'],
}
# Programs, and the layers they may include. Those that are not here (tests, bench, indexer) may include all.
PROGRAMS = {
    'src/cli/': list(LAYERS),
    'fuse/': ['base', 'io', 'index', 'dataset'],
    'indexer/': list(LAYERS),
}
# Of a layer, the only headers that another may include: what a walk gives and how names become a tree, never the
# walk itself.
NARROW = {('index', 'tar'): ['tarn/tar/member.h', 'tarn/tar/finding.h', 'tarn/tar/tree_builder.h'],
          ('dataset', 'tar'): ['tarn/tar/member.h', 'tarn/tar/finding.h']}
# Foreign headers (a prefix of what stands in the brackets), and the only places that may include them.
HOMES = [
    ('rocksdb/', ['src/index/']),
    ('xxhash', ['src/digest/']),
    ('xxh', ['src/digest/']),
    ('archive.h', ['src/tar/']),
    ('archive_entry.h', ['src/tar/']),
    ('fuse', ['fuse/', 'bench/slow_source']),
    ('linux/fuse.h', ['fuse/']),
    ('spdlog/', ['src/base/']),
    ('tl/expected', ['include/tarn/base/result.h']),
    ('CLI/', ['src/cli/', 'indexer/', 'fuse/', 'bench/']),
    ('nlohmann/', ['src/', 'indexer/', 'fuse/', 'bench/']),
    ('prometheus/', ['src/base/', 'fuse/']),
    # System calls on files. base stands below io and reads its own configuration and limits.
    ('fcntl.h', ['src/io/', 'fuse/', 'bench/']),
    ('dirent.h', ['src/io/', 'fuse/', 'bench/']),
    ('sys/mman.h', ['src/io/', 'fuse/', 'bench/']),
    ('filesystem', ['src/base/', 'src/io/', 'fuse/', 'bench/']),
    ('fstream', ['src/base/', 'bench/']),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r'^\s*#\s*(if|ifdef|ifndef|elif)\b')


def _layer(name):
    match = re.match(r'(?:include/tarn|src)/([a-z]+)/', name)
    return match.group(1) if match and match.group(1) in LAYERS else None


def _allowed_layers(name):
    layer = _layer(name)
    if layer:
        return LAYERS[layer] + [layer]
    return next((layers for place, layers in PROGRAMS.items() if name.startswith(place)), None)


def _check_own(name, header):
    """What is wrong with including Tarn's own `header` in `name`, or None."""
    if '..' in header.split('/'):
        return 'includes by a path from the root of the sources, never with ..'
    allowed = _allowed_layers(name)
    match = re.match(r'(?:tarn/)?([a-z]+)/', header)
    if not match or allowed is None:
        return None
    target = match.group(1)
    if target in LAYERS:
        if target not in allowed:
            return f'{target} may not be included here; allowed: {", ".join(allowed)}'
        narrow = NARROW.get((_layer(name), target))
        if narrow and header not in narrow:
            return f'of {target} only {", ".join(narrow)} may be included here'
        if not header.startswith('tarn/') and target != _layer(name):
            return f'a private header of {target}: include what stands in include/tarn/{target}/'
    elif target in ('fuse', 'indexer', 'bench', 'tests') and not name.startswith(target + '/'):
        return f'{target}/ is a program: nothing includes it'
    return None


def _check_foreign(name, header):
    if name.startswith('tests/'):
        return None
    for prefix, homes in HOMES:
        if header == prefix or (header.startswith(prefix) and prefix not in ('filesystem', 'fstream')):
            if not any(name.startswith(home) for home in homes):
                return f'<{header}> has its home in {", ".join(homes)}'
            return None
    if name.startswith('include/tarn/') and not re.fullmatch(r'[a-z_]+', header):
        return f'<{header}>: a public header includes only the standard library and Tarn'
    return None


def check(root):
    for name in lint.files(root, '.h', '.cc'):
        conditions = 0
        for number, line in lint.lines(root, name):
            match = INCLUDE.match(line)
            if match:
                trouble = (_check_foreign if match.group(1) == '<' else _check_own)(name, match.group(2))
                if trouble:
                    yield f'{name}:{number}: {trouble}'
            elif name.startswith('include/tarn/') and CONDITION.match(line):
                conditions += 1
                if conditions > 1:  # the first is the guard
                    yield f'{name}:{number}: a public header is the same in every build: no conditions'


SAMPLES = [
    lint.Sample('layers point one way', {'src/io/a.cc': '#include "tarn/index/records.h"\n'}, 'index may not be'),
    lint.Sample('layers point one way in headers', {'include/tarn/base/a.h': '#include "tarn/io/b.h"\n'}, 'io may not'),
    lint.Sample('index takes data of tar', {'src/index/a.cc': '#include "tarn/tar/header_walker.h"\n'}, 'only tarn/tar/'),
    lint.Sample('private headers', {'src/tar/a.cc': '#include "io/descriptor.h"\n'}, 'private header of io'),
    lint.Sample('programs are not included', {'src/cli/a.cc': '#include "indexer/scan.h"\n'}, 'is a program'),
    lint.Sample('the mount does not walk', {'fuse/a.cc': '#include "tarn/tar/header_walker.h"\n'}, 'tar may not'),
    lint.Sample('no way up', {'src/io/a.cc': '#include "../io/b.h"\n'}, 'never with ..'),
    lint.Sample('RocksDB', {'src/dataset/a.cc': '#include <rocksdb/db.h>\n'}, 'home in src/index/'),
    lint.Sample('xxHash', {'src/index/a.cc': '#include <xxhash.h>\n'}, 'home in src/digest/'),
    lint.Sample('libarchive', {'indexer/a.cc': '#include <archive.h>\n'}, 'home in src/tar/'),
    lint.Sample('libfuse', {'src/cli/a.cc': '#include <fuse3/fuse_lowlevel.h>\n'}, 'home in fuse/'),
    lint.Sample('spdlog', {'fuse/a.cc': '#include <spdlog/spdlog.h>\n'}, 'home in src/base/'),
    lint.Sample('JSON in the contract', {'include/tarn/io/a.h': '#include <nlohmann/json.hpp>\n'}, 'home in src/'),
    lint.Sample('command lines in a layer', {'src/dataset/a.cc': '#include <CLI/CLI.hpp>\n'}, 'home in src/cli/'),
    lint.Sample('files are opened by io', {'src/index/a.cc': '#include <fcntl.h>\n'}, 'home in src/io/'),
    lint.Sample('foreign types in the contract', {'include/tarn/io/a.h': '#include <sys/stat.h>\n'}, 'public header'),
    lint.Sample('conditions in the contract',
                {'include/tarn/io/a.h': '#ifndef A\n#define A\n#ifdef TARN_FUSE\n#endif\n#endif\n'}, 'no conditions'),
    lint.Sample('what is right', {
        'include/tarn/base/result.h': '#ifndef R\n#include <tl/expected.hpp>\n#include <vector>\n#endif\n',
        'src/index/a.cc': '#include <rocksdb/db.h>\n#include "tarn/tar/member.h"\n#include "index/keys.h"\n',
        'fuse/a.cc': '#include "fuse/op.h"\n#include <fuse_lowlevel.h>\n#include "tarn/dataset/file_tree.h"\n',
        'bench/a.cc': '#include "indexer/scan.h"\n#include <fstream>\n',
        'tests/unit/a.cc': '#include <rocksdb/db.h>\n'}, None),
]

if __name__ == '__main__':
    sys.exit(lint.main(check, SAMPLES))
