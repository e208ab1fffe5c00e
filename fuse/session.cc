#include "fuse/session.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "fuse/connection_io.h"
#include "fuse/deadline.h"
#include "fuse/op_guard.h"
#include "fuse/ops.h"
#include "fuse/unique_fd.h"
#include "tarn/base/log.h"

namespace tarn::fuse {
namespace {

// Makes a blocked read(2) of the worker that gets it return EINTR, and does nothing else.
constexpr int kWakeSignal = SIGUSR1;

// What the kernel may send at most: kMaxWrite and the headers.
constexpr size_t kRequestBytes = kMaxWrite + 4096;

// Memory a request is read into: pages of its own.
class RequestBuffer {
 public:
  RequestBuffer()
      : memory_(mmap(nullptr, kRequestBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~RequestBuffer() { munmap(memory_, kRequestBytes); }
  RequestBuffer(const RequestBuffer&) = delete;
  RequestBuffer& operator=(const RequestBuffer&) = delete;
  void* memory() const { return memory_; }

 private:
  void* memory_;
};

enum class Received : uint8_t { kRequest, kAgain, kEnded };

// Waits for one request. kAgain: woken without one.
Received Receive(int fd, const RequestBuffer& buffer, size_t* size) {
  const ssize_t got = read(fd, buffer.memory(), kRequestBytes);
  if (got >= 0) {
    *size = static_cast<size_t>(got);
    return Received::kRequest;
  }
  // ENOENT: the request was interrupted before it was handed over.
  if (errno == EINTR || errno == EAGAIN || errno == ENOENT) return Received::kAgain;
  if (errno != ENODEV && errno != ECONNABORTED) {
    Log(LogLevel::kError, Status::FromErrno(errno, "cannot read from /dev/fuse").ToString());
  }
  return Received::kEnded;
}

void LogFromLibfuse(fuse_log_level level, const char* format, va_list arguments) {
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string text(line);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  Log(level <= FUSE_LOG_ERR ? LogLevel::kError : LogLevel::kDebug, "libfuse: " + text);
}

struct Worker {
  std::thread thread;
  RequestSlot slot;
  std::atomic<bool> waiting{false};  // blocked in read(2), or about to be
  std::atomic<bool> left{false};
};

}  // namespace

class Session::Impl {
 public:
  Impl(const FileSystem* file_system, NegotiatedRecord agreed, const SessionOptions& wanted, SourceGate* gate)
      : options(wanted), record(std::move(agreed)) {
    served.file_system = file_system;
    served.record = &record;
    served.gate = gate;
  }
  ~Impl() {
    if (session != nullptr) fuse_session_destroy(session);  // closes fd
  }

  Status Attach(int caller_fd);
  void StartWorker();
  void Work(Worker* self);
  // Answers the request that was read into `buffer`, and what others left for whoever has time.
  void Serve(RequestSlot* slot, const RequestBuffer& buffer, size_t size);
  std::vector<RequestSlot*> Slots() const;
  void End();

