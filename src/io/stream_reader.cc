// StreamReader: one pass, front to back, with several requests on their way at any time.
//
// The file is cut into blocks of read_bytes. Block b lives in slot b modulo the number of slots; as many
// threads as there may be requests take the next block, wait for its slot and read it with an ordinary
// positional read: that keeps `depth` requests in flight on every kind of source, which is what hides the
// latency of a file server. The consumer takes blocks in order, shows each to the observer, and gives out
// windows of it; a window that spans blocks is put together in a bridge buffer.
//
// What is in memory already is read on the consumer's thread, one block after the other into the same buffer,
// and shown to the observer in pieces that the processor's caches still hold: handing a block from one thread
// to another, or fetching it from memory again, costs more than copying it. The threads read ahead from the
// first block that is not wholly cached until one of them comes upon a block that is.
//
// The page cache belongs to those who train on the archive: with drop_cache a block of which nothing is
// cached is read past the cache, where the source can do that. Of any other a request first finds out which
// pieces are in memory (Cached; where nobody can tell, by reading what is cached at its front) and, once the
// block has been used, drops only the others. The file is read with AccessPattern::kRandom then, so that no
// readahead fills in pages that would later look like somebody else's.
#include <algorithm>
#include <atomic>
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

// What is copied from the page cache before the observer sees it: fits the second-level cache of a core.
constexpr size_t kCachedPiece = size_t{128} << 10;

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
  BufferPool::Buffer buffer;   // of a block, taken when first used
  size_t bytes = 0;            // of the block; only the last one is short
  std::vector<Range> brought;  // what was not in memory before, in order
  bool all_cached = false;
  bool uncached = false;  // all of it
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
    if (options_.buffers == nullptr) options_.buffers = std::make_shared<BufferPool>();
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
  static size_t RoundUp(size_t bytes) {
    return (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
  }
  BufferPool::Buffer TakeBuffer() const { return options_.buffers->Take(RoundUp(block_bytes_)); }
  uint64_t OffsetOf(uint64_t block) const { return block * block_bytes_; }
  size_t BytesOf(uint64_t block) const {
    return static_cast<size_t>(std::min<uint64_t>(block_bytes_, size_ - OffsetOf(block)));
  }
  Slot& SlotOf(uint64_t block) { return slots_[static_cast<size_t>(block % slots_.size())]; }

  // Moves on to the next block and shows it to the observer.
  Status Advance() {
    Release();
    Slot& slot = SlotOf(taken_);
    bool observed = false;
    if (TakesCached()) {
      FetchCached(taken_, &slot);
      observed = true;
    } else if (threads_.empty()) {
      Fetch(taken_, &slot);
    } else {
      std::unique_lock lock(mutex_);
      block_ready_.wait(lock, [&slot] { return slot.ready; });
    }
    holding_ = true;
    if (!slot.status.ok()) {
      failure_ = slot.status;
      return failure_;
    }
    current_ = slot.buffer.bytes().first(slot.bytes);
    if (observe_ && !observed) observe_(current_);
    return Status::Ok();
  }

  // Whether the block to come is to be read on this thread because all of it is cached and nobody reads
  // ahead. Otherwise the threads are set to it. While nobody reads ahead only the consumer moves next_ and
  // sets read_ahead_.
  bool TakesCached() {
    {
      const std::lock_guard lock(mutex_);
      if (read_ahead_ || next_ != taken_) return false;
    }
    const bool cached = file_->Cached(OffsetOf(taken_), BytesOf(taken_)) == CachedPart::kAll;
    if (threads_.empty()) return cached;
    {
      const std::lock_guard lock(mutex_);
      if (cached) ++next_;
      read_ahead_ = !cached;
    }
    if (!cached) {
      spare_ = {};  // for one of the threads
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
    if (slot.all_cached) spare_ = std::move(slot.buffer);
    {
      const std::lock_guard lock(mutex_);
      slot.ready = false;
      ++taken_;
      wanted = read_ahead_;
      if (threads_.empty()) next_ = taken_;
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

  void Fetch(uint64_t block, Slot* slot) {
    const uint64_t offset = OffsetOf(block);
    slot->bytes = BytesOf(block);
    slot->brought.clear();
    const std::optional<CachedPart> cached = file_->Cached(offset, slot->bytes);
    slot->all_cached = cached == CachedPart::kAll;
    slot->uncached = cached == CachedPart::kNone;
    if (!slot->buffer) slot->buffer = TakeBuffer();
    slot->status = Read(offset, slot->buffer.bytes().first(slot->bytes), slot);
  }

  // The same of a block that is cached, shown to the observer as it comes.
  void FetchCached(uint64_t block, Slot* slot) {
    slot->bytes = BytesOf(block);
    slot->brought.clear();
    slot->all_cached = true;
    slot->buffer = spare_ ? std::move(spare_) : TakeBuffer();
    slot->status = options_.before_read ? options_.before_read(slot->bytes) : Status::Ok();
    const std::span<std::byte> bytes = slot->buffer.bytes().first(slot->bytes);
    for (size_t done = 0; done < bytes.size() && slot->status.ok(); done += kCachedPiece) {
      const std::span<std::byte> piece = bytes.subspan(done, std::min(kCachedPiece, bytes.size() - done));
      slot->status = ReadPiece(OffsetOf(block) + done, piece);
      if (slot->status.ok() && observe_) observe_(piece);
    }
  }

  Status Read(uint64_t offset, std::span<std::byte> out, Slot* slot) {
    if (options_.before_read) TARN_RETURN_IF_ERROR(options_.before_read(out.size()));
    const auto asked = std::chrono::steady_clock::now();
    TARN_ASSIGN_OR_RETURN(const bool direct, ReadDirect(offset, slot));
    if (direct) {
      if (options_.after_read) options_.after_read(out.size(), std::chrono::steady_clock::now() - asked);
      return Status::Ok();
    }
    if (options_.drop_cache && !slot->all_cached &&
        !FindUncached(*file_, {offset, out.size()}, &slot->brought)) {
      TARN_ASSIGN_OR_RETURN(const size_t cached, file_->ReadCachedAt(offset, out));
      out = out.subspan(cached);
      offset += cached;
      slot->brought.assign(out.empty() ? 0 : 1, Range{offset, out.size()});
    }
    TARN_RETURN_IF_ERROR(ReadPiece(offset, out));
    if (options_.after_read && !slot->all_cached) {
      options_.after_read(out.size(), std::chrono::steady_clock::now() - asked);
    }
    return Status::Ok();
  }

  // Reads a block of which nothing is cached past the cache: nothing has to be given back, and no page of the
  // kernel's has to be found, filled and copied. False: it has to be read the other way.
  Result<bool> ReadDirect(uint64_t offset, Slot* slot) {
    if (!slot->uncached || !options_.drop_cache || offset % kDirectAlignment != 0 || !direct_works_.load()) {
      return false;
    }
    const std::span<std::byte> out = slot->buffer.bytes().first(RoundUp(slot->bytes));
    const Result<size_t> got = file_->ReadDirectAt(offset, out);
    if (got.code() == ErrorCode::kUnsupported) {
      direct_works_.store(false);
      return false;
    }
    TARN_RETURN_IF_ERROR(got.status());
    TARN_RETURN_IF_ERROR(CheckLength(offset, *got, slot->bytes));
    return true;
  }

  Status ReadPiece(uint64_t offset, std::span<std::byte> out) const {
    TARN_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(offset, out));
    return CheckLength(offset, got, out.size());
  }

  Status CheckLength(uint64_t offset, size_t got, size_t wanted) const {
    if (got >= wanted) return Status::Ok();
    return Status(ErrorCode::kChanged, "'" + file_->name() + "' became shorter while it was read: expected " +
                                           std::to_string(size_) + " bytes, it ends at " +
                                           std::to_string(offset + got));
  }

  const RandomAccessFile* const file_;
  const uint64_t size_;
  StreamOptions options_;  // never changed after construction
  const Observer observe_;
  const size_t block_bytes_;
  const uint64_t blocks_;

  // Of the consumer alone.
  std::span<const std::byte> current_;  // bytes of block taken_, while holding_
  uint64_t current_offset_ = 0;
  bool holding_ = false;
  BufferPool::Buffer spare_;       // of the cached block before
  std::vector<std::byte> bridge_;  // a window that spans blocks, in front of or reaching into current_
  uint64_t bridge_offset_ = 0;
  Status failure_;

  std::atomic<bool> direct_works_{true};

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
