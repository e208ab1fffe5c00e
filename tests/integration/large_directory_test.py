"""A directory of very many names, and names very deep, through a mount.

TARN_LARGE_DIRECTORY and TARN_DEEP_TREE say how many (20,000 names and 200 levels; a release is held against 200,000 and
2,000).
"""
import io
import os
import tarfile

from mounts import TestCase, in_child, main, run

NAMES = int(os.environ.get('TARN_LARGE_DIRECTORY', '20000'))
LEVELS = int(os.environ.get('TARN_DEEP_TREE', '200'))


def listed(path):
    with os.scandir(path) as entries:
        return sorted((entry.name, entry.inode()) for entry in entries)


class LargeDirectoryTest(TestCase):
    def archive(self, name, members):
        with tarfile.open(f'{self.data}/{name}.tar', 'w', format=tarfile.GNU_FORMAT) as archive:
            for path, contents in members:
                member = tarfile.TarInfo(path)
                member.size = len(contents)
                member.mtime = 1_600_000_000
                archive.addfile(member, io.BytesIO(contents))

    def test_every_name_of_a_large_directory_is_listed_once_and_found(self):
        # In no order of names: the archive's order is not the directory's.
        numbers = [(i * 7919) % NAMES for i in range(NAMES)] if NAMES % 7919 else list(range(NAMES))
        self.archive('wide', ((f'all/{i:06d}.bin', b'%d' % i) for i in numbers))
        self.publish()
        mount = self.mount()
        directory = mount / 'wide/all'
        names = in_child(listed, directory, deadline=300)
        self.assertEqual([name for name, _ in names], [f'{i:06d}.bin' for i in range(NAMES)])
        self.assertEqual(len({inode for _, inode in names}), NAMES)
        # With attributes, a name at a time in one go: nothing is missing and nothing changes meanwhile.
        self.assertEqual(run('find', directory, '-type', 'f', '-printf', 'x', timeout=300).stdout, 'x' * NAMES)
        self.assertEqual(in_child(lambda: os.stat(directory).st_size), NAMES)

        def read_some():
            for i in range(0, NAMES, max(1, NAMES // 500)):
                with open(f'{directory}/{i:06d}.bin', 'rb') as file:
                    if file.read() != b'%d' % i:
                        return i
            return None
        self.assertIsNone(in_child(read_some, deadline=300))
        self.assertFalse(in_child(os.path.exists, f'{directory}/{NAMES:06d}.bin'))

    def test_a_listing_goes_on_where_it_was_left(self):
        self.archive('wide', ((f'all/{i:06d}.bin', b'') for i in range(3000)))
        self.publish()
        mount = self.mount()

        # Two listings of one directory, in turns.
        def in_turns():
            with os.scandir(mount / 'wide/all') as one, os.scandir(mount / 'wide/all') as other:
                return [(a.name, b.name) for a, b in zip(one, other)]
        self.assertEqual(in_child(in_turns), [(f'{i:06d}.bin',) * 2 for i in range(3000)])

    def test_a_name_below_very_many_directories(self):
        path = '/'.join(['d'] * LEVELS) + '/leaf'
        self.archive('deep', [(path, b'down here')])
        self.publish()
        mount = self.mount()

        # One step at a time: the path is longer than the system takes at once.
        def descend():
            fd = os.open(mount / 'deep', os.O_RDONLY | os.O_DIRECTORY)
            for _ in range(LEVELS):
                below = os.open('d', os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = below
            leaf = os.open('leaf', os.O_RDONLY, dir_fd=fd)
            contents = os.read(leaf, 100)
            for _ in range(LEVELS):
                above = os.open('..', os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = above
            return contents, os.listdir(fd)
        self.assertEqual(in_child(descend), (b'down here', ['d']))
        found = run('find', mount / 'deep', '-name', 'leaf', '-printf', '%d %s', timeout=300).stdout
        self.assertEqual(found, f'{LEVELS + 1} 9')


if __name__ == '__main__':
    main()
