"""What was read through a mount is cached once: in the mount's pages, not in the archive's as well."""
import os
import random

from mounts import TestCase, in_child, main, run

MEMBERS = 80
SIZE = 100_000


def resident(path):
    return int(run('fincore', '--bytes', '--noheadings', '--output', 'RES', path).stdout.split()[0])


def empty_cache_of(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


class PageCacheTest(TestCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.scratch + '/tree')
        for i in range(MEMBERS):
            with open(f'{self.scratch}/tree/{i:03d}', 'wb') as file:
                file.write(os.urandom(SIZE))
        self.archive = self.data + '/a.tar'
        run('tar', '-C', self.scratch + '/tree', '-cf', self.archive, '.')
        self.publish()
        empty_cache_of(self.archive)
        if resident(self.archive) != 0:
            self.skipTest('the page cache of this file system cannot be emptied')

    def read(self, mount, order):
        def body():
            for i in order:
                with open(f'{mount.path}/a/{i:03d}', 'rb') as file, open(f'{self.scratch}/tree/{i:03d}', 'rb') as same:
                    if file.read() != same.read():
                        return i
            return None
        self.assertIsNone(in_child(body))

    def test_a_random_epoch_leaves_little_of_the_archive_in_memory(self):
        order = list(range(MEMBERS))
        random.Random(7).shuffle(order)
        mount = self.mount()
        self.read(mount, order)
        # The first and last page of a member are shared with its neighbours and stay: 2 of 26.
        self.assertLess(resident(self.archive), MEMBERS * SIZE // 4)

    def test_an_epoch_in_order_leaves_little_of_the_archive_in_memory(self):
        mount = self.mount()
        self.read(mount, range(MEMBERS))
        self.assertLess(resident(self.archive), MEMBERS * SIZE // 2)


if __name__ == '__main__':
    if not hasattr(os, 'posix_fadvise') or tuple(map(int, os.uname().release.split('-')[0].split('.')[:2])) < (6, 5):
        print('skipped: the kernel does not say what is cached (cachestat, Linux 6.5)')
        raise SystemExit(77)
    main()
