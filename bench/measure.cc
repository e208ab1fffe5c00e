#include "bench/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

uint64_t Now() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t CpuNanoseconds(int who) {
  rusage usage = {};
  ::getrusage(who, &usage);
  const auto nanoseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_usec) * 1000;
  };
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

// What one reader leaves behind.
struct Lane {
  LatencyHistogram latency;
  uint64_t steps = 0;
  uint64_t bytes = 0;
  uint64_t requests = 0;
  uint64_t all_steps = 0;
  uint64_t all_bytes = 0;
  uint64_t errors = 0;
  uint64_t end_ns = 0;
  uint64_t failed_step = 0;
  int first_errno = 0;
};

// In memory that forked readers share; behind it stand the lanes.
struct Course {
  pthread_barrier_t start;
  std::atomic<uint64_t> next_step;
  std::atomic<uint64_t> count_from_ns;  // when the first counted step was taken
  std::atomic<uint64_t> begin_ns;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "it is shared between processes");

class SharedCourse {
 public:
  static Result<SharedCourse> Make(unsigned lanes) {
    const size_t bytes = kLanesAt + lanes * sizeof(Lane);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Status::FromErrno(errno, "cannot map memory for the readers' results");
    return SharedCourse(memory, bytes, lanes);
  }
  SharedCourse(SharedCourse&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  SharedCourse& operator=(SharedCourse&&) = delete;
  ~SharedCourse() {
    if (memory_ == nullptr) return;
    ::pthread_barrier_destroy(&course()->start);
    ::munmap(memory_, bytes_);
  }

  Course* course() const { return static_cast<Course*>(memory_); }
  Lane* lane(unsigned number) const {
    return reinterpret_cast<Lane*>(static_cast<char*>(memory_) + kLanesAt) + number;
  }

 private:
  static constexpr size_t kLanesAt = 4096;
  static_assert(sizeof(Course) <= kLanesAt);

  SharedCourse(void* memory, size_t bytes, unsigned lanes) : memory_(memory), bytes_(bytes) {
    auto* course = new (memory) Course{};
    pthread_barrierattr_t attributes;
    ::pthread_barrierattr_init(&attributes);
    ::pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&course->start, &attributes, lanes + 1);  // the readers, and who starts them
    ::pthread_barrierattr_destroy(&attributes);
    for (unsigned i = 0; i < lanes; ++i) new (lane(i)) Lane{};
  }

  void* memory_;
  size_t bytes_;
};

void RunLane(const AccessPlan& plan, const Load& load, StepReader* reader, Course* course, Lane* lane) {
  ::pthread_barrier_wait(&course->start);
  const auto limit = static_cast<uint64_t>(load.time_limit.count());
  for (;;) {
    const uint64_t step = course->next_step.fetch_add(1, std::memory_order_relaxed);
    if (step >= plan.steps.size()) break;
    const uint64_t start = Now();
    if (limit > 0 && start - course->begin_ns.load(std::memory_order_relaxed) >= limit) break;
    if (step == load.ramp) course->count_from_ns.store(start, std::memory_order_relaxed);
    uint64_t requests = 0;
    const int error = reader->Read(step, &requests);
    const uint64_t end = Now();
    lane->end_ns = end;
    ++lane->all_steps;
    if (error != 0) {
      if (lane->errors++ == 0) {
        lane->first_errno = error;
        lane->failed_step = step;
      }
      continue;
    }
    const uint64_t bytes = plan.steps[step].bytes;
    lane->all_bytes += bytes;
    if (step < load.ramp) continue;
    lane->latency.Add(end - start);
    ++lane->steps;
    lane->bytes += bytes;
    lane->requests += requests;
  }
}

// Runs lanes [first, first + load.threads) in this process.
void RunThreads(const ReaderFactory& factory, const AccessPlan& plan, const Load& load,
                const SharedCourse& shared, unsigned first, std::vector<std::thread>* threads) {
  for (unsigned i = 0; i < load.threads; ++i) {
    threads->emplace_back([&factory, &plan, &load, &shared, lane = first + i] {
      const auto reader = factory.MakeReader();
      RunLane(plan, load, reader.get(), shared.course(), shared.lane(lane));
    });
  }
}

