// ForwardReader: the bytes of one file, in rising order, a window at a time.
//
// The header walk, the digest and the chunk checksums share one pass over an archive. What they share is
// this: the walk asks for the window it needs next and the reader decides how the bytes get here. Two readers
// exist: WindowReader skips what nobody asks for (headers only: `tarn walk`), StreamReader reads everything
// in large requests, several in flight, and shows each block to an observer first (publish: digests).
#ifndef TARN_IO_FORWARD_READER_H_
#define TARN_IO_FORWARD_READER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/io/buffer_pool.h"
#include "tarn/io/random_access_file.h"

namespace tarn::io {

class ForwardReader {
 public:
  virtual ~ForwardReader() = default;

  // The bytes from `offset` on: at least `at_least` of them, fewer only where the file ends (an empty span at
  // or beyond the end). Usually more than asked for. The span is valid until the next call. `offset` must not
  // be less than in the call before. One thread at a time.
  virtual Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) = 0;

  // Size of the file in bytes when the reader was made; bytes beyond it are not given.
  virtual uint64_t size() const = 0;
};

// Reads windows of `window_bytes` at a time, nothing in between. `file` must outlive the reader. Small
// windows are right when only headers are wanted and members are large: a window that would mostly be data is
// cut to what was asked for after a long skip. A file found shorter than `size` is kChanged.
class WindowReader final : public ForwardReader {
 public:
  WindowReader(const RandomAccessFile* file, uint64_t size, size_t window_bytes = size_t{256} << 10);
  ~WindowReader() override;

  Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) override;
  uint64_t size() const override { return size_; }

 private:
  const RandomAccessFile* const file_;
  const uint64_t size_;
  const size_t window_bytes_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_offset_ = 0;
  size_t buffer_bytes_ = 0;
  uint64_t asked_end_ = 0;  // end of what was asked for last
};

// The bytes of memory; for tests and fuzzers. `bytes` must outlive the reader.
class MemoryReader final : public ForwardReader {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) override;
  uint64_t size() const override { return bytes_.size(); }

 private:
  const std::span<const std::byte> bytes_;
};

struct StreamOptions {
  size_t read_bytes =
      size_t{1} << 20;     // one request; larger hides more latency and costs depth x as much memory
  unsigned depth = 4;      // requests in flight; 1 reads on the calling thread
  bool drop_cache = true;  // leave the page cache as it was: pages brought in are given back behind the pass
  // Called before each request with its bytes, may wait (rate limits); an error ends the pass. With a depth
  // above 1 it is called from several threads at the same time.
  std::function<Status(size_t bytes)> before_read = {};
  // Called behind each request that the source had to answer, not the page cache, with how long it took.
  std::function<void(size_t bytes, std::chrono::nanoseconds took)> after_read = {};
  // Where the blocks' memory comes from, for readers that follow one another; without, each has its own.
  std::shared_ptr<BufferPool> buffers = {};
};

// Reads the whole file once, front to back. `observe` sees every byte exactly once, in order, before a window
// that holds it is given out; Finish() reads what no window asked for. Memory: (depth + 1) x read_bytes.
class StreamReader final : public ForwardReader {
 public:
  using Observer = std::function<void(std::span<const std::byte>)>;

  // `file` must outlive the reader. `size`: bytes to read; a file found shorter ends the pass with kChanged.
  // `observe` may be empty.
  StreamReader(const RandomAccessFile* file, uint64_t size, StreamOptions options, Observer observe);
  ~StreamReader() override;

  Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) override;
  uint64_t size() const override;

  // Reads to the end. Call once, after the last Window.
  Status Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::io

#endif  // TARN_IO_FORWARD_READER_H_
