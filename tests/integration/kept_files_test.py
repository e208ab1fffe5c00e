"""Files that the index root keeps: their originals are deleted and overwritten under a job that reads them."""
import json
import os
import shutil
import signal
import time

from mounts import DEADLINE, Mount, TestCase, in_child, main, run

MEMBERS = 12


class KeptFilesTest(TestCase):
    def setUp(self):
        super().setUp()
        self.expected = {}
        os.makedirs(self.data + '/val')
        for archive in ('val/one', 'val/two', 'train'):
            tree = self.scratch + '/tree-' + archive.replace('/', '-')
            os.mkdir(tree)
            for i in range(MEMBERS):
                data = os.urandom(9000)
                self.expected[f'{archive}/{i:02d}'] = data
                with open(f'{tree}/{i:02d}', 'wb') as file:
                    file.write(data)
            run('tar', '-C', tree, '-cf', f'{self.data}/{archive}.tar', *sorted(os.listdir(tree)))
        for name in ('labels.csv', 'val/labels.csv'):
            self.expected[name] = os.urandom(3000)
            with open(f'{self.data}/{name}', 'wb') as file:
                file.write(self.expected[name])

    def mount_set(self, *options):
        mount = Mount(self.scratch + '/mnt', '--index', self.index, '--source', self.scratch,
                      '--identity-interval', '0.1', *options)
        self.addCleanup(mount.close)
        return mount

    def reader(self, mount, names, seconds):
        """In a child: reads past the kernel's cache for so long. What went wrong, and how often each was read."""
        def body():
            signal.alarm(DEADLINE)
            end = time.monotonic() + seconds
            bad, rounds = [], 0
            while time.monotonic() < end:
                rounds += 1
                for name in names:
                    try:
                        fd = os.open(mount / ('set@1/' + name), os.O_RDONLY)
                        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                        if os.read(fd, 1 << 16) != self.expected[name]:
                            bad.append((name, 'other bytes'))
                        os.close(fd)
                    except OSError as error:
                        bad.append((name, str(error)))
            return bad, rounds
        return body

    def background(self, body):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            os.write(write_end, json.dumps(body()).encode())
            os._exit(0)
        os.close(write_end)

        def result():
            with os.fdopen(read_end, 'rb') as pipe:
                text = pipe.read()
            os.waitpid(pid, 0)
            return json.loads(text)
        return result

    def test_a_validation_directory_is_deleted_and_a_label_file_overwritten_under_a_job(self):
        self.publish('--keep', 'val/**')
        mount = self.mount_set()
        names = [name for name in self.expected if not name.startswith('train/')]
        result = self.background(self.reader(mount, names, 5))
        time.sleep(1)
        shutil.rmtree(self.data + '/val')
        time.sleep(1)
        with open(self.data + '/labels.csv', 'r+b') as file:
            file.write(b'this is another file now')
        bad, rounds = result()
        self.assertEqual(bad, [])
        self.assertGreater(rounds, 5)
        notices = [line for line in mount.text().splitlines() if 'is no longer where it was published' in line]
        for path in ('val/one.tar', 'val/two.tar', 'val/labels.csv', 'labels.csv'):
            self.assertEqual(len([line for line in notices if f": '{path}'," in line]), 1, mount.text())
        self.assertEqual(len(notices), 4, mount.text())

    def test_what_is_not_kept_is_missing(self):
        self.publish('--no-keep')
        mount = self.mount_set()
        shutil.rmtree(self.data + '/val')
        bad, _ = in_child(self.reader(mount, ['val/one/00', 'val/labels.csv'], 0.3))
        self.assertEqual({what.split(']')[0] for _, what in bad}, {'[Errno 5'})

    def test_a_kept_file_that_is_damaged_is_not_served(self):
        self.publish('--keep', 'val/**')
        for directory, _, files in os.walk(self.index + '/kept'):
            for name in files:
                os.chmod(f'{directory}/{name}', 0o644)
                with open(f'{directory}/{name}', 'r+b') as file:
                    file.seek(1000)
                    file.write(b'damaged')
        mount = self.mount_set()
        shutil.rmtree(self.data + '/val')
        bad, rounds = in_child(self.reader(mount, ['val/labels.csv', 'val/one/00'], 0.5))
        self.assertEqual({what.split(']')[0] for _, what in bad}, {'[Errno 5'})
        self.assertEqual(len(bad), 2 * rounds)


if __name__ == '__main__':
    main()
