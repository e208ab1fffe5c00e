// io/sorter
