// Session: answers the requests of one FUSE connection, given its descriptor.
//
// It does not mount and does not unmount: it attaches to a descriptor that somebody else mounted and keeps.
// The receive loop is our own, not libfuse's: workers block in read(2) on the one descriptor, each with a
// buffer of its own that is there before the request is (a request must be able to land in memory that
// outlives this process), and hand what they read to libfuse to decode. Workers that have started stay: ones
// that come and go cost 2-5 times. No cloned descriptors (their requests die with the process), no splice.
//
// Whenever the last worker that waits for requests is about to enter a source, which may be slow, another
// worker is started first, up to a bound: metadata and cached reads go on while a file server hangs. What one
// source can hold of them, and what becomes of requests that it holds too long, is in source_gate.h.
#ifndef TARN_FUSE_SESSION_H_
#define TARN_FUSE_SESSION_H_

#include <chrono>
#include <memory>

#include "fuse/file_system.h"
#include "fuse/negotiated.h"
#include "fuse/source_gate.h"
#include "tarn/base/result.h"
#include "tarn/dataset/node_id.h"

namespace tarn::fuse {

struct SessionOptions {
  unsigned initial_workers = 4;
  unsigned max_workers = 128;  // each costs two buffers of 128 KiB and a stack, as far as they are used
  // How long a request waits for a source before it is answered EIO; 0: for ever. Less than what a file
  // server needs to come back fails reads that would have been answered.
  std::chrono::milliseconds deadline{300'000};
};

class Session {
 public:
  // Attaches to `fd`, a mounted /dev/fuse descriptor that the caller keeps open as long as the session lives,
  // and answers INIT: waits for the kernel to send it. `record` holds what shapes answers and is completed
  // with what INIT settles. kUnsupported: the kernel is too old for the protocol Tarn needs.
  // `gate`, which must outlive the session, bounds how many workers a source holds; null: nothing does.
  static Result<std::unique_ptr<Session>> Attach(int fd, const FileSystem* file_system,
                                                 NegotiatedRecord record, const SessionOptions& options,
                                                 SourceGate* gate = nullptr);
  // Stop()s.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const NegotiatedRecord& negotiated() const;

  // Starts the workers.
  void Start();
  // A descriptor that becomes readable when the connection has ended: unmounted, or aborted.
  int ended_fd() const;
  // The workers finish what they are at and leave; the connection stays, and what the kernel asks from then
  // on waits for a successor. Returns when all have left or `patience` has passed; gives how many have not.
  unsigned Stop(std::chrono::milliseconds patience);

  unsigned workers() const;

  // Makes the kernel forget the pages and attributes that it keeps of a file. Waits for reads of these pages
  // that are under way: never on a thread that serves.
  void Forget(dataset::NodeId file);

  // Called by operations before they ask a source: see above.
  void KeepOneWaiting();

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_SESSION_H_
