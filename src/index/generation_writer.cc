// index/generation_writer
