// The one wrapper around every operation: it times, catches, maps a Status to its errno, and sees to it that
// each request is answered exactly once.
//
//     void ReadLink(fuse_req_t request, fuse_ino_t inode) {
//       Answer(request, Operation::kReadlink, [&](const FileSystem& fs, Reply& reply) -> Status {
//         TARN_ASSIGN_OR_RETURN(const std::string target, fs.ReadLink(fs.NodeOf(inode)));
//         reply.Link(target);
//         return Status::Ok();
//       });
//     }
//
// The body either answers through `reply` and returns ok, or returns the Status to answer with.
#ifndef TARN_FUSE_OP_GUARD_H_
#define TARN_FUSE_OP_GUARD_H_

#include <fuse_lowlevel.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fuse/errno_map.h"
#include "fuse/file_system.h"
#include "fuse/operation.h"
#include "fuse/request_slot.h"
#include "fuse/session.h"
#include "fuse/source_gate.h"
#include "tarn/base/status.h"

namespace tarn::fuse {

// What libfuse carries along as the session's user data.
struct Served {
  const FileSystem* file_system = nullptr;
  NegotiatedRecord* record = nullptr;  // filled in by INIT
  Status init_status;                  // why INIT was refused
  Session* session = nullptr;
  SourceGate* gate = nullptr;  // null: sources are not bounded
};

inline Served* ServedOf(fuse_req_t request) {
  return static_cast<Served*>(fuse_req_userdata(request));
}

// The answer to one request. Each function answers it; the first counts, a second would be a defect. When
// somebody else was faster (the deadline), nothing is sent: `request` may be gone by then.
class Reply {
 public:
  explicit Reply(fuse_req_t request) : request_(request) {}
  Reply(fuse_req_t request, RequestSlot* slot, uint64_t ticket)
      : request_(request), slot_(slot), ticket_(ticket) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  bool answered() const { return request_ == nullptr; }
  // Somebody else has answered.
  bool lost() const { return lost_; }
  // Takes the request away from everybody, to be answered later; null when somebody else was faster.
  fuse_req_t Keep() { return Take(); }

  void Error(int error_number) {
    if (fuse_req_t request = Take()) fuse_reply_err(request, error_number);
  }
  // Done, and nothing to say.
  void Done() { Error(0); }
  // FORGET has no answer.
  void None() {
    if (fuse_req_t request = Take()) fuse_reply_none(request);
  }
  void Entry(const fuse_entry_param& entry) {
    if (fuse_req_t request = Take()) fuse_reply_entry(request, &entry);
  }
  void Attributes(const struct stat& status, double timeout) {
    if (fuse_req_t request = Take()) fuse_reply_attr(request, &status, timeout);
  }
  void Link(const std::string& target) {
    if (fuse_req_t request = Take()) fuse_reply_readlink(request, target.c_str());
  }
  void Bytes(std::span<const std::byte> bytes) {
    Text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  void Text(std::string_view text) {
    if (fuse_req_t request = Take()) fuse_reply_buf(request, text.data(), text.size());
  }
  void XattrSize(size_t size) {
    if (fuse_req_t request = Take()) fuse_reply_xattr(request, size);
  }
  void FileSystemStatus(const struct statvfs& status) {
    if (fuse_req_t request = Take()) fuse_reply_statfs(request, &status);
  }
  void Offset(off_t offset) {
    if (fuse_req_t request = Take()) fuse_reply_lseek(request, offset);
  }
  void Poll(unsigned events) {
    if (fuse_req_t request = Take()) fuse_reply_poll(request, events);
  }

 private:
  fuse_req_t Take() {
    fuse_req_t request = std::exchange(request_, nullptr);
    if (request == nullptr || slot_ == nullptr || slot_->Claim(ticket_)) return request;
    lost_ = true;
    return nullptr;
  }

  fuse_req_t request_;
  RequestSlot* slot_ = nullptr;
  uint64_t ticket_ = 0;
  bool lost_ = false;
};

// Logs an operation that failed for a reason the reader's errno does not tell; bounded per second, so that a
// dead source cannot flood the log, and what was left out is counted.
void LogFailure(Operation operation, uint64_t inode, const Status& status);

// Sets aside what a source let not in. It is answered later, from the start.
void GiveWay(const Served& served, Operation operation, uint64_t inode, RequestSlot* slot, Reply* reply);

template <typename Body>
Status RunGuarded(Body&& body, const FileSystem& file_system, Reply& reply) {
  try {
    return body(file_system, reply);
  } catch (const std::exception& error) {
    return Status(ErrorCode::kInternal, std::string("exception: ") + error.what());
  } catch (...) {
    return Status(ErrorCode::kInternal, "unknown exception");
  }
}

// `inode` names the node in the log; `about` says how a failure is told to the reader.
template <typename Body>
void Answer(fuse_req_t request, Operation operation, uint64_t inode, About about, Body&& body) {
  const Served* served = ServedOf(request);
  if (MayEnterSource(operation)) served->session->KeepOneWaiting();
  RequestSlot& slot = RequestSlot::OfThisThread();
  Reply reply(request, &slot, slot.Begin(request, operation, inode));
  Status status = RunGuarded(std::forward<Body>(body), *served->file_system, reply);
  if (!reply.answered() && slot.refused_by() != RequestSlot::kNoSource && status.code() == ErrorCode::kBusy) {
    GiveWay(*served, operation, inode, &slot, &reply);
    return;
  }
  if (status.ok() && !reply.answered()) status = Status(ErrorCode::kInternal, "the operation gave no answer");
  if (!reply.answered()) reply.Error(ErrnoOf(status, about));
  if (reply.lost()) return;  // counted and logged by whoever answered
  CountOperation(operation, RequestSlot::Clock::now() - slot.arrived(), !status.ok());
  if (!status.ok()) LogFailure(operation, inode, status);
}

template <typename Body>
void Answer(fuse_req_t request, Operation operation, uint64_t inode, Body&& body) {
  Answer(request, operation, inode, About::kNode, std::forward<Body>(body));
}

// The same for operations whose answer is fixed.
inline void AnswerFixed(fuse_req_t request, Operation operation, int error_number) {
  Answer(request, operation, 0, [error_number](const FileSystem&, Reply& reply) {
    reply.Error(error_number);
    return Status::Ok();
  });
}

}  // namespace tarn::fuse

#endif  // TARN_FUSE_OP_GUARD_H_
