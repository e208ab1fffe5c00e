// index/index_root
