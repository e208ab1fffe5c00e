// How libfuse talks to the /dev/fuse descriptor: read(2) and writev(2), but for the answer to INIT.
//
// libfuse 3.14 loses FUSE_PARALLEL_DIROPS on the way: it is asked for and never sent. The kernel then looks
// up and lists one name of a directory at a time, so that a lookup that waits for a source stops every other
// one in that directory, and readers of one directory queue for each other. It is put in where it is missing.
#ifndef TARN_FUSE_CONNECTION_IO_H_
#define TARN_FUSE_CONNECTION_IO_H_

#include <fuse_lowlevel.h>

#include <cstdint>

#include "tarn/base/status.h"

namespace tarn::fuse {

// Makes `session` use `fd`, which it closes at its end.
Status UseConnection(fuse_session* session, int fd);

// While it exists, what the calling thread sends is the answer to INIT; `wanted`: FUSE_CAP_* bits that were
// asked for, known only when it is sent.
class AnsweringInit {
 public:
  explicit AnsweringInit(const uint32_t* wanted);
  ~AnsweringInit();
  AnsweringInit(const AnsweringInit&) = delete;
  AnsweringInit& operator=(const AnsweringInit&) = delete;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_CONNECTION_IO_H_
