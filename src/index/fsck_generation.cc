// fsck_generation
