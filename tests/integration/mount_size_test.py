"""What a mount costs before anybody reads: time until it answers and memory of its server, for datasets of very
different sizes. Figures are reported; what is asserted is that the small part of a large dataset can be read.

TARN_TEST_SIZES: numbers of members, blank-separated; "10000 1000000" is what a release is held against.
"""
import os
import tarfile

import mounts

SIZES = [int(size) for size in os.environ.get('TARN_TEST_SIZES', '1000 20000').split()]
MEMBERS_OF_AN_ARCHIVE = 10000


def make_archive(path, first, count):
    with tarfile.open(path, 'w', format=tarfile.GNU_FORMAT) as archive:
        for number in range(first, first + count):
            archive.addfile(tarfile.TarInfo(f'n{number // 1000:05d}/image_{number:08d}.JPEG'))


def status_of(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return {key: value.strip() for key, value in (row.split(':', 1) for row in file)}


class MountSizeTest(mounts.TestCase):
    def test_time_until_the_mount_answers_and_memory(self):
        for size in SIZES:
            data = f'{self.data}/{size}'
            os.mkdir(data)
            for first in range(0, size, MEMBERS_OF_AN_ARCHIVE):
                make_archive(f'{data}/{first:08d}.tar', first, min(MEMBERS_OF_AN_ARCHIVE, size - first))
            report = self.publish(data=data, name=f'set{size}', timeout=3600)
            self.assertEqual(report['members'], size)
            for attempt in ('first', 'second'):
                with mounts.Mount(f'{self.scratch}/mnt{size}', '--index', self.index, '--source', data, '--dataset',
                                  f'set{size}') as mount:
                    status = status_of(mount.server.pid)
                    print(f'{size} members, {attempt} mount: answers after {mount.seconds * 1000:.0f} ms, '
                          f'VmRSS {status["VmRSS"]}, {status["Threads"]} threads', flush=True)
                    last = size - 1
                    archive = last // MEMBERS_OF_AN_ARCHIVE * MEMBERS_OF_AN_ARCHIVE
                    found = mounts.in_child(os.stat,
                                            mount / f'{archive:08d}/n{last // 1000:05d}/image_{last:08d}.JPEG')
                    self.assertEqual(found.st_size, 0)


if __name__ == '__main__':
    mounts.main()
