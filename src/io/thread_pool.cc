// io/thread_pool
