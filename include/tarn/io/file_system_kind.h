// What kind of file system a path is on: whether its bytes come over a network, which may hang or be gone.
#ifndef TARN_IO_FILE_SYSTEM_KIND_H_
#define TARN_IO_FILE_SYSTEM_KIND_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::io {

// Whether a file system with statfs(2)'s f_type `magic` is a network's. `name` is its type as the mount table
// has it ("nfs4", "fuse.sshfs"; empty when that is not known) and decides for FUSE alone, whose servers may
// be anything: those are a network's but for the few that are known to show local disks.
bool IsNetworkFileSystem(uint64_t magic, std::string_view name);

// Whether `path` is on one.
Result<bool> IsOnNetworkFileSystem(const std::string& path);

}  // namespace tarn::io

#endif  // TARN_IO_FILE_SYSTEM_KIND_H_
