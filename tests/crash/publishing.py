"""What the crash suites share: datasets of real tars, publishes in processes of their own, looks at an index root."""
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest

BIN = os.environ['TARN_BIN']
INDEX = os.path.join(BIN, 'tarn-index')
TARN = os.path.join(BIN, 'tarn')
DEADLINE = 300
MEMBERS = 60


def fast_directory():
    """Where fsync costs nothing, if there is such a place: what is tried here dies with its process, not its machine."""
    memory = '/dev/shm'
    if 'TMPDIR' in os.environ or not os.access(memory, os.W_OK):
        return None
    status = os.statvfs(memory)
    return memory if status.f_bavail * status.f_frsize > 60_000_000 else None


def make_archive(path, seed, members=MEMBERS, member_bytes=8000):
    """An archive by GNU tar; each seed gives other bytes, and the formats take turns."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=fast_directory()) as tree:
        for number in range(members):
            directory = os.path.join(tree, f'class{number % 5}')
            os.makedirs(directory, exist_ok=True)
            with open(os.path.join(directory, f'{seed}-{number}.bin'), 'wb') as file:
                file.write(chance.randbytes(chance.randrange(member_bytes * 2)))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(['tar', '-cf', path, '--format', ('gnu', 'pax', 'ustar')[seed % 3], '--sort=name', '-C', tree,
                        '.'], check=True)


def listing(root):
    """Everything about a directory that must not change: names, sizes, mtimes, ctimes, inodes."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files, '.']:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            found[path] = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return found


def journaled(index, dataset):
    """Paths that journals below `index` know, with the names of their bundles."""
    lines = {}
    directory = os.path.join(index, 'staging', 'journals', dataset)
    for name in os.listdir(directory) if os.path.isdir(directory) else []:
        with open(os.path.join(directory, name), encoding='ascii') as file:
            for row in file.read().split('\n')[:-1]:
                words = row.split(' ', 7)
                lines[words[7]] = words[6]
    return lines


def bundles(index):
    return {re.sub(r'\.sst$', '', name) for _, _, files in os.walk(os.path.join(index, 'bundles')) for name in files}


class Publishing(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix='tarn-crash-', dir=fast_directory())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.data = os.path.join(self.work, 'base', 'img')

    def command(self, index, *more, name='img'):
        settle = [] if '--settle' in more else ['--settle', '0']
        return [INDEX, 'publish', self.data, '--name', name, '--index', index, '--json', *settle, *more]

    def publish(self, index, *more, code=0, name='img', before=()):
        """Publishes to the end; gives the report."""
        run = subprocess.run([*before, *self.command(index, *more, name=name)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return json.loads(run.stdout) if run.stdout else {}

    def read_member(self, index, reference, path):
        """The bytes of one member, by way of the index and the archive."""
        run = subprocess.run([TARN, 'cat', f'{reference}:{path}', '--index', index, '--source',
                              os.path.dirname(self.data)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=DEADLINE, check=False)
        self.assertEqual(run.returncode, 0, run.stderr.decode(errors='replace'))
        return run.stdout

    def assert_readable(self, index, reference, archive):
        """One member of `archive` is read from generation `reference` and is what GNU tar takes out."""
        path = os.path.join(self.data, archive)
        names = subprocess.run(['tar', '-tf', path], stdout=subprocess.PIPE, text=True, check=True).stdout.split('\n')
        member = next(name for name in names if name.endswith('.bin'))
        expected = subprocess.run(['tar', '-xOf', path, member], stdout=subprocess.PIPE, check=True).stdout
        shown = archive.removesuffix('.tar') + '/' + member.removeprefix('./')
        self.assertEqual(self.read_member(index, reference, shown), expected)

    def generations(self, index, dataset='img'):
        directory = os.path.join(index, 'datasets', dataset)
        return sorted(int(name) for name in os.listdir(directory) if name.isdigit())

    def assert_clean(self, index):
        """Nothing unfinished is left in staging: at most journals."""
        left = [name for name in os.listdir(os.path.join(index, 'staging')) if name != 'journals']
        self.assertEqual(left, [])

    def assert_whole(self, index):
        """`tarn-index fsck` finds nothing wrong."""
        run = subprocess.run([INDEX, 'fsck', '--index', index], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=DEADLINE, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
