// io/path_source
