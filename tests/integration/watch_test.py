"""What one watch for the whole cluster finds out, and what mounts make of it."""
import errno
import json
import os
import re
import time

from mounts import BIN, DEADLINE, Mount, TestCase, in_child, main, run

MEMBERS = 20
MEMBER_BYTES = 20_000


class WatchTest(TestCase):
    def setUp(self):
        super().setUp()
        self.write_archive('a.tar', seed=0)
        self.write_archive('b.tar', seed=50)
        self.publish()
        self.served = None

    def contents(self, seed):
        return {f'{i:03d}': bytes([seed + i]) * MEMBER_BYTES for i in range(MEMBERS)}

    def write_archive(self, name, seed):
        tree = f'{self.scratch}/tree-{seed}-{name}'
        os.mkdir(tree)
        for member, data in self.contents(seed).items():
            with open(f'{tree}/{member}', 'wb') as file:
                file.write(data)
        run('tar', '-C', tree, '--mtime=@1', '--sort=name', '-cf', f'{self.data}/{name}', *sorted(self.contents(seed)))

    def mount_all(self, *options):
        self.served = Mount(self.scratch + '/mnt', '--index', self.index, '--source', self.scratch,
                            '--identity-interval', '0.1', *options)
        self.addCleanup(self.served.close)

    def watch(self, *options, code=0):
        done = run(f'{BIN}/tarn-index', 'watch', '--index', self.index, '--source', self.scratch, '--once', *options,
                   check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def read_one(self, name, cached):
        try:
            fd = os.open(self.served / ('set@1/a/' + name), os.O_RDONLY)
            try:
                if not cached:
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                return 'right' if os.read(fd, 1 << 20) == self.contents(0)[name] else 'wrong'
            finally:
                os.close(fd)
        except OSError as error:
            return errno.errorcode[error.errno]

    def read_all(self, cached=False):
        return {self.read_one(name, cached) for name in self.contents(0)}

    def status(self):
        def read():
            fd = os.open(self.served / '.tarn/status.json', os.O_RDONLY)  # whole, in one read(2)
            try:
                return json.loads(os.read(fd, 1 << 20))
            finally:
                os.close(fd)
        time.sleep(1.1)  # what was made within the last second is shown again
        return in_child(read)

    def wait_for(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, what + '\n' + self.served.text())
            time.sleep(0.1)

    def says(self, pattern):
        return len([line for line in self.served.text().splitlines() if re.search(pattern, line)])

    def replace_unnoticed(self):
        before = os.stat(self.data + '/a.tar')
        os.rename(self.data + '/a.tar', self.scratch + '/replaced')
        self.write_archive('a.tar', seed=100)
        os.utime(self.data + '/a.tar', ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(os.stat(self.data + '/a.tar').st_size, before.st_size)

    def test_the_scrub_finds_what_was_replaced_unnoticed_and_no_mount_serves_it_after_that(self):
        self.mount_all()
        self.replace_unnoticed()
        self.assertEqual(in_child(self.read_all), {'wrong'}, 'nobody can know yet')
        self.watch()
        self.assertEqual(in_child(self.read_all), {'wrong'}, 'a look does not tell')
        self.watch('--scrub', code=1)
        self.wait_for(lambda: self.says("'a.tar'.*was changed.*chunk 0"), 'the mount does not learn of it')
        self.assertEqual(in_child(self.read_all, True), {'EIO'}, 'nor does the kernel keep a page')
        self.assertEqual(in_child(self.read_all), {'EIO'})
        status = self.status()
        self.assertEqual([(row['path'], row['state']) for row in status['troubled']], [('a.tar', 'changed')])
        self.assertEqual(status['datasets'][0]['watch']['changed'], 1)
        self.assertEqual(self.says('was changed'), 1, self.served.text())

    def test_a_server_that_has_served_nothing_drops_what_the_one_before_it_left_in_the_kernel(self):
        # One connection and two servers are the business of a handover; here it is the verdict that counts.
        self.replace_unnoticed()
        self.watch('--scrub', code=1)
        self.mount_all()
        self.wait_for(lambda: self.says("'a.tar'.*was changed"), 'the mount does not learn of it')
        self.assertEqual(self.status()['archives']['changed'], 1, 'though nobody has asked for it')
        self.assertEqual(in_child(self.read_all), {'EIO'})

    def test_what_the_watch_has_verified_no_mount_checks_again(self):
        os.utime(self.data + '/a.tar')
        self.watch('--scrub')
        self.mount_all()
        self.wait_for(lambda: (self.status()['datasets'][0]['watch'] or {}).get('verified') == 1, 'nothing is learned')
        self.assertEqual(in_child(self.read_all), {'right'})
        self.assertEqual(self.status()['reads']['bytes_checked'], 0)
        self.assertEqual(self.status()['archives']['served'], 1)

    def test_what_is_missing_is_said_before_anybody_asks(self):
        os.rename(self.data + '/b.tar', self.scratch + '/hidden')
        self.watch(code=1)
        self.mount_all()
        self.wait_for(lambda: self.says("'b.tar' is missing, as the watch saw"), 'it is not said')
        self.assertEqual([(row['path'], row['state'], row['seen_by']) for row in self.status()['troubled']],
                         [('b.tar', 'missing', 'watch')])
        self.assertEqual(in_child(self.read_all), {'right'}, 'the others go on')

    def test_a_mount_can_look_for_itself(self):
        os.rename(self.data + '/b.tar', self.scratch + '/hidden')
        os.utime(self.data + '/a.tar')
        self.mount_all('--watch', 'local')
        self.wait_for(lambda: self.says("'b.tar' is missing, as the watch saw"), 'it is not said')
        self.wait_for(lambda: (self.status()['datasets'][0]['watch'] or {}).get('verified') == 1, 'nothing is verified')
        self.assertEqual(in_child(self.read_all), {'right'})
        self.assertEqual(self.status()['reads']['bytes_checked'], 0)
        self.assertFalse(os.path.exists(self.index + '/datasets/set/STATES'), 'a mount writes nothing')


if __name__ == '__main__':
    main()
