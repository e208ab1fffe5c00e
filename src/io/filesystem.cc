// io/filesystem
