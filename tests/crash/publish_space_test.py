"""Full disks, quotas, file systems that lack a call, and archives that one may not read: what is published stays whole,
the message says what is missing and what helps, and with space the same command goes on where it stopped. Needs root for
its mounts; what cannot be tried here is skipped with the reason.
"""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import publishing

NOBODY = 65534
AS_NOBODY = ('setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups')


@unittest.skipUnless(os.geteuid() == 0, 'needs root: mounts a small file system, and reads as another user')
class PublishSpaceTest(publishing.Publishing):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix='tarn-space-', dir=publishing.fast_directory())
        cls.addClassCleanup(shutil.rmtree, cls.made)
        publishing.make_archive(f'{cls.made}/small.tar', 1)
        for number in range(6):
            # Many members and few bytes: the index is what takes the space.
            publishing.make_archive(f'{cls.made}/large/{number}.tar', 10 + number, members=3000, member_bytes=8)

    def setUp(self):
        super().setUp()
        os.chmod(self.work, 0o755)
        shutil.copytree(self.made, self.data)
        os.chmod(self.data, 0o755)
        time.sleep(0.3)
        self.index_volume = os.path.join(self.work, 'volume')
        self.index = os.path.join(self.index_volume, 'ix')
        os.mkdir(self.index_volume)

    def mount(self, options):
        run = subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tarn-test', self.index_volume],
                             stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            self.skipTest(f'no tmpfs with {options} here: {run.stderr.strip()}')
        self.addCleanup(subprocess.run, ['umount', '-l', self.index_volume], check=False)

    def fill(self, leave):
        """Takes all space of the volume but `leave` bytes."""
        status = os.statvfs(self.index_volume)
        path = os.path.join(self.index_volume, 'filler')
        with open(path, 'wb') as file:
            file.write(b'x' * max(0, status.f_bavail * status.f_frsize - leave))
        return path

    def publish_in_vain(self, before=()):
        run = subprocess.run([*before, *self.command(self.index, '--jobs', '1')], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=publishing.DEADLINE, check=False)
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        self.assertIn(self.index, run.stderr)
        self.assertIn('run the same command again', run.stderr)
        return run.stderr

    def fill_and_publish_in_vain(self, leave):
        """Publishes into `leave` bytes; gives whether a write failed, and not already the look at what is free."""
        filler = self.fill(leave)
        error = self.publish_in_vain()
        self.assertEqual(self.generations(self.index), [1])
        self.assert_readable(self.index, 'img', 'small.tar')
        self.assert_whole(self.index)
        os.unlink(filler)
        if 'nothing was read yet' in error:
            self.assertRegex(error, r'(?s)needs about .*, and index root .* has .* free.*tarn-index gc')
            return False
        self.assertIn('No space left on device', error)
        self.assertIn(' is full (', error)
        return True

    def test_disk_full(self):
        """At several sizes, so that another write is the first that fails: of staging, a bundle, the generation."""
        self.mount('size=16m')
        self.publish(self.index, '--exclude', 'large')
        failed = []
        for leave in (0, 4096, 32768, 120_000, 180_000, 220_000):
            with self.subTest(leave=leave):
                failed.append(self.fill_and_publish_in_vain(leave))
        self.assertIn(False, failed)
        self.assertIn(True, failed)
        complete = publishing.journaled(self.index, 'img').keys()
        unread = [f'large/{n}.tar' for n in range(6) if f'large/{n}.tar' not in complete]
        # Every archive is done, the generation is not: the kill leaves that.
        run = subprocess.run(self.command(self.index), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, 'TARN_KILL_POINT': 'rows-built'}, timeout=publishing.DEADLINE,
                             check=False)
        self.assertEqual(run.returncode, -signal.SIGKILL)
        self.assertLess(len(unread), 6, 'no archive was indexed while there was room for some')
        for leave in (12288, 20480):
            with self.subTest(generation_in=leave):
                self.assertTrue(self.fill_and_publish_in_vain(leave))
        report = self.publish(self.index)
        self.assertEqual((report['reference'], report['bytes_read']), ('img@2', 0))
        self.assert_readable(self.index, 'img', 'large/5.tar')
        self.assert_clean(self.index)
        self.assert_whole(self.index)

    def test_over_quota(self):
        """A file server says so when bytes are synced, after it took them: each sync in turn is the first to fail."""
        strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync,syncfs']
        if not shutil.which('strace') or subprocess.run([*strace, 'true'], stderr=subprocess.DEVNULL,
                                                        check=False).returncode != 0:
            self.skipTest('strace is not there, or may not trace')
        self.publish(self.index, '--exclude', 'large')
        for first in (1, 2, 4, 7, 11, 16):
            with self.subTest(first=first):
                inject = f'inject=fsync,fdatasync,syncfs:error=EDQUOT:when={first}+'
                error = self.publish_in_vain(before=[*strace, '-e', inject])
                self.assertIn('is over quota', error)
                self.assertIn('Disk quota exceeded', error)
                self.assertEqual(self.generations(self.index), [1])
                self.assert_readable(self.index, 'img', 'small.tar')
        self.assertEqual(self.publish(self.index)['reference'], 'img@2')
        self.assert_clean(self.index)

    def test_file_systems_and_kernels_that_lack_a_call(self):
        """Hard links, renames that replace nothing, paths resolved below a directory, reads that do not wait."""
        strace = ['strace', '-f', '-qq', '-o', os.path.join(self.work, 'trace')]
        if not shutil.which('strace') or subprocess.run([*strace, 'true'], stderr=subprocess.DEVNULL,
                                                        check=False).returncode != 0:
            self.skipTest('strace is not there, or may not trace')
        digest = self.publish(os.path.join(self.work, 'ix-with-all'))['digest']
        for calls, error in (('link,linkat', 'EPERM'), ('link,linkat', 'EOPNOTSUPP'), ('renameat2', 'EINVAL'),
                             ('openat2', 'ENOSYS'), ('preadv2', 'EOPNOTSUPP')):
            with self.subTest(calls=calls, error=error):
                index = os.path.join(self.work, f'ix-{calls}-{error}')
                before = [*strace, '-e', f'trace={calls}', '-e', f'inject={calls}:error={error}']
                self.assertEqual(self.publish(index, before=before)['digest'], digest)
                with open(os.path.join(self.work, 'trace'), encoding='utf-8', errors='replace') as trace:
                    injected = 'INJECTED' in trace.read()
                if calls == 'preadv2' and not injected:
                    self.skipTest('this kernel tells what is cached (cachestat): nothing is read without waiting')
                self.assertTrue(injected, 'the call is not used')
                self.assert_readable(index, 'img', 'large/2.tar')
                self.assertFalse(self.publish(index, before=before)['published'])

    def test_an_archive_that_may_not_be_read_is_left_out_by_name(self):
        os.chmod(f'{self.data}/large/3.tar', 0o600)
        os.chmod(self.index_volume, 0o777)
        report = self.publish(self.index, code=1, before=AS_NOBODY)
        self.assertEqual([(one['path'], one['code']) for one in report['left_out']],
                         [('large/3.tar', 'permission_denied')])
        self.assertEqual(report['archives'], 6)
        os.chmod(f'{self.data}/large/3.tar', 0o644)
        again = self.publish(self.index, before=AS_NOBODY)
        self.assertEqual((again['archives'], again['files_read']), (7, 1))

    def test_a_directory_that_may_not_be_listed_is_left_out_by_name(self):
        os.chmod(f'{self.data}/large', 0o700)
        os.chmod(self.index_volume, 0o777)
        report = self.publish(self.index, code=1, before=AS_NOBODY)
        self.assertEqual([one['path'] for one in report['left_out']], ['large'])
        self.assertEqual(report['archives'], 1)

    def test_an_index_root_on_a_read_only_volume_is_an_error_that_names_it(self):
        self.mount('size=16m')
        self.publish(self.index, '--exclude', 'large')
        subprocess.run(['mount', '-o', 'remount,ro', self.index_volume], check=True)
        run = subprocess.run(self.command(self.index), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=publishing.DEADLINE, check=False)
        self.assertEqual(run.returncode, 3)
        self.assertIn('Read-only file system', run.stderr)
        self.assertIn(self.index, run.stderr)
        self.assert_readable(self.index, 'img', 'small.tar')


if __name__ == '__main__':
    unittest.main(verbosity=2)
