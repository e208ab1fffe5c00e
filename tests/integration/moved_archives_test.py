"""Archives that move while a job reads them: found wherever the index knows their bytes to be."""
import errno
import os
import shutil
import signal
import time

from mounts import DEADLINE, TestCase, in_child, main, run

MEMBERS = 20
RESUMES_WITHIN = 20


class MovedArchivesTest(TestCase):
    def setUp(self):
        super().setUp()
        self.contents = {}
        os.mkdir(self.scratch + '/tree')
        for i in range(MEMBERS):
            self.contents[f'{i:02d}'] = os.urandom(5000 + i)
            with open(f'{self.scratch}/tree/{i:02d}', 'wb') as file:
                file.write(self.contents[f'{i:02d}'])
        os.mkdir(self.data + '/here')
        self.archive = self.data + '/here/a.tar'
        run('tar', '-C', self.scratch + '/tree', '-cf', self.archive, *sorted(self.contents))
        self.publish(data=self.data + '/here')
        self.served = self.mount('--identity-interval', '0.1', source=self.data)

    def read_one(self, name):
        """Reads a member past the kernel's cache: 0 when its bytes are right, an errno, -1 when they are wrong."""
        try:
            fd = os.open(f'{self.served.path}/a/{name}', os.O_RDONLY)
            try:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                return 0 if os.read(fd, 10000) == self.contents[name] else -1
            finally:
                os.close(fd)
        except OSError as error:
            return error.errno

    def reader(self, seconds):
        """A child that reads for so long; what its reads gave, without the good ones."""
        def body():
            signal.alarm(DEADLINE)
            end = time.monotonic() + seconds
            bad = []
            while time.monotonic() < end:
                bad += [result for result in map(self.read_one, sorted(self.contents)) if result != 0]
            return bad
        return body

    def background(self, body):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            os.write(write_end, repr(body()).encode())
            os._exit(0)
        os.close(write_end)

        def result():
            with os.fdopen(read_end, 'rb') as pipe:
                text = pipe.read()
            os.waitpid(pid, 0)
            return text.decode()
        return result

    def lines(self, text):
        return [line for line in self.served.text().splitlines() if text in line]

    def test_bytes_that_another_dataset_has_are_used_without_one_failed_read(self):
        os.mkdir(self.data + '/there')
        shutil.copy2(self.archive, self.data + '/there/copy.tar')
        self.publish(data=self.data + '/there', name='other')
        result = self.background(self.reader(4))
        time.sleep(1)
        os.rename(self.archive, self.scratch + '/gone.tar')
        self.assertEqual(result(), '[]')
        self.assertEqual(len(self.lines('is no longer where it was published')), 1, self.served.text())
        self.assertIn('/there/copy.tar', self.lines('is no longer where it was published')[0])

    def test_what_is_found_elsewhere_is_checked(self):
        os.mkdir(self.data + '/there')
        shutil.copy2(self.archive, self.data + '/there/copy.tar')
        self.publish(data=self.data + '/there', name='other')
        with open(self.data + '/there/copy.tar', 'r+b') as file:
            file.seek(512)
            file.write(b'not what was published')
        os.rename(self.archive, self.scratch + '/gone.tar')
        time.sleep(0.3)
        self.assertEqual(in_child(self.read_one, '00'), errno.EIO)

    def test_a_directory_that_was_moved_is_read_again_once_it_is_published(self):
        os.rename(self.data + '/here', self.data + '/there')
        time.sleep(0.3)
        self.assertEqual(in_child(self.read_one, '00'), errno.EIO)
        self.assertEqual(len(self.lines('is missing')), 1, self.served.text())
        self.publish(data=self.data + '/there', name='moved')
        end = time.monotonic() + RESUMES_WITHIN
        while in_child(self.read_one, '00') != 0:
            self.assertLess(time.monotonic(), end, 'reads did not resume')
            time.sleep(0.2)
        self.assertEqual(in_child(self.reader(0.5)), [])

    def test_moved_out_of_sight_and_back(self):
        os.rename(self.archive, self.scratch + '/a.tar')
        time.sleep(0.3)
        self.assertEqual({in_child(self.read_one, name) for name in ('00', '01', '02')}, {errno.EIO})
        os.rename(self.scratch + '/a.tar', self.archive)
        time.sleep(0.3)
        self.assertEqual(in_child(self.reader(0.5)), [])


if __name__ == '__main__':
    main()
