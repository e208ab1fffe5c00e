// io/forward_reader
