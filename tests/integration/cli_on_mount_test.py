"""tarn ls, stat and cat give the same answers about a path of a mount as straight from the index."""
import json
import os
import subprocess

import mounts

# What both know of a file or directory. A mount's owners and modes follow --access=member here, as the index view's do.
COMMON = ('type', 'mode', 'size', 'blocks', 'links', 'uid', 'gid', 'mtime', 'mtime_ns', 'node', 'dataset', 'generation',
          'archive_id', 'xattrs')


class CliOnMountTest(mounts.TestCase):
    def setUp(self):
        super().setUp()
        files = self.scratch + '/files'
        os.makedirs(files + '/dir/sub')
        for name, contents in (('a.txt', b'first\n'), ('empty', b''), ('large', os.urandom(1 << 20) * 2 + b'end'),
                               ('dir/b\udcff\n.bin', b'odd name'), ('dir/sub/c', b'third')):
            with open(f'{files}/{name}', 'wb') as file:
                file.write(contents)
        os.symlink('dir/sub/c', files + '/link')
        os.link(files + '/a.txt', files + '/hard')
        os.mkdir(self.data + '/train')
        for dialect in ('gnu', 'pax'):
            mounts.run('tar', '-cf', f'{self.data}/train/{dialect}.tar', f'--format={dialect}', '-C', files, '.')
        with open(self.data + '/labels.csv', 'w', encoding='ascii') as file:
            file.write('1,2,3\n')
        self.publish()
        self.tree = self.mount('--access', 'member')

    def tarn(self, *args):
        """Standard output of tarn, as bytes."""
        command = [f'{mounts.BIN}/tarn', *args]
        if not args[-1].startswith('/'):
            command += ['--index', self.index, '--source', self.scratch]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=mounts.DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, f'{command}: {done.stderr}')
        return done.stdout

    def test_both_ways_of_asking_agree(self):
        listing = self.tarn('ls', '-R', '--null', 'set:')
        self.assertEqual(listing, self.tarn('ls', '-R', '--null', self.tree.path))
        names = [os.fsdecode(name) for name in listing.split(b'\0')[:-1]]
        self.assertEqual(len(names), 3 + 1 + 2 * 9)
        read = 0
        for name in names:
            of_index = json.loads(self.tarn('stat', '--json', 'set:' + name))
            of_mount = json.loads(self.tarn('stat', '--json', self.tree / name))
            # Linux gives user.* attributes of files and directories only (xattr(7)).
            hidden = ('archive_id', 'xattrs') if of_index['type'] == 'sym' else ()
            for fact in COMMON:
                if fact in hidden:
                    continue
                self.assertEqual(of_index.get(fact), of_mount.get(fact), f'{fact} of {name}')
            if of_index['type'] == 'reg':
                self.assertEqual(self.tarn('cat', 'set:' + name), self.tarn('cat', self.tree / name), name)
                read += 1
            if 'ordinal' in of_mount:
                self.assertEqual(of_index['ordinal'], of_mount['ordinal'], name)
        self.assertEqual(read, 1 + 2 * 6)

    def test_links_are_followed_on_a_mount_too(self):
        self.assertEqual(self.tarn('cat', self.tree / 'train/gnu/link'), b'third')


if __name__ == '__main__':
    mounts.main()
