// io/stream_reader
