#include "fuse/errno_map.h"

#include <cerrno>

namespace tarn::fuse {

int ErrnoOf(const Status& status, About about) {
  switch (status.code()) {
    case ErrorCode::kOk:
      return 0;
    case ErrorCode::kInvalidArgument:
      return about == About::kNode ? EINVAL : EIO;
    case ErrorCode::kNotFound:
      return about == About::kNode ? ESTALE : EIO;
    case ErrorCode::kCancelled:
      return EINTR;
    case ErrorCode::kUnsupported:
      return about == About::kNode ? EOPNOTSUPP : EIO;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kIo:
    case ErrorCode::kCorrupt:
    case ErrorCode::kNoSpace:
    case ErrorCode::kChanged:
    case ErrorCode::kTimedOut:
    case ErrorCode::kBusy:
    case ErrorCode::kInternal:
      return EIO;
  }
  return EIO;
}

}  // namespace tarn::fuse