  SessionOptions options;
  NegotiatedRecord record;
  Served served;
  fuse_session* session = nullptr;
  int fd = -1;  // the session's own copy
  UniqueFd ended;
  std::atomic<bool> stopping{false};
  std::atomic<unsigned> waiting{0};

  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> workers;  // guarded by mutex; grows only
  std::unique_ptr<Deadline> deadline;            // looks at workers: ends before them
};

Status Session::Impl::Attach(int caller_fd) {
  fuse_set_log_func(LogFromLibfuse);
  ended.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (ended.get() == -1) return Status::FromErrno(errno, "cannot make an eventfd");

  // max_read stands in the mount's options too; libfuse insists on hearing it twice.
  std::string name = "tarn-mount";
  std::string option = "-omax_read=" + std::to_string(kMaxRead);
  char* argv[] = {name.data(), option.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(2, argv);
  const fuse_lowlevel_ops table = ops::Table();
  session = fuse_session_new(&arguments, &table, sizeof(table), &served);
  fuse_opt_free_args(&arguments);
  if (session == nullptr) return Status(ErrorCode::kInternal, "libfuse refused to make a session");

  // libfuse closes the descriptor that it is given; a copy is the same connection, not a clone.
  fd = fcntl(caller_fd, F_DUPFD_CLOEXEC, 3);
  if (fd == -1) return Status::FromErrno(errno, "cannot copy the /dev/fuse descriptor");
  if (Status used = UseConnection(session, fd); !used.ok()) {
    close(fd);
    return used;
  }

  // INIT is the first request; it is answered before any other thread exists.
  const RequestBuffer buffer;
  size_t size = 0;
  Received received = Received::kAgain;
  while (received == Received::kAgain) received = Receive(fd, buffer, &size);
  if (received == Received::kEnded) {
    return Status(ErrorCode::kCancelled, "the mount was ended before it was ready");
  }
  const auto* bytes = static_cast<const std::byte*>(buffer.memory());
  record.init_request.assign(bytes, bytes + size);
  fuse_buf request{};
  request.size = size;
  request.mem = buffer.memory();
  {
    const AnsweringInit answering(&record.flags);
    fuse_session_process_buf(session, &request);
  }
  TARN_RETURN_IF_ERROR(served.init_status);
  if (record.protocol_major == 0 || fuse_session_exited(session) != 0) {
    return Status(ErrorCode::kUnsupported, "the kernel and libfuse did not agree on a protocol");
  }
  return Status::Ok();
}

void Session::Impl::StartWorker() {
  const std::lock_guard lock(mutex);
  if (stopping.load() || workers.size() >= options.max_workers) return;
  auto worker = std::make_unique<Worker>();
  try {
    worker->thread = std::thread([this, self = worker.get()] { Work(self); });
  } catch (const std::system_error& error) {
    // Fewer workers serve as well, only less at once.
    if (workers.empty()) throw;
    options.max_workers = static_cast<unsigned>(workers.size());
    Log(LogLevel::kWarning, "no more than " + std::to_string(workers.size()) +
                                " workers can be started: " + std::string(error.what()));
    return;
  }
  workers.push_back(std::move(worker));
}

void Session::Impl::Work(Worker* self) {
  pthread_setname_np(pthread_self(), "tarn-fuse");
  self->slot.Use();
  const RequestBuffer buffer;
  size_t size = 0;
  while (!stopping.load()) {
    waiting.fetch_add(1, std::memory_order_relaxed);
    self->waiting.store(true);
    const Received received = stopping.load() ? Received::kAgain : Receive(fd, buffer, &size);
    self->waiting.store(false);
    waiting.fetch_sub(1, std::memory_order_relaxed);
    if (received == Received::kEnded) {
      End();
      break;
    }
    if (received == Received::kRequest) Serve(&self->slot, buffer, size);
  }
  self->left.store(true);
}

void Session::Impl::Serve(RequestSlot* slot, const RequestBuffer& buffer, size_t size) {
  fuse_buf request{};
  request.mem = buffer.memory();
  const std::span<std::byte> bytes(static_cast<std::byte*>(buffer.memory()), kRequestBytes);
  RequestSlot::Clock::time_point arrived = RequestSlot::Clock::now();
  for (;;) {
    slot->Received(bytes.first(size), arrived);
    request.size = size;
    fuse_session_process_buf(session, &request);
    std::optional<WaitingRequest> next = slot->Next();
    if (!next && served.gate != nullptr) next = served.gate->TakeUp();
    if (!next) return;
    // The kernel's request is the same; libfuse's for it is made anew.
    fuse_reply_none(next->request);
    std::copy(next->bytes.begin(), next->bytes.end(), bytes.begin());
    size = next->bytes.size();
    arrived = next->arrived;
  }
}

std::vector<RequestSlot*> Session::Impl::Slots() const {
  std::vector<RequestSlot*> slots;
  const std::lock_guard lock(mutex);
  for (const auto& worker : workers) slots.push_back(&worker->slot);
  return slots;
}

void Session::Impl::End() {
  stopping.store(true);
  const uint64_t one = 1;
  // An eventfd that is full is readable already.
  [[maybe_unused]] const ssize_t written = write(ended.get(), &one, sizeof(one));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->served.session = this;
}

Session::~Session() {
  Stop(std::chrono::hours(24));
  impl_->deadline.reset();
  for (const auto& worker : impl_->workers) worker->thread.join();
}

Result<std::unique_ptr<Session>> Session::Attach(int fd, const FileSystem* file_system,
                                                 NegotiatedRecord record, const SessionOptions& options,
                                                 SourceGate* gate) {
  auto impl = std::make_unique<Impl>(file_system, std::move(record), options, gate);
  TARN_RETURN_IF_ERROR(impl->Attach(fd));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const NegotiatedRecord& Session::negotiated() const {
  return impl_->record;
}

void Session::Start() {
  struct sigaction wake {};
  wake.sa_handler = [](int) {};  // without SA_RESTART: read(2) has to return
  sigaction(kWakeSignal, &wake, nullptr);

  // Workers take no signal but that one; the program's own go to its main thread.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  sigdelset(&blocked, kWakeSignal);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  for (unsigned i = 0; i < impl_->options.initial_workers; ++i) impl_->StartWorker();
  if (impl_->served.gate != nullptr && impl_->options.deadline.count() > 0) {
    impl_->deadline = std::make_unique<Deadline>(impl_->served.gate, impl_->options.deadline,
                                                 [impl = impl_.get()] { return impl->Slots(); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int Session::ended_fd() const {
  return impl_->ended.get();
}

unsigned Session::Stop(std::chrono::milliseconds patience) {
  impl_->stopping.store(true);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    unsigned inside = 0;
    {
      const std::lock_guard lock(impl_->mutex);
      for (const auto& worker : impl_->workers) {
        if (worker->left.load()) continue;
        ++inside;
        // A wake-up that comes just before the read is lost; the next round sends another.
        if (worker->waiting.load()) pthread_kill(worker->thread.native_handle(), kWakeSignal);
      }
    }
    if (inside == 0 || std::chrono::steady_clock::now() >= deadline) return inside;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

unsigned Session::workers() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<unsigned>(impl_->workers.size());
}

void Session::Forget(dataset::NodeId file) {
  const int result = fuse_lowlevel_notify_inval_inode(impl_->session, file.value(), 0, 0);
  // ENOENT: the kernel has nothing of it. ENODEV, EBADF: the connection has ended.
  if (result == 0 || result == -ENOENT || result == -ENODEV || result == -EBADF) return;
  Log(LogLevel::kError,
      Status::FromErrno(-result, "the kernel cannot be made to forget node " + std::to_string(file.value()))
          .ToString());
}

void Session::KeepOneWaiting() {
  if (impl_->waiting.load(std::memory_order_relaxed) == 0) impl_->StartWorker();
}

}  // namespace tarn::fuse
