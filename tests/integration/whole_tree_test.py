"""Whole trees through a mount are those that `tar -x` makes: names, bytes, sizes, modes, times, owners, link targets,
hard links. With the data on a read-only bind mount; with ls, find, du and cp; and without a trace in the data.

TARN_TEST_ARCHIVES and TARN_TEST_MEMBERS (of all archives together) say how much; the defaults are small, and 100
archives of 200,000 members is what a release is held against.
"""
import hashlib
import os
import random
import shutil
import stat

import mounts

ARCHIVES = int(os.environ.get('TARN_TEST_ARCHIVES', '6'))
MEMBERS = int(os.environ.get('TARN_TEST_MEMBERS', '1500'))
DEADLINE = 60 + MEMBERS // 500
FORMATS = ('gnu', 'posix', 'ustar', 'oldgnu')


def make_tree(root, count, chance):
    """About `count` things: files of all sizes, links of both kinds, directories, fifos, odd names, owners, times."""
    os.mkdir(root)
    directories, files = [root], []
    for number in range(count):
        parent = chance.choice(directories)
        path = f'{parent}/{chance.choice("abcxyz")}{number}' + chance.choice(('', '.jpg', ' with blank', '\u00fc', "'"))
        kind = chance.random()
        if kind < 0.08 and len(parent) - len(root) < 45:
            os.mkdir(path)
            directories.append(path)
        elif kind < 0.13 and files:
            os.link(chance.choice(files), path)
        elif kind < 0.18:
            os.symlink(chance.choice(('nowhere', '../up', os.path.basename(chance.choice(files or ['x'])))), path)
        elif kind < 0.19:
            os.mkfifo(path)
        else:
            with open(path, 'wb') as file:
                file.write(chance.randbytes(chance.choice((0, 1, 511, 512, 513, 4096, chance.randrange(20000)))))
            files.append(path)
        os.chown(path, chance.choice((0, 1000, 65534)), chance.choice((0, 100, 1000)), follow_symlinks=False)
        if not os.path.islink(path):
            os.chmod(path, chance.choice((0o644, 0o600, 0o755, 0o444, 0o700)))
        os.utime(path, ns=(10 ** 18, chance.randrange(10 ** 18, 2 * 10 ** 18)), follow_symlinks=False)


def facts(root, modes=0o555):
    """{path: everything that a reader can see of it}, link counts as the tree itself bears them out."""
    found, inodes = {}, {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files]:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            relative = os.path.relpath(path, root)
            fact = {'type': stat.S_IFMT(status.st_mode), 'uid': status.st_uid, 'gid': status.st_gid,
                    'mtime': status.st_mtime_ns}
            if stat.S_ISLNK(status.st_mode):
                fact['target'] = os.readlink(path)
            else:
                fact['mode'] = stat.S_IMODE(status.st_mode) & modes
            if stat.S_ISREG(status.st_mode):
                with open(path, 'rb') as file:
                    data = file.read()
                fact.update(size=status.st_size, read=len(data), digest=hashlib.md5(data).hexdigest())
            if not stat.S_ISDIR(status.st_mode):
                fact['links'] = status.st_nlink
                inodes.setdefault(status.st_ino, []).append(relative)
            found[relative] = fact
    for names in inodes.values():
        for name in names:
            found[name]['same as'] = sorted(names)
    return found


