"""Files with holes through a mount: as GNU tar extracts them, and with the holes known to be holes."""
import errno
import os

from mounts import TestCase, in_child, main, run

MIB = 1 << 20


def data_ranges(path):
    """[start, end) of each stretch of data, by SEEK_DATA and SEEK_HOLE alone."""
    ranges = []
    fd = os.open(path, os.O_RDONLY)
    try:
        at = 0
        while True:
            try:
                start = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return ranges
            at = os.lseek(fd, start, os.SEEK_HOLE)
            ranges.append((start, at))
    finally:
        os.close(fd)


def bytes_of(path):
    with open(path, 'rb') as file:
        return file.read()


class SparseMountTest(TestCase):
    FORMATS = {'gnu': ['--format=gnu'], 'pax00': ['--format=pax', '--sparse-version=0.0'],
               'pax01': ['--format=pax', '--sparse-version=0.1'], 'pax10': ['--format=pax', '--sparse-version=1.0']}

    def setUp(self):
        super().setUp()
        self.tree = self.scratch + '/tree'
        os.mkdir(self.tree)
        self.write('ends', 9 * MIB, {0: b'first', 4 * MIB: b'middle' * 1000, 9 * MIB - 4: b'last'})
        self.write('hole-first', 3 * MIB, {2 * MIB: b'x' * 70000})
        self.write('hole-last', 3 * MIB, {0: b'y' * 70000})
        self.write('all-hole', 2 * MIB, {})
        self.write('many', 40 * MIB, {i * 128 * 1024: b'%08d' % i for i in range(0, 320, 2)})
        self.write('full', 0, {0: os.urandom(100000)})
        for name, options in self.FORMATS.items():
            run('tar', '-S', *options, '-C', self.tree, '-cf', f'{self.data}/{name}.tar', '.')
            os.mkdir(f'{self.scratch}/{name}')
            run('tar', '-C', f'{self.scratch}/{name}', '-xf', f'{self.data}/{name}.tar')
        self.publish()
        self.names = sorted(os.listdir(self.tree))
        self.mounted = self.mount()

    def write(self, name, size, parts):
        with open(f'{self.tree}/{name}', 'wb') as file:
            for offset, data in parts.items():
                file.seek(offset)
                file.write(data)
            file.truncate(max([size] + [offset + len(data) for offset, data in parts.items()]))

    def pairs(self):
        for form in self.FORMATS:
            for name in self.names:
                yield f'{self.mounted.path}/{form}/{name}', f'{self.scratch}/{form}/{name}'

    def test_bytes_and_sizes_are_those_of_the_extracted_file(self):
        for mounted, extracted in self.pairs():
            with self.subTest(mounted):
                self.assertTrue(in_child(lambda a=mounted, b=extracted: bytes_of(a) == bytes_of(b)))
                self.assertEqual(in_child(os.path.getsize, mounted), os.path.getsize(extracted))

    def test_blocks_count_data_alone(self):
        for mounted, _ in self.pairs():
            with self.subTest(mounted):
                blocks = in_child(lambda path=mounted: os.stat(path).st_blocks)
                ranges = in_child(data_ranges, mounted)
                self.assertEqual(blocks, -(-sum(end - start for start, end in ranges) // 512))
        self.assertEqual(in_child(os.stat, f'{self.mounted.path}/gnu/all-hole').st_blocks, 0)
        self.assertLess(in_child(os.stat, f'{self.mounted.path}/pax10/ends').st_blocks, 100)

    def test_what_is_no_data_reads_as_zeros_and_all_data_is_found(self):
        for mounted, extracted in self.pairs():
            with self.subTest(mounted):
                contents = bytearray(bytes_of(extracted))
                for start, end in in_child(data_ranges, mounted):
                    contents[start:end] = bytes(end - start)
                self.assertEqual(contents.count(0), len(contents), 'data that SEEK_DATA does not find')

    def test_a_loop_of_seeks_ends_with_enxio_and_the_end_is_a_hole(self):
        def check(path):
            size = os.path.getsize(path)
            fd = os.open(path, os.O_RDONLY)
            try:
                os.lseek(fd, size, os.SEEK_DATA)
            except OSError as error:
                return error.errno, os.lseek(fd, size - 1, os.SEEK_HOLE) in (size - 1, size), size
            return None
        for mounted, _ in self.pairs():
            with self.subTest(mounted):
                code, hole, _ = in_child(check, mounted)
                self.assertEqual((code, hole), (errno.ENXIO, True))

    def test_cp_keeps_the_holes(self):
        for form in self.FORMATS:
            target = f'{self.scratch}/copy-{form}'
            run('cp', '-r', '--sparse=auto', f'{self.mounted.path}/{form}', target)
            for name in self.names:
                with self.subTest(form=form, name=name):
                    self.assertEqual(bytes_of(f'{target}/{name}'), bytes_of(f'{self.scratch}/{form}/{name}'))
            # cp asks with SEEK_DATA where the data is: what it never read it never wrote.
            self.assertLess(os.stat(f'{target}/many').st_blocks * 512, 8 * MIB)
            self.assertEqual(os.stat(f'{target}/all-hole').st_blocks, 0)

    def test_tar_of_the_mount_is_as_sparse(self):
        run('tar', '-S', '-C', f'{self.mounted.path}/pax10', '-cf', f'{self.scratch}/again.tar', '.')
        self.assertLess(os.path.getsize(f'{self.scratch}/again.tar'), 4 * MIB)
        os.mkdir(f'{self.scratch}/again')
        run('tar', '-C', f'{self.scratch}/again', '-xf', f'{self.scratch}/again.tar')
        for name in self.names:
            self.assertEqual(bytes_of(f'{self.scratch}/again/{name}'), bytes_of(f'{self.tree}/{name}'), name)


if __name__ == '__main__':
    main()