[[noreturn]] void RunChild(const ReaderFactory& factory, const AccessPlan& plan, const Load& load,
                           const SharedCourse& shared, unsigned process) {
  std::vector<std::thread> threads;
  RunThreads(factory, plan, load, shared, process * load.threads, &threads);
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

Status WaitFor(const std::vector<pid_t>& children) {
  Status status;
  for (const pid_t child : children) {
    int how = 0;
    while (::waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
      status = Status(ErrorCode::kInternal, fmt::format("a reading process ended with wait status {}", how));
  }
  return status;
}

Measurement Collect(const ReaderFactory& factory, const SharedCourse& shared, unsigned lanes) {
  Measurement result;
  uint64_t end = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const Lane& lane = *shared.lane(i);
    result.latency.Merge(lane.latency);
    result.steps += lane.steps;
    result.bytes += lane.bytes;
    result.requests += lane.requests;
    result.all_steps += lane.all_steps;
    result.all_bytes += lane.all_bytes;
    end = std::max(end, lane.end_ns);
    if (lane.errors > 0 && result.errors == 0)
      result.first_error = factory.Describe(lane.failed_step) + ": " + std::strerror(lane.first_errno);
    result.errors += lane.errors;
  }
  const uint64_t start = shared.course()->count_from_ns.load();
  if (start > 0 && end > start) result.seconds = static_cast<double>(end - start) * 1e-9;
  return result;
}

Result<Measurement> MeasureReaders(const ReaderFactory& factory, const AccessPlan& plan, const Load& load,
                                   const std::function<void()>& before, const std::function<void()>& after) {
  const unsigned lanes = load.processes * load.threads;
  TARN_ASSIGN_OR_RETURN(const SharedCourse shared, SharedCourse::Make(lanes));
  std::vector<pid_t> children;
  std::vector<std::thread> threads;
  if (load.processes == 1) RunThreads(factory, plan, load, shared, 0, &threads);
  for (unsigned process = 0; load.processes > 1 && process < load.processes; ++process) {
    const pid_t child = ::fork();
    if (child == 0) RunChild(factory, plan, load, shared, process);
    if (child < 0) {
      const int error = errno;
      for (const pid_t started : children) ::kill(started, SIGKILL);
      return WaitFor(children).ok() ? Status::FromErrno(error, "cannot start a reading process")
                                    : Status::FromErrno(error, "cannot start all reading processes");
    }
    children.push_back(child);
  }
  if (before) before();
  const int who = load.processes == 1 ? RUSAGE_SELF : RUSAGE_CHILDREN;
  const uint64_t cpu_before = CpuNanoseconds(who);
  shared.course()->begin_ns.store(Now());
  ::pthread_barrier_wait(&shared.course()->start);
  for (std::thread& thread : threads) thread.join();
  TARN_RETURN_IF_ERROR(WaitFor(children));
  const uint64_t cpu = CpuNanoseconds(who) - cpu_before;
  if (after) after();
  Measurement result = Collect(factory, shared, lanes);
  result.client_cpu_ns = cpu;
  return result;
}

// One line a step, tab-separated: archive, offset in it, bytes, path of the member, offset in the member.
Status WriteStepList(const MemberList& list, const AccessPlan& plan, int fd, const std::string& path) {
  std::string text;
  for (const AccessPlan::Step& step : plan.steps) {
    const MemberList::Target& target = list.targets()[step.target];
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", list.archives()[target.archive], target.offset + step.offset,
                        step.bytes, list.PathOf(target), step.offset);
  }
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::FromErrno(errno, "cannot write '" + path + "'");
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Result<Measurement> MeasureCommand(const std::string& command, const MemberList& list, const AccessPlan& plan,
                                   const Load& load, const std::function<void()>& before,
                                   const std::function<void()>& after) {
  const char* directory = std::getenv("TMPDIR");
  std::string path = io::JoinPath(directory != nullptr ? directory : "/tmp", "tarn-bench-list-XXXXXX");
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot create '" + path + "'");
  Status written = WriteStepList(list, plan, fd, path);
  ::close(fd);
  const std::string threads = std::to_string(load.threads * load.processes);
  if (before) before();
  const uint64_t start = Now();
  const pid_t child = written.ok() ? ::fork() : -1;
  if (child == 0) {
    ::setenv("TARN_BENCH_LIST", path.c_str(), 1);
    ::setenv("TARN_BENCH_THREADS", threads.c_str(), 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int how = 0;
  rusage usage = {};
  while (child > 0 && ::wait4(child, &how, 0, &usage) < 0 && errno == EINTR) continue;
  const uint64_t end = Now();
  if (after) after();
  TARN_RETURN_IF_ERROR(io::RemoveFile(path));
  TARN_RETURN_IF_ERROR(written);
  if (child < 0) return Status(ErrorCode::kIo, "cannot start '" + command + "'");
  Measurement result;
  result.has_latency = false;
  result.seconds = static_cast<double>(end - start) * 1e-9;
  result.steps = result.all_steps = plan.steps.size();
  result.bytes = result.all_bytes = plan.bytes;
  result.client_cpu_ns =
      static_cast<uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000'000 +
      static_cast<uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
  if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
    result.errors = 1;
    result.first_error = fmt::format("'{}' ended with wait status {}", command, how);
  }
  return result;
}

}  // namespace

Result<Measurement> Measure(const Contestant& contestant, const MemberList& list, const AccessPlan& plan,
                            const Load& load, const std::function<void()>& before,
                            const std::function<void()>& after) {
  if (contestant.kind == ContestantKind::kCommand)
    return MeasureCommand(contestant.where, list, plan, load, before, after);
  TARN_ASSIGN_OR_RETURN(const auto factory, MakeReaderFactory(contestant, list, plan, load.read_bytes));
  return MeasureReaders(*factory, plan, load, before, after);
}

}  // namespace tarn::bench
