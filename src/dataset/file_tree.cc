// dataset/file_tree
