// StreamReader: one pass, front to back, with several requests on their way at any time.
//
// The file is cut into blocks of read_bytes. Block b lives in slot b modulo the number of slots; as many
// threads as there may be requests take the next block, wait for its slot and read it with an ordinary
// positional read: that keeps `depth` requests in flight on every kind of source, which is what hides the
// latency of a file server. The consumer takes blocks in order, shows each to the observer, and gives out
// windows of it; a window that spans blocks is put together in a bridge buffer.
//
// What is in memory already is read on the consumer's thread, one block after the other: handing a block from
// one thread to another costs more than copying it. The threads read ahead from the first block that is not
// wholly cached until one of them comes upon a block that is.
//
// The page cache belongs to those who train on the archive: with drop_cache a request first finds out which
// pieces of its block are in memory (Cached; where nobody can tell, by reading what is cached at its
// front) and, once the block has been used, drops only the others. The file is read with
// AccessPattern::kRandom then, so that no readahead fills in pages that would later look like somebody
// else's.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/io/forward_reader.h"

namespace tarn::io {
namespace {

// What is in memory is found out down to pieces of this size; a piece is kept whole.
constexpr uint64_t kLeastPiece = uint64_t{64} << 10;

struct Range {
  uint64_t offset;
  uint64_t length;
};

// Appends the pieces of `range` of which the page cache holds nothing. False: nobody can tell.
bool FindUncached(const RandomAccessFile& file, Range range, std::vector<Range>* uncached) {
  const std::optional<CachedPart> part = file.Cached(range.offset, range.length);
  if (!part) return false;
  if (*part == CachedPart::kNone) uncached->push_back(range);
  if (*part != CachedPart::kSome || range.length <= kLeastPiece) return true;
  const uint64_t half = (range.length / 2 + kLeastPiece - 1) / kLeastPiece * kLeastPiece;
  return FindUncached(file, {range.offset, half}, uncached) &&
         (half >= range.length || FindUncached(file, {range.offset + half, range.length - half}, uncached));
}

struct Slot {
  std::unique_ptr<std::byte[]> buffer;  // of a block, made when first used; never zeroed
  size_t bytes = 0;                     // of the block; only the last one is short
  std::vector<Range> brought;           // what was not in memory before, in order
  bool all_cached = false;
  bool ready = false;
  Status status;
};

}  // namespace

class StreamReader::Impl {
 public:
  Impl(const RandomAccessFile* file, uint64_t size, StreamOptions options, Observer observe)
      : file_(file),
        size_(size),
        options_(std::move(options)),
        observe_(std::move(observe)),
        block_bytes_(std::max<size_t>(options_.read_bytes, 1)),
        blocks_((size + block_bytes_ - 1) / block_bytes_) {
    const uint64_t in_flight = std::min<uint64_t>(std::max(options_.depth, 1U), blocks_);
    const bool threaded = in_flight > 1;
    slots_.resize(threaded ? in_flight + 1 : 1);
    file_->Advise(threaded || options_.drop_cache ? AccessPattern::kRandom : AccessPattern::kSequential);
    if (!threaded) return;
    for (uint64_t i = 0; i < in_flight; ++i) threads_.emplace_back([this] { FetchBlocks(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    slot_free_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  uint64_t size() const { return size_; }

  Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) {
    TARN_RETURN_IF_ERROR(failure_);
    if (offset >= size_) return std::span<const std::byte>();
    const uint64_t end = offset + std::min<uint64_t>(at_least, size_ - offset);
    // Inside what the bridge holds and in front of the current block.
    if (bridge_offset_ <= offset && end <= bridge_end() && offset < current_offset()) {
      return Tail(bridge_, offset - bridge_offset_);
    }
    const bool continues_bridge =
        bridge_offset_ <= offset && offset < bridge_end() && offset < current_offset();
    if (!continues_bridge) {
      while (current_.empty() || current_end() <= offset) TARN_RETURN_IF_ERROR(Advance());
      if (end <= current_end()) return Tail(current_, offset - current_offset());
      bridge_.clear();
      bridge_offset_ = offset;
    } else {
      bridge_.erase(bridge_.begin(), bridge_.begin() + static_cast<ptrdiff_t>(offset - bridge_offset_));
      bridge_offset_ = offset;
    }
    while (bridge_end() < end) {
      if (bridge_end() == current_end()) TARN_RETURN_IF_ERROR(Advance());
      const size_t from = static_cast<size_t>(bridge_end() - current_offset());
      const size_t count = static_cast<size_t>(std::min(end, current_end()) - bridge_end());
      const auto piece = current_.subspan(from, count);
      bridge_.insert(bridge_.end(), piece.begin(), piece.end());
    }
    return std::span<const std::byte>(bridge_);
  }

  Status Finish() {
    TARN_RETURN_IF_ERROR(failure_);
    while (current_end() < size_) TARN_RETURN_IF_ERROR(Advance());
    Release();
    return Status::Ok();
  }

 private:
  static std::span<const std::byte> Tail(std::span<const std::byte> bytes, uint64_t from) {
    return bytes.subspan(static_cast<size_t>(from));
  }
  uint64_t bridge_end() const { return bridge_offset_ + bridge_.size(); }
  uint64_t current_offset() const { return current_offset_; }
  uint64_t current_end() const { return current_offset_ + current_.size(); }
  Slot& SlotOf(uint64_t block) { return slots_[static_cast<size_t>(block % slots_.size())]; }

  // Moves on to the next block and shows it to the observer.
  Status Advance() {
    Release();
    Slot& slot = SlotOf(taken_);
    if (threads_.empty()) {
      Fetch(taken_, &slot);
    } else if (!TakeCached(&slot)) {
      std::unique_lock lock(mutex_);
      block_ready_.wait(lock, [&slot] { return slot.ready; });
    }
    holding_ = true;
    if (!slot.status.ok()) {
      failure_ = slot.status;
      return failure_;
    }
    current_ = std::span<const std::byte>(slot.buffer.get(), slot.bytes);
    if (observe_) observe_(current_);
    return Status::Ok();
  }

  // Reads the block to come on this thread when all of it is cached and nobody reads ahead. Otherwise has it
  // read: false. While nobody reads ahead only the consumer moves next_ and sets read_ahead_.
  bool TakeCached(Slot* slot) {
    {
      const std::lock_guard lock(mutex_);
      if (read_ahead_ || next_ != taken_) return false;
    }
    const uint64_t offset = taken_ * block_bytes_;
    const bool cached =
        file_->Cached(offset, std::min<uint64_t>(block_bytes_, size_ - offset)) == CachedPart::kAll;
    {
      const std::lock_guard lock(mutex_);
      if (cached) ++next_;
      read_ahead_ = !cached;
    }
    if (cached) {
      Fetch(taken_, slot, /*known_cached=*/true);
    } else {
      slot_free_.notify_all();
    }
    return cached;
  }

  // Gives the slot of the block in hand back.
  void Release() {
    if (!holding_) return;
    Slot& slot = SlotOf(taken_);
    for (const Range& range : slot.brought) file_->DropCache(range.offset, range.length);
    current_offset_ += current_.size();
    current_ = {};
    holding_ = false;
    bool wanted = false;
    {
      const std::lock_guard lock(mutex_);
      slot.ready = false;
      ++taken_;
      wanted = read_ahead_;
    }
    if (wanted) slot_free_.notify_one();
  }

  void FetchBlocks() {
    std::unique_lock lock(mutex_);
    for (;;) {
      slot_free_.wait(lock, [this] {
        return stopping_ || next_ == blocks_ || (read_ahead_ && next_ - taken_ < slots_.size());
      });
      if (stopping_ || next_ == blocks_) return;
      const uint64_t block = next_++;
      Slot& slot = SlotOf(block);
      lock.unlock();
      Fetch(block, &slot);
      lock.lock();
      slot.ready = true;
      if (slot.all_cached) read_ahead_ = false;
      // Behind a block that cannot be read nothing is wanted any more.
      if (!slot.status.ok()) stopping_ = true;
      block_ready_.notify_one();
      if (stopping_ || next_ == blocks_) slot_free_.notify_all();
    }
  }

  void Fetch(uint64_t block, Slot* slot, bool known_cached = false) {
    const uint64_t offset = block * block_bytes_;
    slot->bytes = static_cast<size_t>(std::min<uint64_t>(block_bytes_, size_ - offset));
    slot->brought.clear();
    slot->all_cached = known_cached || file_->Cached(offset, slot->bytes) == CachedPart::kAll;
    if (!slot->buffer) {
      slot->buffer = std::make_unique_for_overwrite<std::byte[]>(std::min<uint64_t>(block_bytes_, size_));
    }
    slot->status = Read(offset, std::span(slot->buffer.get(), slot->bytes), slot);
  }

  Status Read(uint64_t offset, std::span<std::byte> out, Slot* slot) {
    if (options_.before_read) TARN_RETURN_IF_ERROR(options_.before_read(out.size()));
    if (options_.drop_cache && !slot->all_cached &&
        !FindUncached(*file_, {offset, out.size()}, &slot->brought)) {
      TARN_ASSIGN_OR_RETURN(const size_t cached, file_->ReadCachedAt(offset, out));
      out = out.subspan(cached);
      offset += cached;
      slot->brought.assign(out.empty() ? 0 : 1, Range{offset, out.size()});
    }
    const auto asked = std::chrono::steady_clock::now();
    TARN_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(offset, out));
    if (options_.after_read && !slot->all_cached) {
      options_.after_read(out.size(), std::chrono::steady_clock::now() - asked);
    }
    if (got == out.size()) return Status::Ok();
    return Status(ErrorCode::kChanged, "'" + file_->name() + "' became shorter while it was read: expected " +
                                           std::to_string(size_) + " bytes, it ends at " +
                                           std::to_string(offset + got));
  }

  const RandomAccessFile* const file_;
  const uint64_t size_;
  const StreamOptions options_;
  const Observer observe_;
  const size_t block_bytes_;
  const uint64_t blocks_;

  // Of the consumer alone.
  std::span<const std::byte> current_;  // bytes of block taken_, while holding_
  uint64_t current_offset_ = 0;
  bool holding_ = false;
  std::vector<std::byte> bridge_;  // a window that spans blocks, in front of or reaching into current_
  uint64_t bridge_offset_ = 0;
  Status failure_;

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::condition_variable block_ready_;
  std::vector<Slot> slots_;  // a slot belongs to its reading thread until ready, then to the consumer
  uint64_t taken_ = 0;       // blocks the consumer is done with: the number of the block it has or waits for
  uint64_t next_ = 0;        // block to be fetched next
  bool read_ahead_ = false;  // the threads fetch blocks; else the consumer does
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

StreamReader::StreamReader(const RandomAccessFile* file, uint64_t size, StreamOptions options,
                           Observer observe)
    : impl_(std::make_unique<Impl>(file, size, std::move(options), std::move(observe))) {}

StreamReader::~StreamReader() = default;

Result<std::span<const std::byte>> StreamReader::Window(uint64_t offset, size_t at_least) {
  return impl_->Window(offset, at_least);
}

uint64_t StreamReader::size() const {
  return impl_->size();
}

Status StreamReader::Finish() {
  return impl_->Finish();
}

}  // namespace tarn::io
