// fsck_archive
