// SharedFile: a file of this machine that processes map and append to together.
//
// What was appended survives the process that did it, killed or not, and is seen by the others at once: it is
// memory. It is no place for what must survive the machine: nothing is synced.
#ifndef TARN_IO_SHARED_FILE_H_
#define TARN_IO_SHARED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tarn/base/result.h"

namespace tarn::io {

class SharedFile {
 public:
  // Opens `path` or makes it, readable by its owner alone. A file with another `magic`, or one that is more
  // than half full (of `most_bytes`), is replaced by an empty one; who has the old one mapped keeps it.
  // kPermissionDenied: the file is somebody else's, or others may write it; its directory must be the
  // caller's own.
  static Result<std::unique_ptr<SharedFile>> Open(const std::string& path, uint64_t magic, size_t most_bytes);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  // What was appended so far, by anybody: grows, never moves. May be written to, with atomic operations where
  // others do.
  std::span<std::byte> contents() const;
  // Appends; gives where it is. `record` is rounded up to 8 bytes, with zeros. kNoSpace: the file or its file
  // system is full. From any thread.
  Result<std::span<std::byte>> Append(std::span<const std::byte> record);

 private:
  SharedFile(int fd, std::byte* memory, size_t most_bytes, std::string path);

  const int fd_;
  std::byte* const memory_;  // most_bytes_ of it, of which the file has what was appended
  const size_t most_bytes_;
  const std::string path_;
};

// Makes a directory, with its parents, for one owner's files that live as long as the machine is up: mode
// 0700. kPermissionDenied when it is there and somebody else's, or others may write it.
Status MakePrivateDirectory(const std::string& path);

}  // namespace tarn::io

#endif  // TARN_IO_SHARED_FILE_H_
