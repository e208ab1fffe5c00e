"""Datasets and mounts for the integration tests: a private mount namespace, children with deadlines, servers
that end with their test.

A mount that hangs must fail a test and not the machine, so whatever touches one runs in a child: in_child().
"""
import ctypes
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

BIN = os.environ.get('TARN_BIN', '')
DEADLINE = 60
CANNOT_MOUNT = 77


def why_no_mounts():
    """Why no mount can be made here, or None."""
    if os.geteuid() != 0:
        return 'tests of mounts need root'
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as error:
        return f'cannot open /dev/fuse: {error.strerror}'
    return None


def main():
    """unittest.main() in a mount namespace of its own: what is mounted here is gone with this process."""
    why = why_no_mounts()
    if why:
        print('skipped:', why)
        sys.exit(CANNOT_MOUNT)
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 1 << 18
    if libc.unshare(clone_newns) != 0 or libc.mount(None, b'/', None, ms_rec | ms_private, None) != 0:
        print('skipped: no mount namespace:', os.strerror(ctypes.get_errno()))
        sys.exit(CANNOT_MOUNT)
    os.umask(0o022)
    unittest.main(verbosity=2)


def run(*args, check=True, timeout=DEADLINE, **more):
    """Runs a program; its output as text. With check, fails loudly."""
    done = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, check=False, errors='surrogateescape', **more)
    if check and done.returncode != 0:
        raise AssertionError(f'{args} gave {done.returncode}:\n{done.stdout}{done.stderr}')
    return done


def in_child(function, *args, user=None, group=None, groups=(), deadline=DEADLINE):
    """What function(*args) returns (or raises, as text), from a forked child, as another user if one is named."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        try:
            if user is not None:
                os.setgroups(list(groups))
                os.setgid(group)
                os.setuid(user)
            answer = (True, function(*args))
        except BaseException:  # whatever it is, the parent tells it
            answer = (False, traceback.format_exc())
        with os.fdopen(write_end, 'wb') as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write_end)

    def expired(*_):
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f'no answer within {deadline} s')
    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(deadline)
    try:
        with os.fdopen(read_end, 'rb') as pipe:
            data = pipe.read()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        os.waitpid(pid, 0)
    if not data:
        raise AssertionError('the child ended without an answer')
    good, value = pickle.loads(data)
    if not good:
        raise AssertionError(value)
    return value


def is_mounted(path):
    with open('/proc/self/mountinfo', encoding='utf-8', errors='surrogateescape') as table:
        return any(f' {path} ' in row and ' - fuse.tarn ' in row for row in table)


class Mount:
    """A server in the foreground on `path`; answers when the constructor returns."""

    def __init__(self, path, *options):
        self.path = str(path)
        os.makedirs(self.path, exist_ok=True)
        self.log = open(self.path + '.log', 'w+', encoding='utf-8', errors='surrogateescape')
        start = time.monotonic()
        if '--runtime-dir' not in options:  # nothing is left on the machine
            options += ('--runtime-dir', self.path + '.run')
        self.server = subprocess.Popen([f'{BIN}/tarn-mount', self.path, '--foreground', *map(str, options)],
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            while not is_mounted(self.path):
                if self.server.poll() is not None or time.monotonic() > start + DEADLINE:
                    raise AssertionError('tarn-mount: ' + self.text())
                time.sleep(0.002)
            in_child(os.stat, self.path)
        except BaseException:
            self.close()
            raise
        self.seconds = time.monotonic() - start

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def __truediv__(self, name):
        return self.path + '/' + name

    def close(self):
        if self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(20)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        if is_mounted(self.path):
            run('umount', '-l', self.path, check=False)
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TestCase(unittest.TestCase):
    """A directory of the test's own: data, index, mnt."""

    def setUp(self):
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix='tarn-mount-test-'))
        os.chmod(self.scratch, 0o755)
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.data = self.scratch + '/data'
        self.index = self.scratch + '/index'
        os.mkdir(self.data)

    def publish(self, *options, data=None, name='set', timeout=600):
        """Publishes; what tarn-index reports."""
        done = run(f'{BIN}/tarn-index', 'publish', data or self.data, '--name', name, '--index', self.index, '--settle',
                   '0', '--json', *options, timeout=timeout)
        return json.loads(done.stdout)

    def mount(self, *options, name='mnt', dataset='set', source=None):
        mount = Mount(f'{self.scratch}/{name}', '--index', self.index, '--source', source or self.scratch, '--dataset',
                      dataset, *options)
        self.addCleanup(mount.close)
        return mount
