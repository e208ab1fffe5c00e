"""Generation N+1 is published while a job reads generation N: the job notices nothing, and what did not change stays
cached."""
import json
import os
import pickle
import signal
import time

from mounts import DEADLINE, Mount, TestCase, in_child, main, run

ARCHIVES = ('a', 'b', 'c', 'd')
REPLACED = 'd'
MEMBERS = 16
SIZE = 50_000
APPEARS_WITHIN = 20


def read_all(paths):
    """The first path whose bytes are not those wanted, or None."""
    for path, wanted in paths.items():
        with open(path, 'rb') as file:
            if file.read() != wanted:
                return path
    return None


class Reader:
    """A job that reads files over and over, past the kernel's cache, until it is told to end."""

    def __init__(self, paths):
        self.answers, write_end = os.pipe()
        stop_end, self.stop = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            signal.alarm(DEADLINE)
            os.close(self.stop)
            os.close(self.answers)
            os.set_blocking(stop_end, False)
            with os.fdopen(write_end, 'wb', buffering=0) as pipe:
                self._rounds(paths, stop_end, pipe)
            os._exit(0)
        os.close(write_end)
        os.close(stop_end)

    @staticmethod
    def _rounds(paths, stop_end, pipe):
        bad = []
        while True:
            for path, wanted in paths.items():
                try:
                    fd = os.open(path, os.O_RDONLY)
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    if os.read(fd, len(wanted) + 1) != wanted:
                        bad.append((path, 'other bytes'))
                    os.close(fd)
                except OSError as error:
                    bad.append((path, str(error)))
            pipe.write(b'.')  # a round is done
            try:
                if os.read(stop_end, 1) == b'':
                    break
            except BlockingIOError:
                pass
        pipe.write(b'!' + pickle.dumps(bad))

    def wait_for_rounds(self, count):
        """Returns when so many rounds were finished from now on: all but the first were begun after the call."""
        os.set_blocking(self.answers, False)
        try:
            while os.read(self.answers, 4096):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(self.answers, True)
        while count > 0:
            if os.read(self.answers, 1) != b'.':
                raise AssertionError('the reader ended')
            count -= 1

    def end(self):
        """What went wrong in all its rounds."""
        os.close(self.stop)
        with os.fdopen(self.answers, 'rb') as pipe:
            answer = pipe.read()
        os.waitpid(self.pid, 0)
        self.pid = None
        return pickle.loads(answer.split(b'!', 1)[1])

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class GenerationsTest(TestCase):
    def setUp(self):
        super().setUp()
        self.contents = {}
        self.set = self.data + '/set'
        os.mkdir(self.set)
        for archive in ARCHIVES:
            self.write(archive)
        self.publish(data=self.set)
        self.served = Mount(f'{self.scratch}/mnt', '--index', self.index, '--source', self.data)
        self.addCleanup(self.served.close)

    def write(self, archive):
        tree = f'{self.scratch}/tree-{archive}'
        os.mkdir(tree)
        for i in range(MEMBERS):
            self.contents[f'{archive}/{i:02d}'] = os.urandom(SIZE + i)
            with open(f'{tree}/{i:02d}', 'wb') as file:
                file.write(self.contents[f'{archive}/{i:02d}'])
        run('tar', '-C', tree, '-cf', f'{self.scratch}/{archive}.new', *sorted(os.listdir(tree)))
        os.rename(f'{self.scratch}/{archive}.new', f'{self.set}/{archive}.tar')

    def paths(self, generation, archives):
        """{path below the mount: its bytes}."""
        return {f'{self.served.path}/{generation}/{name}': data for name, data in self.contents.items()
                if name.split('/')[0] in archives}

    def publish_the_second(self):
        """Puts an archive under a new name in the place of another, which set@1 goes on to read elsewhere."""
        os.mkdir(self.data + '/attic')
        os.link(f'{self.set}/{REPLACED}.tar', f'{self.data}/attic/{REPLACED}.tar')
        self.publish(data=self.data + '/attic', name='attic')
        self.write('e')
        os.unlink(f'{self.set}/{REPLACED}.tar')
        self.publish(data=self.set)

    def wait_for_the_second(self):
        end = time.monotonic() + APPEARS_WITHIN
        while in_child(os.readlink, self.served / 'set') != 'set@2':
            self.assertLess(time.monotonic(), end, 'the name did not move on to set@2')
            time.sleep(0.1)

    def bytes_served(self):
        time.sleep(1.1)  # the text is a second old at most
        def body():
            with open(self.served / '.tarn/status.json', 'rb') as file:
                return file.read()
        return json.loads(in_child(body))['reads']['bytes']

    def test_a_job_reads_on_while_the_next_generation_is_published(self):
        reader = Reader(self.paths('set@1', ARCHIVES))
        self.addCleanup(reader.close)
        reader.wait_for_rounds(2)
        self.publish_the_second()
        self.wait_for_the_second()
        reader.wait_for_rounds(3)
        self.assertEqual(reader.end(), [])
        self.assertEqual(sorted(in_child(os.listdir, self.served / 'set@1')), ['a', 'b', 'c', 'd'])
        self.assertEqual(sorted(in_child(os.listdir, self.served / 'set')), ['a', 'b', 'c', 'e'])
        self.assertIsNone(in_child(read_all, self.paths('set', ('a', 'b', 'c', 'e'))))

    def test_what_did_not_change_is_one_file_whose_pages_stay(self):
        unchanged = ('a', 'b', 'c')
        self.assertIsNone(in_child(read_all, self.paths('set@1', unchanged)))
        before = self.bytes_served()
        self.assertGreaterEqual(before, len(unchanged) * MEMBERS * SIZE)
        self.publish_the_second()
        self.wait_for_the_second()

        def inodes(generation):
            return [os.stat(path).st_ino for path in self.paths(generation, unchanged)]
        self.assertEqual(in_child(inodes, 'set@2'), in_child(inodes, 'set@1'))
        self.assertIsNone(in_child(read_all, self.paths('set@2', unchanged)))
        # The kernel may have let go of a page or two; read again would be all of them.
        self.assertLess(self.bytes_served() - before, before // 100)
        # The count does rise for what is new.
        self.assertIsNone(in_child(read_all, self.paths('set@2', ('e',))))
        self.assertGreaterEqual(self.bytes_served(), before + MEMBERS * SIZE)


if __name__ == '__main__':
    main()
