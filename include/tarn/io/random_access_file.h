// RandomAccessFile and Source: where bytes come from, behind one contract (DESIGN section 8).
//
// A source is a tree of files that somebody else owns: a directory of a mounted file system, later a URL.
// Tarn only ever reads it. Every implementation keeps the promises below; a conformance suite holds each
// against them.
#ifndef TARN_IO_RANDOM_ACCESS_FILE_H_
#define TARN_IO_RANDOM_ACCESS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::io {

// What stat says of a file that tells whether it is still the one that was published. Hints, never proof. The
// device number is left out on purpose: NFS makes one up per mount.
struct FileIdentity {
  uint64_t size = 0;     // bytes
  int64_t mtime_ns = 0;  // nanoseconds since 1970-01-01 UTC
  int64_t ctime_ns = 0;
  uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

// Who may read the file; used for --access=archive, no part of its identity.
struct FileAccess {
  uint32_t mode = 0;  // permission bits, 07777
  uint32_t uid = 0;
  uint32_t gid = 0;

  bool operator==(const FileAccess&) const = default;
};

enum class FileType : uint8_t { kRegular, kDirectory, kSymlink, kOther };

struct FileStat {
  FileType type = FileType::kRegular;
  FileIdentity identity;
  FileAccess access;
};

enum class AccessPattern : uint8_t {
  kRandom,      // exactly the bytes asked for: the system reads nothing ahead
  kSequential,  // front to back: the system reads ahead
};

// How much of a range is in the page cache.
enum class CachedPart : uint8_t { kNone, kSome, kAll };

// What offsets, sizes and memory of direct reads are multiples of, in bytes. Devices ask for 512 or 4096.
inline constexpr size_t kDirectAlignment = 4096;

// One open file. All functions may be called from any thread at the same time. The destructor closes.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // Reads into `out` from `offset` on. Gives the number of bytes read: out.size(), or fewer only at the end
  // of the file. Never returns bytes it did not read; interrupted and short reads are continued inside.
  virtual Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;

  // How much of [offset, offset + length) the page cache holds. Nothing: nobody can tell.
  virtual std::optional<CachedPart> Cached(uint64_t offset, uint64_t length) const;

  // Reads what is in memory already, without waiting: gives the bytes from `offset` on up to the first that
  // is not, 0 when there are none or nobody can tell. Whoever wants to leave a cache as it was drops the
  // rest.
  virtual Result<size_t> ReadCachedAt(uint64_t offset, std::span<std::byte> out) const;

  // The same as ReadAt, past the page cache: nothing is brought into it. `offset`, the address of `out` and
  // its size are multiples of kDirectAlignment. kUnsupported: this file has to be read with ReadAt.
  virtual Result<size_t> ReadDirectAt(uint64_t offset, std::span<std::byte> out) const;

  // The same as ReadAt without waiting: `done` is called exactly once, from any thread, possibly before this
  // returns. `out` belongs to the file until then. The default reads on the calling thread.
  virtual void ReadAtAsync(uint64_t offset, std::span<std::byte> out,
                           std::function<void(Result<size_t>)> done) const;

  // Looks at the open file (fstat): a replaced path does not show here, a truncated or rewritten file does.
  virtual Result<FileStat> Stat() const = 0;

  // What the system knows of the file already: asks no server, never waits. On a network file system that is
  // what came with the last answer, a read's included: whoever compares it after a read learns of most
  // changes that the read may have seen. Nothing: nobody can tell.
  virtual std::optional<FileIdentity> KnownIdentity() const;

  // Says how the file will be read. No effect on what is read.
  virtual void Advise(AccessPattern pattern) const;
  // Says that [offset, offset + length) will be read soon: the system may begin to bring it into its cache.
  // Does not wait for it, and no failure is told.
  virtual void Prefetch(uint64_t offset, uint64_t length) const;
  // Says that the pages of [offset, offset + length) will not be needed again; 0 length means to the end.
  virtual void DropCache(uint64_t offset, uint64_t length) const;

  // The file's name for messages: a path or a URL.
  virtual const std::string& name() const = 0;
};

// One thing in a directory.
struct DirectoryItem {
  std::string name;
  FileType type;
};

// A tree of files. Paths are relative to the source's root, components separated by '/', no "." or ".."; the
// empty path is the root itself. All functions may be called from any thread.
class Source {
 public:
  virtual ~Source() = default;

  // Opens for reading only; nothing about the file is changed. kNotFound when it is not there. Symbolic links
  // are followed as long as they stay below the root; kPermissionDenied when one leaves it.
  virtual Result<std::unique_ptr<RandomAccessFile>> Open(std::string_view path) const = 0;

  // As stat(2), following links below the root.
  virtual Result<FileStat> Stat(std::string_view path) const = 0;

  // What the directory holds, without "." and "..", in no particular order. The type is the item's own: links
  // are not followed.
  virtual Result<std::vector<DirectoryItem>> List(std::string_view path) const = 0;

  // The root for messages: a path or a URL.
  virtual const std::string& name() const = 0;
};

// The source that `spec` names: the path of a directory. kNotFound when it is not there, kInvalidArgument
// when it is no directory.
Result<std::shared_ptr<Source>> OpenSource(std::string_view spec);

// Opens one file by its path on this machine, for reading only: for command-line arguments.
Result<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path);

}  // namespace tarn::io

#endif  // TARN_IO_RANDOM_ACCESS_FILE_H_
