"""A mount without --dataset: every dataset of the index root, generations that come and go, and its status."""
import errno
import json
import os
import signal
import time

from mounts import BIN, DEADLINE, Mount, TestCase, in_child, main, run

APPEARS_WITHIN = 20


class AllDatasetsTest(TestCase):
    def setUp(self):
        super().setUp()
        self.write('train', 'one', b'first')
        self.write('val', 'v', b'validation')
        self.report = self.publish(data=self.data + '/train', name='train')
        self.publish(data=self.data + '/val', name='val')

    def write(self, dataset, member, contents, archive='a'):
        """Makes DATASET/ARCHIVE.tar with one member; the whole file is new."""
        tree = self.scratch + '/tree'
        os.makedirs(tree, exist_ok=True)
        os.makedirs(f'{self.data}/{dataset}', exist_ok=True)
        with open(f'{tree}/{member}', 'wb') as file:
            file.write(contents)
        path = f'{self.data}/{dataset}/{archive}.tar'
        run('tar', '-C', tree, '-cf', path + '.new', member)
        os.rename(path + '.new', path)

    def mount_all(self, name='mnt', *options):
        mount = Mount(f'{self.scratch}/{name}', '--index', self.index, '--source', self.data, *options)
        self.addCleanup(mount.close)
        return mount

    def names(self, path):
        return sorted(in_child(os.listdir, path))

    def read(self, path):
        def body():
            with open(path, 'rb') as file:
                return file.read()
        return in_child(body)

    def wait_for(self, wanted, what):
        end = time.monotonic() + APPEARS_WITHIN
        while time.monotonic() < end:
            if in_child(wanted):
                return
            time.sleep(0.1)
        self.fail(what)

    def status(self, mount):
        return json.loads(self.read(mount / '.tarn/status.json'))

    def test_what_there_is(self):
        mount = self.mount_all()
        self.assertEqual(self.names(mount.path), ['.tarn', 'train', 'train@1', 'val', 'val@1'])
        self.assertEqual(in_child(os.readlink, mount / 'train'), 'train@1')
        self.assertEqual(self.read(mount / 'train/a/one'), b'first')
        self.assertEqual(self.read(mount / 'val@1/a/v'), b'validation')
        digest = self.report['digest']
        self.assertEqual(in_child(os.readlink, mount / f'train@{digest}'), 'train@1')
        self.assertEqual(in_child(os.getxattr, mount / 'train@1', 'user.tarn.digest').decode(), digest)
        self.assertEqual(in_child(os.path.realpath, mount / 'train/a/../../val/a'), mount / 'val@1/a')
        for absent in ('train@01', 'train@2', 'train@' + '0' * 32, 'nothing', 'train@', '.tarn/x'):
            with self.subTest(absent=absent):
                self.assertFalse(in_child(os.path.lexists, mount / absent))
        self.assertEqual(run(f'{BIN}/tarn', 'ls', mount.path).stdout.split(), ['.tarn', 'train', 'train@1', 'val', 'val@1'])
        self.assertEqual(run(f'{BIN}/tarn', 'cat', mount / 'train/a/one').stdout, 'first')
        self.assertEqual(json.loads(run(f'{BIN}/tarn', 'stat', '--json', mount / 'val').stdout)['type'], 'sym')
        found = run('find', mount.path, '-ls').stdout
        self.assertIn('train@1/a/one', found)

    def test_nothing_can_be_written(self):
        mount = self.mount_all()
        for path in ('new', '.tarn/new', '.tarn/status.json', 'train@1/a/one'):
            def body(path=path):
                try:
                    os.close(os.open(mount / path, os.O_WRONLY | os.O_CREAT))
                except OSError as error:
                    return error.errno
                return 0
            self.assertEqual(in_child(body), errno.EROFS, path)

    def test_a_new_generation_appears_and_the_old_one_stays(self):
        mount = self.mount_all()
        self.assertFalse(in_child(os.path.lexists, mount / 'train@2'))
        inode = in_child(os.stat, mount / 'train@1/a/one').st_ino
        self.write('train', 'two', b'second', archive='b')
        self.publish(data=self.data + '/train', name='train')
        self.wait_for(lambda: os.path.realpath(mount / 'train') == mount / 'train@2', 'train@2 did not appear')
        self.assertEqual(self.read(mount / 'train/b/two'), b'second')
        self.assertEqual(self.names(mount / 'train@1'), ['a'])
        # The same member of two generations is one file, whose pages are cached once.
        self.assertEqual(in_child(os.stat, mount / 'train@2/a/one').st_ino, inode)
        self.assertEqual(self.status(mount)['datasets'][0],
                         {'name': 'train', 'number': 1, 'newest': 2, 'generations': [1, 2], 'retired': [],
                          'watch': None})

    def test_a_new_dataset_appears(self):
        mount = self.mount_all()
        self.write('later', 'l', b'later')
        self.publish(data=self.data + '/later', name='later')
        self.wait_for(lambda: os.path.exists(mount / 'later/a/l'), 'the dataset did not appear')

    def test_a_retired_generation_leaves_the_listing_and_its_users_read_on(self):
        self.write('train', 'two', b'second', archive='b')
        self.publish(data=self.data + '/train', name='train')
        mount = self.mount_all()
        read_end, write_end = os.pipe()
        done_read, done_write = os.pipe()
        pid = os.fork()
        if pid == 0:  # a job whose directory and open file are in train@1
            signal.alarm(DEADLINE)
            os.chdir(mount / 'train@1/a')
            with open('one', 'rb') as file:
                os.write(write_end, b'r')
                os.read(done_read, 1)
                good = file.read() == b'first' and os.listdir('.') == ['one']
            os._exit(0 if good else 1)
        os.read(read_end, 1)
        run(f'{BIN}/tarn-index', 'retire', 'train@1', '--index', self.index)
        self.wait_for(lambda: 'train@1' not in os.listdir(mount.path), 'train@1 is still listed')
        self.assertEqual(self.names(mount.path), ['.tarn', 'train', 'train@2', 'val', 'val@1'])
        self.assertEqual(self.read(mount / 'train@1/a/one'), b'first')  # whoever has the path
        train = [dataset for dataset in self.status(mount)['datasets'] if dataset['name'] == 'train']
        self.assertEqual([(dataset['generations'], dataset['retired']) for dataset in train], [([2], [1])])
        os.write(done_write, b'd')
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        for end in (read_end, write_end, done_read, done_write):
            os.close(end)

    def test_a_server_that_knows_nothing_answers_for_nodes_that_another_gave_out(self):
        # File handles name nodes without a path; the second mount has looked at nothing yet.
        self.write('train', 'two', b'second', archive='b')
        self.publish(data=self.data + '/train', name='train')
        first = self.mount_all('first')
        second = self.mount_all('second')
        one = in_child(os.stat, first / 'train@1/a/one')
        self.assertEqual(in_child(os.stat, second / 'train@2/a/one').st_ino, one.st_ino)
        self.assertEqual(self.read(second / 'train@2/a/one'), b'first')

    def test_status_names_what_is_missing_and_since_when(self):
        mount = self.mount_all('mnt', '--identity-interval', '0.1')
        self.assertEqual(self.read(mount / 'val/a/v'), b'validation')
        status = self.status(mount)
        self.assertEqual(status['schema_version'], 1)
        self.assertEqual(status['troubled'], [])
        self.assertEqual(status['archives']['served'], 1)
        self.assertEqual(status['index']['path'], self.index)
        self.write('train', 'one', b'other')
        time.sleep(0.3)
        os.rename(self.data + '/train/a.tar', self.scratch + '/moved.tar')

        def body():
            try:
                with open(mount / 'train/a/one', 'rb') as file:
                    return file.read()
            except OSError as error:
                return error.errno
        self.assertEqual(in_child(body), errno.EIO)
        time.sleep(1.1)  # the text is a second old at most
        status = self.status(mount)
        self.assertEqual(status['archives']['missing'], 1)
        troubled = status['troubled'][0]
        self.assertEqual([troubled[key] for key in ('dataset', 'path', 'state')], ['train', 'a.tar', 'missing'])
        self.assertIn('is missing', troubled['message'])
        self.assertRegex(troubled['since'], r'^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$')

    def test_an_index_root_that_goes_away_is_no_end(self):
        mount = self.mount_all()
        self.assertEqual(self.read(mount / 'train/a/one'), b'first')
        os.rename(self.index, self.index + '.gone')
        time.sleep(3)
        self.assertEqual(self.read(mount / 'train/a/one'), b'first')
        self.assertEqual(self.names(mount.path), ['.tarn', 'train', 'train@1', 'val', 'val@1'])
        os.rename(self.index + '.gone', self.index)
        self.write('later', 'l', b'later')
        self.publish(data=self.data + '/later', name='later')
        self.wait_for(lambda: os.path.exists(mount / 'later/a/l'), 'it did not come back')


if __name__ == '__main__':
    main()
