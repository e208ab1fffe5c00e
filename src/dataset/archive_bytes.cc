// dataset/archive_bytes
