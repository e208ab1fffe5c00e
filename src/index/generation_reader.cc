// index/generation_reader
