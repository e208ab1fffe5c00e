"""Copies of the index on this machine: readers go on while the index root is away, and mounts start without it."""
import json
import os
import re
import time

from mounts import BIN, Mount, TestCase, in_child, main, run

APPEARS_WITHIN = 30
MEMBERS = 200


class IndexCacheTest(TestCase):
    def setUp(self):
        super().setUp()
        self.cache = self.scratch + '/cache'
        self.contents = {}
        self.write('a')
        self.publish(data=self.data + '/set')

    def write(self, archive):
        tree = f'{self.scratch}/tree-{archive}'
        os.makedirs(tree)
        os.makedirs(self.data + '/set', exist_ok=True)
        for i in range(MEMBERS):
            self.contents[f'{archive}/{i:03d}'] = os.urandom(3000 + i)
            with open(f'{tree}/{i:03d}', 'wb') as file:
                file.write(self.contents[f'{archive}/{i:03d}'])
        run('tar', '-C', tree, '-cf', f'{self.data}/set/{archive}.tar', *sorted(os.listdir(tree)))

    def start(self, *options, name='mnt'):
        """A mount of all datasets, or what the options say."""
        mount = Mount(f'{self.scratch}/{name}', '--index', self.index, '--source', self.data, *options)
        self.addCleanup(mount.close)
        return mount

    def cached(self, *options, name='mnt'):
        return self.start('--index-cache', self.cache, *options, name=name)

    def put_away(self):
        os.rename(self.index, self.index + '.away')

    def put_back(self):
        os.rename(self.index + '.away', self.index)

    def read(self, path):
        def body():
            with open(path, 'rb') as file:
                return file.read()
        return in_child(body)

    def assert_all_there(self, directory, archives=('a',)):
        wanted = {name: data for name, data in self.contents.items() if name.split('/')[0] in archives}
        def body():
            for name, data in wanted.items():
                with open(f'{directory}/{name}', 'rb') as file:
                    if file.read() != data:
                        return name
            return None
        self.assertIsNone(in_child(body))

    def wait_for(self, wanted, what):
        end = time.monotonic() + APPEARS_WITHIN
        while not wanted():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)

    def status(self, mount):
        time.sleep(1.1)  # the text is a second old at most
        return json.loads(self.read(mount / '.tarn/status.json'))

    def tables(self, mount):
        """What the server has open of the index."""
        directory = f'/proc/{mount.server.pid}/fd'
        targets = []
        for fd in os.listdir(directory):
            try:
                targets.append(os.readlink(f'{directory}/{fd}'))
            except FileNotFoundError:
                pass
        return [target for target in targets if target.endswith('.sst')]

    def assert_reads_the_copy(self, mount):
        tables = self.tables(mount)
        self.assertTrue(tables)
        for table in tables:
            self.assertTrue(table.startswith(self.cache + '/'), table)

    def generations_cached(self):
        if not os.path.isdir(self.cache):
            return []
        return sorted(f'{dataset}@{number}' for root in os.listdir(self.cache)
                      for dataset in os.listdir(f'{self.cache}/{root}/datasets')
                      for number in os.listdir(f'{self.cache}/{root}/datasets/{dataset}') if number.isdigit())

    def test_a_single_generation_is_served_while_the_root_is_away(self):
        mount = self.cached('--dataset', 'set@1')
        self.assertEqual(self.generations_cached(), ['set@1'])
        self.assertEqual(os.stat(self.cache).st_mode & 0o7777, 0o700)
        self.assertEqual(self.read(mount / 'a/000'), self.contents['a/000'])
        self.assert_reads_the_copy(mount)
        self.put_away()
        self.assert_all_there(mount.path)
        mount.close()
        again = self.cached('--dataset', 'set@1', name='again')
        self.assertIn('what is cached in', again.text())
        self.assert_all_there(again.path)
        self.put_back()
        self.assert_all_there(again.path)
        again.close()
        self.assertNotIn('what is cached in', self.cached('--dataset', 'set', name='third').text())

    def test_what_is_not_cached_cannot_be_started_without_the_root(self):
        self.cached('--dataset', 'set@1').close()
        self.put_away()
        for dataset, wanted in (('set@2', 'set@2'), ('set', '--dataset set@N'), ('other@1', 'other')):
            with self.subTest(dataset=dataset):
                done = run(f'{BIN}/tarn-mount', f'{self.scratch}/mnt', '--foreground', '--index', self.index, '--source',
                           self.data, '--dataset', dataset, '--index-cache', self.cache, '--runtime-dir', '', check=False)
                self.assertEqual(done.returncode, 3)
                self.assertIn(wanted, done.stderr)

    def test_all_datasets(self):
        mount = self.cached()
        self.assertEqual(self.status(mount)['index']['cache']['generations'], 0)
        self.assertEqual(self.read(mount / 'set/a/000'), self.contents['a/000'])
        self.assert_reads_the_copy(mount)
        cache = self.status(mount)['index']['cache']
        self.assertEqual(cache['generations'], 1)
        self.assertGreater(cache['bytes'], 0)
        self.assertTrue(cache['path'].startswith(self.cache + '/'))
        self.put_away()
        self.assert_all_there(mount / 'set@1')
        mount.close()

        again = self.cached(name='again')
        self.assertEqual(sorted(in_child(os.listdir, again.path)), ['.tarn', 'set', 'set@1'])
        self.assert_all_there(again / 'set')
        self.assertIn('what is cached in', again.text())
        self.assertFalse(in_child(os.path.lexists, again / 'set@2'))
        self.wait_for(lambda: 'cannot be looked at' in again.text(), 'the log says that the root is away')
        self.put_back()
        self.write('b')
        self.publish(data=self.data + '/set')
        self.wait_for(lambda: in_child(os.readlink, again / 'set') == 'set@2', 'what is published appears')
        self.assert_all_there(again / 'set', ('a', 'b'))
        self.assertIn('the index root can be read again', again.text())
        self.assertEqual(self.generations_cached(), ['set@1', 'set@2'])

    def test_a_root_that_is_another_one_is_not_shown_in_the_place_of_what_was_cached(self):
        self.cached('--dataset', 'set@1').close()
        self.put_away()
        mount = self.cached()
        self.write('b')
        self.publish(data=self.data + '/set', name='stranger')
        self.wait_for(lambda: 'should have the UUID' in mount.text(), 'the log says so')
        self.assertEqual(sorted(in_child(os.listdir, mount.path)), ['.tarn', 'set', 'set@1'])
        self.assert_all_there(mount / 'set')

    def test_an_older_generation_is_copied_behind_and_used_by_the_next_start(self):
        self.write('b')
        self.publish(data=self.data + '/set')
        mount = self.cached()
        self.assertEqual(self.read(mount / 'set@1/a/000'), self.contents['a/000'])
        self.wait_for(lambda: 'set@1 is copied to' in mount.text(), 'the copy is made behind')
        self.assertEqual(self.generations_cached(), ['set@1'])
        mount.close()
        self.put_away()
        again = self.cached(name='again')
        self.assert_all_there(again / 'set@1')
        self.assert_reads_the_copy(again)

    def test_a_damaged_copy_is_replaced(self):
        self.cached('--dataset', 'set@1').close()
        [root] = os.listdir(self.cache)
        current = f'{self.cache}/{root}/datasets/set/1/CURRENT'
        os.unlink(current)
        mount = self.cached('--dataset', 'set@1', name='again')
        self.assertIn('a copy of the index is removed', mount.text())
        self.assert_all_there(mount.path)
        self.assert_reads_the_copy(mount)
        self.assertTrue(os.path.exists(current))

    def test_a_cache_that_cannot_be_used_fails_nobody(self):
        with open(self.cache, 'wb'):
            pass
        mount = self.cached('--dataset', 'set@1')
        self.assertIn(f"'{self.cache}' is no directory", mount.text())
        self.assert_all_there(mount.path)
        self.assertEqual(os.path.getsize(self.cache), 0)

    def test_what_does_not_fit_is_read_from_the_root(self):
        mount = self.cached('--dataset', 'set@1', '--index-cache-size', '1K')
        self.assertIn('raise --index-cache-size', mount.text())
        self.assert_all_there(mount.path)
        self.assertEqual(self.generations_cached(), [])

    def test_an_index_on_a_local_disk_is_not_copied_unless_asked_for(self):
        home = self.scratch + '/home'
        os.mkdir(home)
        mount = self.start('--dataset', 'set@1')
        self.assertEqual([t for t in self.tables(mount) if not t.startswith(self.index + '/')], [])
        other = self.start('--dataset', 'set@1', '--no-index-cache', name='other')
        self.assert_all_there(other.path)
        none = self.start('--index-cache', '', name='none')
        self.assertIsNone(self.status(none)['index']['cache'])

    def test_two_servers_share_one_cache(self):
        one = self.cached('--dataset', 'set@1')
        other = self.cached(name='other')
        self.assert_all_there(one.path)
        self.assert_all_there(other / 'set@1')
        self.assert_reads_the_copy(one)
        self.assert_reads_the_copy(other)
        self.assertEqual(self.generations_cached(), ['set@1'])
        # What one of them reads stays, whatever the other one needs.
        size = self.status(other)['index']['cache']['bytes']
        other.close()
        self.write('b')
        self.publish(data=self.data + '/set')
        third = self.cached('--dataset', 'set@2', '--index-cache-size', str(int(size * 1.2)), name='third')
        self.assertTrue(re.search('set@2 is (not copied|read from the index root)', third.text()), third.text())
        self.assertEqual(self.generations_cached(), ['set@1'])
        self.assert_all_there(third.path, ('a', 'b'))


if __name__ == '__main__':
    main()
