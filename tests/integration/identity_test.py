"""Archives that are touched, replaced or go away under a mount: what their readers see, and what is said of it."""
import errno
import json
import mmap
import os
import re
import shutil
import time

from mounts import BIN, DEADLINE, Mount, TestCase, in_child, main, run

MEMBERS = 60
MEMBER_BYTES = 20_000
CHUNK = 128 << 10
# A touch of 4 GiB is the case that is talked about; a sparse archive of any size shows the same.
LARGE = int(os.environ.get('TARN_TEST_LARGE_BYTES', 256 << 20))


class IdentityTest(TestCase):
    def setUp(self):
        super().setUp()
        self.contents = self.write_archive('a.tar')
        self.write_archive('b.tar', seed=2)
        self.publish()

    def write_archive(self, name, seed=0):
        """An archive whose members depend on the seed and whose size does not."""
        tree = f'{self.scratch}/tree-{seed}-{name}'
        os.mkdir(tree)
        contents = {}
        for i in range(MEMBERS):
            contents[f'{i:03d}'] = bytes([(seed * 31 + i) % 256]) * MEMBER_BYTES
            with open(f'{tree}/{i:03d}', 'wb') as file:
                file.write(contents[f'{i:03d}'])
        run('tar', '-C', tree, '--mtime=@1', '--sort=name', '-cf', f'{self.data}/{name}', *sorted(contents))
        return contents

    def mount_all(self, *options, name='mnt', interval=0.1):
        mount = Mount(f'{self.scratch}/{name}', '--index', self.index, '--source', self.scratch,
                      '--identity-interval', interval, '--runtime-dir', self.scratch + '/run', *options)
        self.addCleanup(mount.close)
        self.served = mount
        return mount

    def replace(self, name, keep_mtime):
        before = os.stat(f'{self.data}/{name}')
        os.rename(f'{self.data}/{name}', f'{self.scratch}/replaced-{name}')
        self.write_archive(name, seed=1)
        after = os.stat(f'{self.data}/{name}')
        self.assertEqual(before.st_size, after.st_size)
        if keep_mtime:
            os.utime(f'{self.data}/{name}', ns=(before.st_atime_ns, before.st_mtime_ns))

    def read_one(self, name, cached=False):
        """'right', 'wrong' or the name of an error."""
        try:
            fd = os.open(self.served / ('set@1/a/' + name), os.O_RDONLY)
            try:
                if not cached:
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                return 'right' if os.read(fd, 1 << 20) == self.contents[name] else 'wrong'
            finally:
                os.close(fd)
        except OSError as error:
            return errno.errorcode[error.errno]

    def read_all(self, cached=False):
        return {self.read_one(name, cached) for name in sorted(self.contents)}

    def status(self):
        def read():
            # One read(2): between two it may be made anew.
            fd = os.open(self.served / '.tarn/status.json', os.O_RDONLY)
            try:
                return json.loads(os.read(fd, 1 << 20))
            finally:
                os.close(fd)
        time.sleep(1.1)  # what was made within the last second is shown again
        return in_child(read)

    def wait_for(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, what + '\n' + self.served.text())
            time.sleep(0.05)

    def lines(self, pattern):
        return [line for line in self.served.text().splitlines() if re.search(pattern, line)]

    def test_replaced_with_the_time_put_back_no_wrong_byte_with_chunks_verified(self):
        self.mount_all('--verify', 'chunk')
        self.assertEqual(in_child(self.read_all), {'right'})
        self.replace('a.tar', keep_mtime=True)
        time.sleep(0.2)
        self.assertEqual(in_child(self.read_all), {'EIO'})
        self.assertEqual(len(self.lines("'a.tar'.*was changed: chunk 0 .offset 0. of")), 1, self.served.text())

    def test_replaced_with_a_new_time_no_wrong_byte_in_default_mode(self):
        self.mount_all()
        self.assertEqual(in_child(self.read_all), {'right'})
        self.replace('a.tar', keep_mtime=False)
        time.sleep(0.2)
        self.assertEqual(in_child(self.read_all), {'EIO'})

    def test_overwritten_under_its_readers_no_wrong_byte_at_any_moment(self):
        # Looked at once an hour before a read: what is written meanwhile shows after it.
        self.mount_all(interval=3600)
        self.assertEqual(in_child(self.read_all), {'right'})
        self.write_archive('other.tar', seed=1)
        with open(self.data + '/other.tar', 'rb') as other, open(self.data + '/a.tar', 'r+b') as file:
            file.write(other.read())
        self.assertEqual(in_child(self.read_all), {'EIO'})

    def test_what_the_kernel_keeps_of_a_changed_archive_is_gone_when_the_change_is_reported(self):
        self.mount_all()
        self.replace('a.tar', keep_mtime=True)
        self.assertEqual(in_child(self.read_one, '005'), 'wrong', 'nobody can know yet')
        self.assertEqual(in_child(self.read_one, '005', True), 'wrong', 'the kernel keeps it')
        os.utime(self.data + '/a.tar')  # somebody gives it away
        time.sleep(0.2)
        self.assertEqual(in_child(self.read_one, '050'), 'EIO')
        self.wait_for(lambda: self.lines("'a.tar'.*was changed"), 'the change is not reported')
        self.assertEqual(in_child(self.read_all, True), {'EIO'}, 'and nothing comes from the cache')
        self.assertEqual([row['state'] for row in self.status()['troubled']], ['changed'])

    def test_moved_out_of_sight_and_back(self):
        self.mount_all()
        self.assertEqual(in_child(self.read_one, '000'), 'right')
        os.rename(self.data + '/a.tar', self.scratch + '/hidden')
        time.sleep(0.2)
        self.assertEqual(in_child(self.read_all), {'EIO'})
        troubled = self.status()['troubled']
        self.assertEqual([(row['path'], row['state']) for row in troubled], [('a.tar', 'missing')])
        self.assertIn('published as', troubled[0]['message'])
        os.rename(self.scratch + '/hidden', self.data + '/a.tar')
        self.wait_for(lambda: in_child(self.read_one, '000') == 'right', 'reads did not resume')
        self.assertEqual(in_child(self.read_all), {'right'})
        self.wait_for(lambda: self.status()['troubled'] == [], 'it is still said to be in trouble')
        self.assertEqual(len(self.lines('is missing')), 1)
        self.assertEqual(len(self.lines('is served again')), 1)

    def test_searched_directories_are_where_an_archive_may_have_gone(self):
        os.makedirs(self.scratch + '/attic/deep')
        self.mount_all('--search', self.scratch + '/attic')
        self.assertEqual(in_child(self.read_one, '000'), 'right')
        shutil.copy(self.data + '/b.tar', self.scratch + '/attic/deep/a.tar')  # the same size, other bytes
        with open(self.scratch + '/attic/deep/a.tar', 'r+b') as file:
            file.write(b'x' * 600)
        os.rename(self.data + '/a.tar', self.scratch + '/attic/renamed')
        time.sleep(0.2)
        self.assertEqual(in_child(self.read_all), {'right'})
        self.assertEqual(len(self.lines("'a.tar'.*is no longer where it was published.*attic/renamed")), 1,
                         self.served.text())

    def test_a_touch_costs_one_chunk_and_nothing_is_checked_twice(self):
        os.mkdir(self.scratch + '/large')
        with open(self.scratch + '/large/first', 'wb') as file:
            file.write(b'f' * 1000)
        with open(self.scratch + '/large/second', 'wb') as file:
            file.truncate(LARGE)
        run('tar', '-C', self.scratch + '/large', '-cf', self.data + '/large.tar', 'first', 'second')
        self.publish()

        def first():
            fd = os.open(self.served / 'set@2/large/first', os.O_RDONLY)
            try:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                start = time.monotonic()
                self.assertEqual(os.read(fd, 5000), b'f' * 1000)
                return time.monotonic() - start
            finally:
                os.close(fd)
        self.mount_all()
        plain = in_child(first)
        self.assertEqual(self.status()['reads']['bytes_checked'], 0)
        os.utime(self.data + '/large.tar')
        time.sleep(0.2)
        touched = in_child(first)
        reads = self.status()['reads']
        self.assertEqual(reads['bytes_checked'], CHUNK, 'one chunk')
        print(f'{LARGE >> 20} MiB: a read took {plain * 1000:.1f} ms, the first after a touch {touched * 1000:.1f} ms',
              flush=True)
        self.served.server.kill()
        self.served.server.wait()
        run('umount', '-l', self.served.path)
        self.mount_all(name='again')
        in_child(first)
        self.assertEqual(self.status()['reads']['bytes_checked'], 0, 'known to the next server')

    def test_a_touched_archive_is_checked_behind_its_readers_and_served_plainly_again(self):
        self.mount_all()
        os.utime(self.data + '/a.tar')
        self.assertEqual(in_child(self.read_one, '000'), 'right')
        self.assertEqual(self.status()['archives']['checking'], 1)
        self.wait_for(lambda: self.status()['archives']['checking'] == 0, 'it is not checked')
        self.assertEqual(self.status()['archives']['served'], 1)
        self.assertEqual(len(self.lines("'a.tar'.*every chunk")), 1, self.served.text())

    def test_a_mapped_page_of_a_vanished_archive_ends_its_reader_and_nobody_else(self):
        self.mount_all()

        def mapped():
            fd = os.open(self.served / 'set@1/a/000', os.O_RDONLY)
            memory = mmap.mmap(fd, MEMBER_BYTES, prot=mmap.PROT_READ)
            os.rename(self.data + '/a.tar', self.scratch + '/hidden')
            time.sleep(0.2)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return memory[0]
        with self.assertRaisesRegex(AssertionError, 'ended without an answer'):  # SIGBUS
            in_child(mapped)
        self.assertGreater(self.status()['reads']['failed'], 0)
        os.rename(self.scratch + '/hidden', self.data + '/a.tar')
        self.wait_for(lambda: in_child(self.read_one, '000') == 'right', 'reads did not resume')

    def test_looks_at_archives_stay_within_the_budget(self):
        # One look for each archive that is read and each interval, and the opening; none for the others.
        mount = self.mount_all(interval=1)
        in_child(os.listdir, mount / 'set@1')
        before = self.status()['reads']['looks']
        start = time.monotonic()

        def load():
            while time.monotonic() < start + 3:
                self.assertEqual(self.read_all(), {'right'})
        in_child(load)
        seconds = time.monotonic() - start
        reads = self.status()['reads']
        self.assertGreater(reads['reads'], 100)
        self.assertLessEqual(reads['looks'] - before, seconds + 4)
        idle = self.status()['reads']['looks']
        time.sleep(1.5)
        self.assertEqual(self.status()['reads']['looks'], idle, 'a mount that nobody reads looks at nothing')


if __name__ == '__main__':
    main()
