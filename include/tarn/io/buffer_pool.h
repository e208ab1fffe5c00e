// BufferPool: memory for reads, kept for the next reader. The first touch of a page costs more than filling
// it does: a pass over many archives that took fresh memory for each would spend most of its time in page
// faults. Large buffers are made of huge pages where the system has them: a request into one is then a single
// piece of memory for the device, too.
#ifndef TARN_IO_BUFFER_POOL_H_
#define TARN_IO_BUFFER_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tarn::io {

class BufferPool {
 public:
  // Bytes of unspecified content, at an address fit for direct reads. Goes back to its pool when it ends, or
  // is freed if the pool has ended.
  class Buffer {
   public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept = default;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    explicit operator bool() const { return memory_ != nullptr; }
    std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

   private:
    friend class BufferPool;
    struct Free {
      void operator()(std::byte* memory) const;
    };
    using Memory = std::unique_ptr<std::byte, Free>;
    struct Kept;
    Buffer(Memory memory, size_t size, std::weak_ptr<Kept> home);
    void GiveBack();

    Memory memory_;
    size_t size_ = 0;
    std::weak_ptr<Kept> home_;
  };

  BufferPool();
  ~BufferPool();

  // One of `size` bytes: the one of that size that was given back last, else a new one. Any thread.
  Buffer Take(size_t size);

 private:
  std::shared_ptr<Buffer::Kept> kept_;
};

}  // namespace tarn::io

#endif  // TARN_IO_BUFFER_POOL_H_
