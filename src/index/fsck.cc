// fsck
