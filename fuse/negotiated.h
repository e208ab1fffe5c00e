// What this connection's kernel and server have agreed on, written down whole.
//
// The kernel asks once (INIT) and holds us to the answer for the life of the mount. A server that takes a
// connection over has to give the same answers, so everything that shapes one is in this record, and nothing
// is decided elsewhere: a successor compares records and refuses, with the reason, when they differ.
#ifndef TARN_FUSE_NEGOTIATED_H_
#define TARN_FUSE_NEGOTIATED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/file_tree.h"

namespace tarn::fuse {

// Bytes of the largest READ and of the readahead window. The kernel reads files through windows of this size,
// and a larger one gained nothing; it bounds the memory of a worker.
inline constexpr uint32_t kMaxRead = 128 << 10;
inline constexpr uint32_t kMaxReadahead = 128 << 10;
// Nothing is ever written, but requests are read into buffers of this size (and a page), and the kernel
// derives from it how many pages a READ may have.
inline constexpr uint32_t kMaxWrite = 128 << 10;
// Shared by all files of the mount: a small value lets readers of one hung source block those of all others.
inline constexpr uint32_t kMaxBackground = 4096;
inline constexpr uint32_t kCongestionThreshold = kMaxBackground * 3 / 4;
// Nanoseconds between two timestamps.
inline constexpr uint32_t kTimeGranularity = 1;

struct NegotiatedRecord {
  // What shapes answers.
  std::string root_uuid;  // of the index root
  std::string dataset;    // "imagenet@7"
  dataset::FileTreeOptions tree;
  dataset::VerifyMode verify = dataset::VerifyMode::kStat;
  // Operations answered with ENOSYS, which the kernel then never asks again. The same in every version.
  // (libfuse 3.14 answers FUSE_STATX so as well: there are no birth times.)
  std::vector<std::string> not_asked = {"open", "opendir", "flush"};

  // What INIT settled.
  std::vector<std::byte> init_request;  // as the kernel sent it, for a successor to replay
  uint32_t protocol_major = 0;
  uint32_t protocol_minor = 0;
  uint32_t kernel_offers = 0;  // FUSE_CAP_* bits
  uint32_t flags = 0;          // FUSE_CAP_* bits that were asked for
  uint32_t max_read = 0;
  uint32_t max_write = 0;
  uint32_t max_readahead = 0;
  uint32_t max_background = 0;
  uint32_t congestion_threshold = 0;
  uint32_t time_granularity = 0;

  // One line for the log.
  std::string ToString() const;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_NEGOTIATED_H_
