"""Who may read what: with the default access a member is as readable as its archive, by owner, group and others;
with --access=member as the tar says; with --access=open by everyone. Users and groups need no accounts."""
import itertools
import os
import stat
import tarfile

import mounts

OWNER, OTHER, GROUP, OTHER_GROUP = 40001, 40002, 50001, 50002
# name: (user, group, further groups)
PEOPLE = {
    'owner': (OWNER, OTHER_GROUP, ()),
    'member of the group': (OTHER, GROUP, ()),
    'member by a further group': (OTHER, OTHER_GROUP, (GROUP,)),
    'somebody else': (OTHER, OTHER_GROUP, ()),
    'root': (0, 0, ()),
}
ARCHIVE_MODES = (0o644, 0o640, 0o600, 0o604, 0o440, 0o040, 0o004)
MEMBER_MODES = (0o600, 0o644, 0o755, 0o640, 0o6755)
MEMBER_OWNER, MEMBER_GROUP = 41000, 51000


def can_read(path):
    try:
        with open(path, 'rb') as file:
            file.read()
        return True
    except PermissionError:
        return False


def can_list(path):
    try:
        return bool(os.listdir(path))
    except PermissionError:
        return False


def everyone(function, path):
    return {who: mounts.in_child(function, path, user=user, group=group, groups=groups)
            for who, (user, group, groups) in PEOPLE.items()}


class AccessTest(mounts.TestCase):
    def setUp(self):
        super().setUp()
        self.source = self.scratch + '/plain'
        os.mkdir(self.source)
        for mode in MEMBER_MODES:
            path = f'{self.source}/m{mode:o}'
            with open(path, 'wb') as file:
                file.write(b'member')
            os.chown(path, MEMBER_OWNER, MEMBER_GROUP)
            os.chmod(path, mode)
        os.mkdir(self.source + '/dir', 0o700)
        with open(self.source + '/dir/inner', 'wb') as file:
            file.write(b'inner')
        for mode in ARCHIVE_MODES:
            archive = f'{self.data}/a{mode:o}.tar'
            mounts.run('tar', '-C', self.source, '-cf', archive, '.')
            os.chown(archive, OWNER, GROUP)
            os.chmod(archive, mode)
        # Loose files are as readable as they are.
        with open(self.data + '/loose', 'wb') as file:
            file.write(b'loose')
        os.chown(self.data + '/loose', OWNER, GROUP)
        os.chmod(self.data + '/loose', 0o640)
        self.publish()

    def test_whoever_may_read_the_archive_may_read_its_members(self):
        mount = self.mount()
        for mode in ARCHIVE_MODES:
            allowed = everyone(can_read, f'{self.data}/a{mode:o}.tar')
            self.assertTrue(allowed['root'])
            for member in [f'm{m:o}' for m in MEMBER_MODES] + ['dir/inner']:
                with self.subTest(archive=oct(mode), member=member):
                    self.assertEqual(everyone(can_read, f'{mount.path}/a{mode:o}/{member}'), allowed)
            with self.subTest(archive=oct(mode), directory=True):
                self.assertEqual(everyone(can_list, f'{mount.path}/a{mode:o}/dir'), allowed)
        self.assertEqual(everyone(can_read, mount / 'loose'), everyone(can_read, self.data + '/loose'))

    def test_execute_bits_are_the_members_and_nothing_is_ever_setuid_or_writable(self):
        for access in ('archive', 'member', 'open'):
            mount = self.mount('--access', access, name='mnt-' + access)
            for mode, member in itertools.product(ARCHIVE_MODES, MEMBER_MODES):
                shown = mounts.in_child(os.stat, f'{mount.path}/a{mode:o}/m{member:o}').st_mode
                self.assertEqual(shown & (stat.S_ISUID | stat.S_ISGID | 0o222), 0, (access, oct(mode), oct(member)))
                self.assertEqual(shown & 0o111 != 0, member & 0o111 != 0, (access, oct(mode), oct(member)))

    def test_member_access_is_what_the_tar_says(self):
        mount = self.mount('--access', 'member')
        for member in MEMBER_MODES:
            shown = mounts.in_child(os.stat, f'{mount.path}/a600/m{member:o}')
            self.assertEqual((shown.st_uid, shown.st_gid), (MEMBER_OWNER, MEMBER_GROUP))
            self.assertEqual(stat.S_IMODE(shown.st_mode), member & 0o555)

    def test_open_access_is_for_everyone(self):
        mount = self.mount('--access', 'open')
        for mode in ARCHIVE_MODES:
            self.assertEqual(set(everyone(can_read, f'{mount.path}/a{mode:o}/dir/inner').values()), {True}, oct(mode))

    def test_owner_group_and_umask_can_be_set(self):
        mount = self.mount('--access', 'open', '--uid', OWNER, '--gid', GROUP, '--umask', '027')
        for path in (mount / 'a644/m644', mount / 'a644', mount.path):
            shown = mounts.in_child(os.stat, path)
            self.assertEqual((shown.st_uid, shown.st_gid), (OWNER, GROUP), path)
            self.assertEqual(shown.st_mode & 0o027, 0, path)
        self.assertEqual(everyone(can_read, mount / 'a644/m644'), {
            'owner': True, 'member of the group': True, 'member by a further group': True, 'somebody else': False,
            'root': True})

    def test_devices_and_fifos_are_shown_and_no_device_works(self):
        with tarfile.open(self.data + '/special.tar', 'w') as archive:
            for kind, name in ((tarfile.CHRTYPE, 'null'), (tarfile.BLKTYPE, 'disk'), (tarfile.FIFOTYPE, 'fifo')):
                item = tarfile.TarInfo(name)
                item.type, item.devmajor, item.devminor, item.mode = kind, 1, 3, 0o666
                archive.addfile(item)
        self.publish()
        mount = self.mount()

        def look():
            found = {name: stat.S_IFMT(os.lstat(f'{mount.path}/special/{name}').st_mode)
                     for name in ('null', 'disk', 'fifo')}
            with self.assertRaises(PermissionError):
                os.open(mount / 'special/null', os.O_RDONLY)
            return found
        self.assertEqual(mounts.in_child(look), {'null': stat.S_IFCHR, 'disk': stat.S_IFBLK, 'fifo': stat.S_IFIFO})

    def test_a_mount_without_allow_other_is_its_users_alone(self):
        mount = self.mount('--no-allow-other')
        seen = everyone(can_list, mount.path)
        self.assertEqual({who for who, can in seen.items() if can}, {'root'})


if __name__ == '__main__':
    mounts.main()
