#include "tarn/io/buffer_pool.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "tarn/io/random_access_file.h"

namespace tarn::io {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

std::byte* Allocate(size_t size) {
  const size_t alignment = size >= kHugePage ? kHugePage : kDirectAlignment;
  void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  // A wish: without huge pages the buffer works as well.
  if (size >= kHugePage) ::madvise(memory, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

struct BufferPool::Buffer::Kept {
  std::mutex mutex;
  std::map<size_t, std::vector<Memory>> by_size;  // guarded by mutex
};

void BufferPool::Buffer::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

BufferPool::Buffer::Buffer(Memory memory, size_t size, std::weak_ptr<Kept> home)
    : memory_(std::move(memory)), size_(size), home_(std::move(home)) {}

BufferPool::Buffer& BufferPool::Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  memory_ = std::move(other.memory_);
  size_ = other.size_;
  home_ = std::move(other.home_);
  return *this;
}

BufferPool::Buffer::~Buffer() {
  GiveBack();
}

void BufferPool::Buffer::GiveBack() {
  if (memory_ == nullptr) return;
  if (const std::shared_ptr<Kept> home = home_.lock()) {
    const std::lock_guard lock(home->mutex);
    home->by_size[size_].push_back(std::move(memory_));
  }
  memory_.reset();
}

BufferPool::BufferPool() : kept_(std::make_shared<Buffer::Kept>()) {}
BufferPool::~BufferPool() = default;

BufferPool::Buffer BufferPool::Take(size_t size) {
  Buffer::Memory memory;
  {
    const std::lock_guard lock(kept_->mutex);
    auto& same_size = kept_->by_size[size];
    if (!same_size.empty()) {
      memory = std::move(same_size.back());
      same_size.pop_back();
    }
  }
  if (memory == nullptr) memory.reset(Allocate(size));
  return Buffer(std::move(memory), size, kept_);
}

}  // namespace tarn::io
