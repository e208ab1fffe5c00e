// io/random_access_file