def listing(root):
    """Everything about the files of a directory that a writer would leave a trace in."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in ['.', *names, *files]:
            status = os.lstat(os.path.join(directory, name))
            found[os.path.join(directory, name)] = (status.st_size, status.st_mtime_ns, status.st_ctime_ns,
                                                    status.st_ino, status.st_mode, status.st_nlink)
    return found


class WholeTreeTest(mounts.TestCase):
    def setUp(self):
        super().setUp()
        chance = random.Random(20261130)
        os.mkdir(self.data + '/train')
        for number in range(ARCHIVES):
            tree = f'{self.scratch}/tree{number}'
            make_tree(tree, MEMBERS // ARCHIVES, chance)
            kind = FORMATS[number % len(FORMATS)]
            mounts.run('tar', f'--format={kind}', '-C', tree, '-cf', f'{self.data}/train/{number}-{kind}.tar', '.',
                       timeout=DEADLINE)
            shutil.rmtree(tree)
        with open(self.data + '/labels.csv', 'w', encoding='utf-8') as file:
            file.write('name,label\n' * 1000)

    def archives(self):
        return sorted(name[:-4] for name in os.listdir(self.data + '/train') if name.endswith('.tar'))

    def extracted(self, archive):
        target = f'{self.scratch}/extracted-{archive}'
        os.mkdir(target)
        mounts.run('tar', '-xpf', f'{self.data}/train/{archive}.tar', '--same-owner', '-C', target, timeout=DEADLINE)
        self.addCleanup(shutil.rmtree, target, ignore_errors=True)
        return target

    def compare(self, mount):
        for archive in self.archives():
            with self.subTest(archive=archive):
                expected = facts(self.extracted(archive))
                found = mounts.in_child(facts, f'{mount.path}/train/{archive}', deadline=DEADLINE)
                self.assertEqual(sorted(found), sorted(expected))
                for path, fact in expected.items():
                    self.assertEqual(found[path], fact, path)
        with open(self.data + '/labels.csv', 'rb') as file:
            expected = file.read()

        def loose():
            with open(mount / 'labels.csv', 'rb') as shown:
                return shown.read()
        self.assertEqual(mounts.in_child(loose), expected)

    def test_every_member_is_what_tar_extracts(self):
        self.publish()
        self.compare(self.mount('--access', 'member'))

    def test_the_same_over_chunk_checks_and_with_data_on_a_read_only_mount(self):
        mounts.run('mount', '--bind', self.data, self.data)
        self.addCleanup(mounts.run, 'umount', '-l', self.data, check=False)
        mounts.run('mount', '-o', 'remount,bind,ro', self.data)
        with self.assertRaises(OSError):
            os.mkdir(self.data + '/writable')
        self.publish()
        self.compare(self.mount('--access', 'member', '--verify', 'chunk'))

    def test_nothing_in_the_data_changes(self):
        before = listing(self.data)
        self.publish()
        index_before = listing(self.index)
        mount = self.mount('--access', 'member')
        mounts.in_child(facts, mount.path, deadline=DEADLINE)
        mount.close()
        self.assertEqual(listing(self.data), before)
        self.assertEqual(listing(self.index), index_before)

    def test_inode_numbers_are_the_same_in_other_servers_and_generations(self):
        def inodes(path):
            return {os.path.relpath(os.path.join(d, f), path): os.lstat(os.path.join(d, f)).st_ino
                    for d, _, files in os.walk(path) for f in files}
        first = self.publish()
        one = mounts.in_child(inodes, self.mount(name='one').path, deadline=DEADLINE)
        two = mounts.in_child(inodes, self.mount(name='two').path, deadline=DEADLINE)
        self.assertEqual(one, two)
        make_tree(self.scratch + '/more', 20, random.Random(7))
        mounts.run('tar', '-C', self.scratch + '/more', '-cf', self.data + '/train/0-first-of-all.tar', '.')
        second = self.publish()
        self.assertNotEqual(first['digest'], second['digest'])
        later = mounts.in_child(inodes, self.mount(name='later').path, deadline=DEADLINE)
        self.assertGreater(len(later), len(one))
        self.assertEqual({path: later[path] for path in one}, one)
        # The generation that was there before is there still, under its number.
        again = mounts.in_child(inodes, self.mount(name='again', dataset='set@1').path, deadline=DEADLINE)
        self.assertEqual(again, one)

    def test_ls_find_du_and_cp_behave(self):
        self.publish()
        mount = self.mount('--access', 'member')
        archive = self.archives()[0]
        shown, extracted = f'{mount.path}/train/{archive}', self.extracted(archive)
        env = {**os.environ, 'LC_ALL': 'C', 'TZ': 'UTC'}

        def of(path, *command):
            return mounts.run(*command, cwd=path, env=env, timeout=DEADLINE).stdout.splitlines()
        names = ['find', '.', '-mindepth', '1', '-printf', '%P %y %s %l %U %G %T@ %n\\n']
        files = [*names[:-2], '!', '-type', 'd', *names[-2:]]
        self.assertEqual(sorted(of(shown, *files)), sorted(of(extracted, *files)))
        # Everything that ls -la says but write bits; how wide its columns are follows from the directories.
        shown_rows, extracted_rows = [sorted(' '.join(row.split()).replace('w', '-')
                                             for row in of(path, 'ls', '-lanR', '--time-style=full-iso')
                                             if row[:1] in ('-', 'l', 'p')) for path in (shown, extracted)]
        self.assertEqual(shown_rows, extracted_rows)
        # du counts what has several names once.
        shown_bytes, extracted_bytes = [
            sum(int(size) for size, name in (row.split(maxsplit=1) for row in of(path, 'du', '-ab'))
                if not os.path.isdir(f'{extracted}/{name}')) for path in (shown, extracted)]
        self.assertEqual(shown_bytes, extracted_bytes)
        self.assertGreater(extracted_bytes, 0)
        copy = self.scratch + '/copy'
        mounts.run('cp', '-a', shown, copy, timeout=DEADLINE)
        self.assertEqual(facts(copy), facts(extracted))
        self.assertIn('tarn:set@1', mounts.run('df', mount.path).stdout)


if __name__ == '__main__':
    mounts.main()
