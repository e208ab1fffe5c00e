"""tarn-bench as a user runs it: a mount next to loose files, a publish next to a read, a far source, fio jobs."""
import json
import os
import subprocess
import time

import mounts

MEMBERS = 40
ARCHIVES = 3


class BenchTest(mounts.TestCase):
    def setUp(self):
        super().setUp()
        self.loose = self.scratch + '/loose'
        mounts.run(f'{mounts.BIN}/tarn-bench', 'make-dataset', self.data, '--archives', ARCHIVES, '--members', MEMBERS,
                   '--size', '4KiB-40KiB', '--loose', self.loose)

    def bench(self, *arguments, codes=(0,)):
        done = mounts.run(f'{mounts.BIN}/tarn-bench', *arguments, check=False, timeout=240)
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done.stdout

    def test_a_mount_is_compared_with_the_raw_archive_and_loose_files(self):
        self.publish()
        mount = self.mount()
        report = self.scratch + '/report'
        # A neighbour's pressure on the page cache may make a warm run invalid: then the exit code says so.
        self.bench('read', '--index', self.index, '--dataset', 'set', '--source', self.scratch, '--mount', mount.path,
                   '--compare', f'loose={self.loose}', '--cache', 'warm', '--sweep', 'threads=1,2', '--runs', 2,
                   '--reads', 60, '--no-drop-caches', '--output', report, codes=(0, 1))
        with open(report + '/report.json', encoding='utf-8') as file:
            facts = json.load(file)
        self.assertGreaterEqual(facts['schema_version'], 1)
        text = json.dumps(facts)
        for contestant in ('raw', 'mount', 'loose'):
            self.assertIn(f'"{contestant}"', text)
        for name in ('runs.csv', 'summary.md', 'plot.svg'):
            self.assertGreater(os.path.getsize(f'{report}/{name}'), 0, name)
        with open(report + '/runs.csv', encoding='utf-8') as file:
            rows = file.read().splitlines()
        self.assertEqual(len(rows), 1 + 2 * 2 * 3)  # sweep, runs, contestants

    def test_wrong_bytes_are_no_result(self):
        self.publish()
        mount = self.mount()
        for directory, _, files in os.walk(self.loose):
            for name in files:
                with open(f'{directory}/{name}', 'r+b') as file:
                    first = file.read(1)
                    file.seek(0)
                    file.write(bytes([first[0] ^ 1]))
        done = mounts.run(f'{mounts.BIN}/tarn-bench', 'read', '--index', self.index, '--dataset', 'set', '--source',
                          self.scratch, '--mount', mount.path, '--compare', f'loose={self.loose}', '--cache', 'warm',
                          '--runs', 1, '--reads', 20, '--no-drop-caches', check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('loose gives other bytes than the archive', done.stderr)

    def test_a_publish_is_compared_with_a_plain_read(self):
        report = json.loads(self.bench('index', self.data, '--scratch', self.scratch, '--cache', 'warm', '--runs', 2,
                                       '--jobs', '1,2', '--no-drop-caches', '--json', codes=(0, 1)))
        (table,) = report['tables']
        self.assertEqual(table['cache'], 'warm')
        names = [contestant['name'] for contestant in table['contestants']]
        self.assertEqual(names[:3], ['read', 'publish --jobs 1', 'publish --jobs 2'])
        for contestant in table['contestants']:
            self.assertEqual(len(contestant['runs']), 2, contestant['name'])
            self.assertTrue(all(run['wall_seconds'] > 0 for run in contestant['runs']))
        self.assertEqual(sorted(os.listdir(self.scratch)), ['data', 'loose'])  # index roots are gone

    def test_a_failing_publish_ends_the_comparison_with_its_message(self):
        done = mounts.run(f'{mounts.BIN}/tarn-bench', 'index', self.data, '--scratch', self.scratch, '--cache', 'warm',
                          '--runs', 1, '--no-drop-caches', '--publish-option=--include=nothing-is-called-so',
                          check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('--include', done.stderr)

    def test_a_fio_job_reads_sizes_of_the_dataset(self):
        self.publish()
        job = self.scratch + '/set.fio'
        self.bench('fio', '--index', self.index, '--source', self.scratch, '--dataset', 'set', '--output', job)
        with open(job, encoding='utf-8') as file:
            text = file.read()
        self.assertIn('bssplit', text)
        self.assertIn(self.data, text)


class SlowSourceTest(mounts.TestCase):
    LATENCY = 0.02  # seconds

    def setUp(self):
        super().setUp()
        self.far = self.scratch + '/far'
        os.mkdir(self.far)
        self.contents = {}
        for number in range(5):
            self.contents[f'file-{number}'] = os.urandom(30000 + number)
            with open(f'{self.data}/file-{number}', 'wb') as file:
                file.write(self.contents[f'file-{number}'])
        # pylint: disable-next=consider-using-with
        self.server = subprocess.Popen([f'{mounts.BIN}/tarn-bench', 'slow-source', self.data, self.far, '--latency',
                                        '20ms', '--foreground'], stdin=subprocess.DEVNULL)
        self.addCleanup(self.end)
        deadline = time.monotonic() + mounts.DEADLINE
        while not self.mounted():
            self.assertIsNone(self.server.poll(), 'slow-source ended')
            self.assertLess(time.monotonic(), deadline, 'slow-source did not mount')
            time.sleep(0.01)

    def mounted(self):
        with open('/proc/self/mountinfo', encoding='utf-8', errors='surrogateescape') as table:
            return any(f' {self.far} ' in row and ' - fuse.tarn-slow-source ' in row for row in table)

    def end(self):
        if self.mounted():
            mounts.run('umount', '-l', self.far, check=False)
        self.server.terminate()
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()

    def read_all(self):
        """Contents of all files, and the seconds that each took."""
        found, seconds = {}, []
        for name in sorted(self.contents):
            start = time.monotonic()
            with open(f'{self.far}/{name}', 'rb') as file:
                found[name] = file.read()
            seconds.append(time.monotonic() - start)
        return found, seconds

    def test_every_file_costs_its_round_trips_and_has_its_bytes(self):
        found, seconds = mounts.in_child(self.read_all)
        self.assertEqual(found, self.contents)
        for one in seconds:  # at the least a lookup, an open and a read
            self.assertGreaterEqual(one, 3 * self.LATENCY)

    def test_it_counts_what_it_delivers(self):
        mounts.in_child(self.read_all)

        def counter(name):
            return int(os.getxattr(self.far, f'user.tarn_bench.{name}'))
        self.assertGreaterEqual(mounts.in_child(counter, 'read_bytes'), sum(map(len, self.contents.values())))
        self.assertGreaterEqual(mounts.in_child(counter, 'read_requests'), len(self.contents))

    def test_it_cannot_be_written(self):
        def write():
            try:
                with open(self.far + '/file-0', 'r+b'):
                    return None
            except OSError as error:
                return error.errno
        self.assertIn(mounts.in_child(write), (13, 30))  # EACCES, EROFS


if __name__ == '__main__':
    mounts.main()
