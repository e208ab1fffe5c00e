// Server: one mount from start to end. Reads as a list: open what is to be served, mount, attach, see that
// the mount answers, say so, serve until told to stop, unmount.
#ifndef TARN_FUSE_SERVER_H_
#define TARN_FUSE_SERVER_H_

#include "fuse/daemon.h"
#include "fuse/options.h"
#include "tarn/base/status.h"

namespace tarn::fuse {

// Serves `command` until SIGINT, SIGTERM or an unmount by others ends it. Ok: it was ready, and the mount is
// gone. Otherwise what kept it from starting; nothing is left mounted then.
Status Serve(const MountCommand& command, Readiness& readiness);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_SERVER_H_
