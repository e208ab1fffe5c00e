// How attributes go to the kernel, and for how long it may keep them.
#ifndef TARN_FUSE_ENTRY_REPLY_H_
#define TARN_FUSE_ENTRY_REPLY_H_

#include <fuse_lowlevel.h>

#include "fuse/file_system.h"

namespace tarn::fuse {

// A name that is there; for how many seconds the kernel may keep it.
inline fuse_entry_param ToEntry(const FileSystem& file_system, const dataset::Attributes& attributes,
                                double keep_name) {
  fuse_entry_param entry{};
  entry.ino = file_system.InodeOf(attributes.node);
  entry.attr = ToStat(attributes);
  entry.attr_timeout = file_system.AttributeTimeout(attributes.node);
  entry.entry_timeout = keep_name;
  return entry;
}

// A name that is not there, and will not be.
inline fuse_entry_param NoEntry() {
  fuse_entry_param entry{};
  entry.entry_timeout = kForever;
  return entry;
}

}  // namespace tarn::fuse

#endif  // TARN_FUSE_ENTRY_REPLY_H_
