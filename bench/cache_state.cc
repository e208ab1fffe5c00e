#include "bench/cache_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

// Reads the whole plan once, uncounted, as the contestant reads it.
Status ReadOnce(const Contestant& contestant, const MemberList& list, const AccessPlan& plan, Load load) {
  load.ramp = 0;
  load.time_limit = {};
  TARN_ASSIGN_OR_RETURN(const Measurement pass, Measure(contestant, list, plan, load, nullptr, nullptr));
  if (pass.errors == 0) return Status::Ok();
  return Status(ErrorCode::kIo, fmt::format("{} of {} reads of {} failed before the run; first: {}",
                                            pass.errors, pass.all_steps, contestant.name, pass.first_error));
}

Status DropPages(const Contestant& contestant, const MemberList& list, const AccessPlan& plan) {
  std::set<std::string> paths;
  for (const AccessPlan::Step& step : plan.steps) {
    const MemberList::Target& target = list.targets()[step.target];
    paths.insert(list.archives()[target.archive]);
    if (contestant.kind == ContestantKind::kFiles)
      paths.insert(io::JoinPath(contestant.where, list.PathOf(target)));
  }
  for (const std::string& path : paths) TARN_RETURN_IF_ERROR(DropPagesOf(path));
  return Status::Ok();
}

Result<std::string> MakeCold(const Contestant& contestant, const MemberList& list, const AccessPlan& plan,
                             bool may_drop_all) {
  if (may_drop_all && DropAllCaches().ok()) return std::string("drop_caches");
  TARN_RETURN_IF_ERROR(DropPages(contestant, list, plan));
  return std::string("fadvise (names and inodes stay cached)");
}

}  // namespace

Result<CacheState> ParseCacheState(std::string_view text) {
  for (const CacheState state : {CacheState::kCold, CacheState::kFirst, CacheState::kWarm}) {
    if (text == CacheStateName(state)) return state;
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("expected a state of the caches, found '{}'", text))
      .WithHint("the states are cold, first and warm");
}

std::string_view CacheStateName(CacheState state) {
  switch (state) {
    case CacheState::kCold:
      return "cold";
    case CacheState::kFirst:
      return "first";
    case CacheState::kWarm:
      return "warm";
  }
  return "";
}

Status DropAllCaches() {
  constexpr char kPath[] = "/proc/sys/vm/drop_caches";
  const int fd = ::open(kPath, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot open '" + std::string(kPath) + "'");
  const ssize_t written = ::write(fd, "3\n", 2);
  const int error = errno;
  ::close(fd);
  return written == 2 ? Status::Ok() : Status::FromErrno(error, "cannot write '" + std::string(kPath) + "'");
}

Status DropPagesOf(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot open '" + path + "'");
  const int error = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  return error == 0 ? Status::Ok() : Status::FromErrno(error, "cannot drop cached pages of '" + path + "'");
}

Result<std::string> PrepareCaches(CacheState state, const Contestant& contestant, const MemberList& list,
                                  const AccessPlan& plan, const Load& load, bool may_drop_all) {
  if (state == CacheState::kCold) return MakeCold(contestant, list, plan, may_drop_all);
  TARN_RETURN_IF_ERROR(ReadOnce(contestant, list, plan, load));
  if (state == CacheState::kWarm) return std::string("read once");
  // Raw and loose files have no cache of their own above the storage's: their first read is a warm one.
  TARN_ASSIGN_OR_RETURN(const std::string how, MakeCold(contestant, list, plan, may_drop_all));
  const bool is_mount = contestant.kind == ContestantKind::kFiles && contestant.name == "mount";
  const Contestant below = is_mount ? Contestant{"raw", ContestantKind::kRaw, ""} : contestant;
  TARN_RETURN_IF_ERROR(ReadOnce(below, list, plan, load));
  return how + ", then " + below.name + " read once";
}

}  // namespace tarn::bench
