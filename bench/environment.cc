#include "bench/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

#include "bench/mount_info.h"
#include "bench/units.h"
#include "tarn/base/version.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

// The first line of a small file; empty when it cannot be read.
std::string FirstLine(const std::string& path) {
  const auto text = io::ReadFile(path);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

void Add(const std::string& section, std::string key, std::string value, Facts* facts) {
  if (!value.empty()) facts->push_back({section, std::move(key), std::move(value)});
}

std::string Distribution() {
  const auto text = io::ReadFile("/etc/os-release");
  if (!text.ok()) return {};
  for (std::string line : Split(*text, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    line.erase(0, 12);
    std::erase(line, '"');
    return line;
  }
  return {};
}

std::string ProcessorModel() {
  const auto text = io::ReadFile("/proc/cpuinfo");
  if (!text.ok()) return {};
  for (const std::string& line : Split(*text, '\n')) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return {};
}

// Limits that the container sets on this process, as the kernel spells them.
void DescribeContainer(Facts* facts) {
  const auto text = io::ReadFile("/proc/self/cgroup");
  if (!text.ok()) return;
  for (const std::string& line : Split(*text, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() < 3) continue;
    if (fields[1].empty()) {
      Add("machine", "cpu_max", FirstLine("/sys/fs/cgroup" + fields[2] + "/cpu.max"), facts);
      Add("machine", "memory_max", FirstLine("/sys/fs/cgroup" + fields[2] + "/memory.max"), facts);
    }
    if (fields[1].starts_with("cpu,") || fields[1] == "cpu") {
      const std::string place = "/sys/fs/cgroup/cpu" + fields[2];
      Add("machine", "cpu_quota_us", FirstLine(place + "/cpu.cfs_quota_us"), facts);
      Add("machine", "cpu_period_us", FirstLine(place + "/cpu.cfs_period_us"), facts);
    }
    if (fields[1] == "memory")
      Add("machine", "memory_limit_bytes",
          FirstLine("/sys/fs/cgroup/memory" + fields[2] + "/memory.limit_in_bytes"), facts);
  }
}

}  // namespace

void DescribeMachine(Facts* facts) {
  const std::string section = "machine";
  utsname name = {};
  ::uname(&name);
  struct sysinfo memory = {};
  ::sysinfo(&memory);
  Add(section, "time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), facts);
  Add(section, "host", name.nodename, facts);
  Add(section, "kernel", fmt::format("{} {} {}", name.sysname, name.release, name.machine), facts);
  Add(section, "distribution", Distribution(), facts);
  Add(section, "processor", ProcessorModel(), facts);
  Add(section, "processors", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)), facts);
  Add(section, "memory_bytes", std::to_string(uint64_t{memory.totalram} * memory.mem_unit), facts);
  Add(section, "load_average", FirstLine("/proc/loadavg"), facts);
  DescribeContainer(facts);
  Add(section, "tcp_slot_table_entries", FirstLine("/proc/sys/sunrpc/tcp_slot_table_entries"), facts);
  Add(section, "tarn_version", std::string(VersionString()), facts);
  Add(section, "compiler", __VERSION__, facts);
}

void DescribePlace(const std::string& section, const std::string& path, Facts* facts) {
  Add(section, "path", path, facts);
  const auto mount = FindMount(path);
  if (!mount.ok()) {
    Add(section, "mount", mount.status().message(), facts);
    return;
  }
  Add(section, "mount", mount->line, facts);
  Add(section, "type", mount->type, facts);
  for (const char* key : {"nconnect", "rsize", "vers", "max_read"})
    Add(section, key, OptionValue(mount->super_options, key), facts);
  std::string read_ahead = FirstLine("/sys/class/bdi/" + mount->device + "/read_ahead_kb");
  if (read_ahead.empty()) read_ahead = FirstLine("/sys/dev/block/" + mount->device + "/queue/read_ahead_kb");
  Add(section, "read_ahead_kb", read_ahead, facts);
}

std::string FindFact(const Facts& facts, std::string_view section, std::string_view key) {
  for (const Fact& fact : facts) {
    if (fact.section == section && fact.key == key) return fact.value;
  }
  return {};
}

}  // namespace tarn::bench
