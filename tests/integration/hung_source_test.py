"""A file server that answers nobody holds up its own readers, and they alone.

The file server is `tarn-bench slow-source`, stopped with SIGSTOP. TARN_HANG_SECONDS: for how long (default: 5).
"""
import json
import os
import signal
import subprocess
import time

from mounts import BIN, DEADLINE, Mount, TestCase, in_child, main, run

HANG_SECONDS = float(os.environ.get('TARN_HANG_SECONDS', '5'))
READERS = 24
THREADS = 16  # of the mount: half of them may be inside one source
SIZE = 400_000
# How long other readers may need in all: far beyond what they do, and short of a hang that holds them up.
FINISH_WITHIN = HANG_SECONDS + DEADLINE


class HungSourceTest(TestCase):
    def setUp(self):
        super().setUp()
        self.contents = {}
        self.near = self.scratch + '/near'
        self.far = self.scratch + '/far'
        os.mkdir(self.far)
        self.write(self.data + '/hung', 'h', READERS + 1)
        for archive in ('known', 'new'):
            self.write(self.near + '/other', archive, READERS)
        self.publish(data=self.data + '/hung', name='hung')
        self.publish(data=self.near + '/other', name='other')
        self.start_file_server()
        self.readers = {}

    def write(self, directory, archive, members):
        tree = f'{self.scratch}/tree-{archive}'
        os.mkdir(tree)
        os.makedirs(directory, exist_ok=True)
        for i in range(members):
            data = os.urandom(SIZE + i)
            self.contents[f'{os.path.basename(directory)}/{archive}/{i:02d}'] = data
            with open(f'{tree}/{i:02d}', 'wb') as file:
                file.write(data)
        run('tar', '-C', tree, '-cf', f'{directory}/{archive}.tar', *sorted(os.listdir(tree)))

    def serve(self, *sources):
        self.served = Mount(f'{self.scratch}/mnt', '--index', self.index, '--source', sources[0], '--source', sources[1],
                            '--threads', THREADS, '--read-ahead', '0')
        self.addCleanup(self.served.close)
        # Done before the mount is closed, whose end would wait for the source.
        self.addCleanup(self.file_server.send_signal, signal.SIGCONT)
        self.addCleanup(self.end_readers)

    def start_file_server(self):
        # pylint: disable-next=consider-using-with
        self.file_server = subprocess.Popen([f'{BIN}/tarn-bench', 'slow-source', self.data, self.far, '--latency', '1ms',
                                             '--foreground'], stdin=subprocess.DEVNULL)
        self.addCleanup(self.end_file_server)
        end = time.monotonic() + DEADLINE
        while not self.far_is_mounted():
            self.assertIsNone(self.file_server.poll(), 'slow-source ended')
            self.assertLess(time.monotonic(), end, 'slow-source did not mount')
            time.sleep(0.01)

    def far_is_mounted(self):
        with open('/proc/self/mountinfo', encoding='utf-8', errors='surrogateescape') as table:
            return any(f' {self.far} ' in row for row in table)

    def end_file_server(self):
        self.file_server.send_signal(signal.SIGCONT)
        if self.far_is_mounted():
            run('umount', '-l', self.far, check=False)
        self.file_server.terminate()
        try:
            self.file_server.wait(20)
        except subprocess.TimeoutExpired:
            self.file_server.kill()
            self.file_server.wait()

    def right(self, name):
        """Whether the bytes of a member are those that were published."""
        dataset, rest = name.split('/', 1)
        with open(f'{self.served.path}/{dataset}@1/{rest}', 'rb') as file:
            return file.read() == self.contents[name]

    def start_reader(self, name):
        pid = os.fork()
        if pid == 0:
            signal.alarm(int(FINISH_WITHIN) + 1)
            try:
                os._exit(0 if self.right(name) else 1)
            except OSError:
                os._exit(2)
        self.readers[pid] = name

    def finished_readers(self):
        """{name: exit status} of those that have finished since the last call."""
        found = {}
        for pid, name in list(self.readers.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del self.readers[pid]
                found[name] = status
        return found

    def end_readers(self):
        for pid in self.readers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def status(self):
        time.sleep(1.1)  # the text is a second old at most

        def body():
            with open(self.served / '.tarn/status.json', 'rb') as file:
                return file.read()
        return json.loads(in_child(body))

    def source(self, status, path):
        return next(source for source in status['sources'] if path in source['name'])

    def test_readers_of_another_source_go_on_while_24_hang(self):
        self.serve(self.near, self.far)
        self.hang_and_come_back()

    def test_the_source_that_hangs_may_be_the_one_that_is_asked_first(self):
        self.serve(self.far, self.near)
        self.hang_and_come_back()

    def hang_and_come_back(self):
        self.assertTrue(in_child(self.right, f'hung/h/{READERS:02d}'))  # the archive is open
        self.assertTrue(in_child(self.right, 'other/known/00'))
        before = self.status()

        self.file_server.send_signal(signal.SIGSTOP)
        hangs_until = time.monotonic() + HANG_SECONDS
        names = [f'hung/h/{i:02d}' for i in range(READERS)]
        for name in names:
            self.start_reader(name)
        # Each member of the other source is read for the first time: no cache answers. One archive is open, the
        # other one is looked for and opened while the hung source hangs.
        others = [f'other/{archive}/{i:02d}' for archive in ('known', 'new') for i in range(READERS)][1:]
        while others or time.monotonic() < hangs_until:
            if others:
                self.assertTrue(in_child(self.right, others.pop(0)))
            else:
                time.sleep(0.1)
        hanging = self.status()
        self.assertEqual(self.finished_readers(), {})
        far = self.source(hanging, self.far)
        self.assertEqual(far['inside'], THREADS // 2, hanging['sources'])
        self.assertGreaterEqual(far['waiting'], READERS - THREADS // 2, hanging['sources'])
        near = self.source(hanging, self.near)
        self.assertEqual((near['inside'], near['waiting']), (0, 0), hanging['sources'])

        self.file_server.send_signal(signal.SIGCONT)
        finished = {}
        end = time.monotonic() + DEADLINE
        while self.readers:
            self.assertLess(time.monotonic(), end, f'{len(self.readers)} readers did not finish')
            finished.update(self.finished_readers())
            time.sleep(0.05)
        self.assertEqual(finished, dict.fromkeys(names, 0))
        after = self.status()
        self.assertEqual(after['pid'], before['pid'])
        self.assertIsNone(self.served.server.poll())
        far = self.source(after, self.far)
        self.assertEqual((far['inside'], far['waiting'], far['timed_out']), (0, 0, 0), after['sources'])


if __name__ == '__main__':
    main()
