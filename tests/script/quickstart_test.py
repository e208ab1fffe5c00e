"""Quickstart test: script/quickstart goes through, wherever it is run and by whomever, and goes through again.

Takes the programs of a build as they are and installs nothing. Everything happens in a scratch directory with blanks
in its name, and every mount is taken away at the end. Exit code 77: this machine has no FUSE.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

EQUAL = 'byte for byte'
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all']
NO_MOUNTS = ['setpriv', '--inh-caps=-sys_admin', '--bounding-set=-sys_admin']


class Quickstart:
    """A copy of the scripts and programs that anybody may run, and a state directory of its own."""

    def __init__(self, scratch, root, bin_directory):
        os.chmod(scratch, 0o777)
        self.scratch, self.state = scratch, os.path.join(scratch, 'state of mine')
        self.script = shutil.copytree(os.path.join(root, 'script'), os.path.join(scratch, 'script'))
        self.bin = os.path.join(scratch, 'programs')
        os.mkdir(self.bin)
        for name in ('tarn', 'tarn-index', 'tarn-mount'):
            os.symlink(os.path.join(bin_directory, name), os.path.join(self.bin, name))

    def run(self, *arguments, through=(), expected=0):
        command = [*through, os.path.join(self.script, 'quickstart'), '--no-install', '--bin', self.bin,
                   '--state', self.state, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, errors='replace', timeout=240, check=False, env={**os.environ, 'HOME': self.scratch})
        if done.returncode != expected:
            sys.exit(f'{command}: exit code {done.returncode}, expected {expected}\n{done.stdout}')
        return done.stdout

    def copy_programs(self):
        """For users who may not look into the build directory."""
        for name in os.listdir(self.bin):
            target = os.path.realpath(os.path.join(self.bin, name))
            os.unlink(os.path.join(self.bin, name))
            shutil.copy(target, os.path.join(self.bin, name))

    def mounts(self):
        with open('/proc/self/mountinfo', encoding='utf-8', errors='surrogateescape') as f:
            points = [row.split()[4].replace('\\040', ' ') for row in f]
        return [p for p in points if p.startswith(self.scratch + '/')]

    def unmount(self):
        for point in self.mounts():
            if subprocess.run(['umount', point], check=False).returncode:
                subprocess.run(['umount', '--lazy', point], check=False)


def expect(what, holds, text):
    if not holds:
        sys.exit(f'{what}: not so in\n{text}')
    print(f'ok: {what}')


def makes_a_dataset(tour):
    text = tour.run()
    mountpoint = os.path.join(tour.state, 'mnt')
    expect('mounted', tour.mounts() == [mountpoint], text)
    expect('compared', EQUAL in text, text)
    expect('says how to unmount', f'unmount {mountpoint}' in text.replace('\\ ', ' '), text)
    with open(os.path.join(mountpoint, 'README.txt'), encoding='utf-8') as f:
        expect('loose files are there', 'script/quickstart' in f.read(), text)
    text = tour.run()
    expect('again', EQUAL in text and tour.mounts() == [mountpoint], text)


def takes_names(tour):
    dataset, mountpoint = os.path.join(tour.scratch, "my data's (ümlaut)"), os.path.join(tour.scratch, 'mount here')
    members = os.path.join(tour.scratch, 'members')
    os.makedirs(dataset), os.makedirs(os.path.join(members, 'a dir'))
    for name in ('a dir/one file', 'two'):
        with open(os.path.join(members, name), 'w', encoding='utf-8') as f:
            f.write(name * 1000)
    subprocess.run(['tar', '-C', members, '-cf', os.path.join(dataset, 'shard 1.tar'), '.'], check=True)
    os.utime(os.path.join(dataset, 'shard 1.tar'), (1e9, 1e9))
    text = tour.run(dataset, mountpoint)
    expect('mounted', tour.mounts() == [mountpoint], text)
    expect('shown', os.path.isfile(os.path.join(mountpoint, 'shard 1', 'a dir', 'one file')), text)


def goes_without_fuse(tour):
    text = tour.run(through=NO_MOUNTS)
    expect('says why', 'CAP_SYS_ADMIN' in text, text)
    expect('compared all the same', EQUAL in text and ' cat ' in text, text)
    expect('nothing is mounted', not tour.mounts(), text)


def serves_a_user(tour):
    if os.stat('/dev/fuse').st_mode & 0o006 != 0o006:
        print('[  SKIPPED ] /dev/fuse is not open to users here (chmod 0666 /dev/fuse)')
        return 77
    tour.copy_programs()
    text = tour.run(through=NOBODY)
    mountpoint = os.path.join(tour.state, 'mnt')
    expect('mounted', tour.mounts() == [mountpoint], text)
    subprocess.run([*NOBODY, os.path.join(tour.bin, 'tarn-mount'), 'unmount', mountpoint], check=True)
    expect('unmounted', not tour.mounts(), text)
    return 0


def leaves_other_mounts_alone(tour):
    mountpoint = os.path.join(tour.scratch, 'other')
    os.mkdir(mountpoint)
    subprocess.run(['mount', '-t', 'tmpfs', 'none', mountpoint], check=True)
    os.mkdir(tour.state)
    text = tour.run('/usr/share/perl', mountpoint, expected=3)
    expect('says so', 'something else is mounted' in text, text)


CASES = {f.__name__: f for f in (makes_a_dataset, takes_names, goes_without_fuse, serves_a_user,
                                 leaves_other_mounts_alone)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    parser.add_argument('--bin', required=True)
    parser.add_argument('case', choices=CASES)
    arguments = parser.parse_args()
    if not os.path.exists('/dev/fuse') or os.geteuid() != 0:
        print('[  SKIPPED ] needs root and /dev/fuse')
        return 77
    with tempfile.TemporaryDirectory(prefix='tarn quickstart ') as scratch:
        tour = Quickstart(scratch, os.path.abspath(arguments.root), os.path.abspath(arguments.bin))
        try:
            return CASES[arguments.case](tour) or 0
        finally:
            tour.unmount()


if __name__ == '__main__':
    sys.exit(main())
