#include "indexer/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kLineInterval{10};
constexpr size_t kBarColumns = 8;
constexpr size_t kMostColumns = 79;  // a line that wraps cannot be drawn over

double SecondsSince(steady_clock::time_point since) {
  return std::chrono::duration<double>(steady_clock::now() - since).count();
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::ostream* err, ProgressStyle style) : err_(err), style_(style) {
  if (style_ != ProgressStyle::kNone) thread_ = std::thread([this] { Run(); });
}

Progress::~Progress() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    Erase();
  }
  stopping_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::SetPhase(std::string phase) {
  const std::lock_guard guard(mutex_);
  phase_ = std::move(phase);
  counting_ = false;
  phase_started_ = steady_clock::now();
  bytes_before_ = bytes_;
  files_before_ = files_;
  if (style_ == ProgressStyle::kJson) Print();
}

void Progress::SetTotals(uint64_t files, uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  counting_ = bytes > 0;
  total_files_ = files_before_ + files;
  total_bytes_ = bytes_before_ + bytes;
  if (style_ == ProgressStyle::kJson) Print();
}

void Progress::Say(const std::string& line) {
  if (style_ == ProgressStyle::kNone || style_ == ProgressStyle::kJson) return;
  const std::lock_guard guard(mutex_);
  Erase();
  *err_ << line << '\n' << std::flush;
}

void Progress::Run() {
  std::unique_lock lock(mutex_);
  const auto interval =
      style_ == ProgressStyle::kTerminal ? kTerminalInterval : std::chrono::milliseconds(kLineInterval);
  while (!stopping_changed_.wait_for(lock, interval, [this] { return stopping_; })) {
    if (phase_.empty()) continue;
    if (style_ == ProgressStyle::kTerminal) {
      Draw();
    } else {
      Print();
    }
  }
}

double Progress::BytesPerSecond() const {
  const double seconds = SecondsSince(phase_started_);
  return counting_ && seconds > 0 ? static_cast<double>(bytes_ - bytes_before_) / seconds : 0;
}

std::optional<double> Progress::SecondsLeft() const {
  const uint64_t done = bytes_, total = total_bytes_;
  const double rate = BytesPerSecond();
  if (rate <= 0) return std::nullopt;
  return total > done ? static_cast<double>(total - done) / rate : 0;
}

std::string Progress::Describe() const {
  const uint64_t done = bytes_, total = total_bytes_;
  if (!counting_) return phase_;
  const double rate = BytesPerSecond();
  std::string text = fmt::format("{}% of {}, {}/{} files, {:.0f} MB/s", total > 0 ? done * 100 / total : 100,
                                 HumanBytes(total), files_.load(), total_files_.load(), rate / 1e6);
  if (const std::optional<double> left = SecondsLeft(); left && *left > 0) {
    text += ", " + Duration(*left) + " left";
  }
  return text + fmt::format(", {} members", members_.load());
}

void Progress::Draw() {
  const uint64_t done = bytes_, total = total_bytes_;
  std::string line = Describe();
  if (counting_) {
    const auto filled = static_cast<size_t>(
        std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) * kBarColumns);
    line = "[" + std::string(filled, '#') + std::string(kBarColumns - filled, '.') + "] " + line;
  }
  line.resize(std::min(line.size(), kMostColumns));
  const size_t columns = line.size();
  if (columns < drawn_columns_) line.append(drawn_columns_ - columns, ' ');
  drawn_columns_ = columns;
  *err_ << '\r' << line << std::flush;
}

void Progress::Erase() {
  if (drawn_columns_ == 0) return;
  *err_ << '\r' << std::string(drawn_columns_, ' ') << '\r' << std::flush;
  drawn_columns_ = 0;
}

void Progress::Print() {
  if (style_ == ProgressStyle::kLines) {
    *err_ << Describe() << '\n' << std::flush;
    return;
  }
  nlohmann::json object = {{"event", "progress"},
                           {"phase", phase_},
                           {"bytes", bytes_.load()},
                           {"bytes_total", total_bytes_.load()},
                           {"files", files_.load()},
                           {"files_total", total_files_.load()},
                           {"members", members_.load()},
                           {"seconds", SecondsSince(started_)},
                           {"bytes_per_second", static_cast<uint64_t>(BytesPerSecond())},
                           {"seconds_left", nullptr}};
  if (const std::optional<double> left = SecondsLeft()) object["seconds_left"] = *left;
  *err_ << object.dump() << '\n' << std::flush;
}

}  // namespace tarn::indexer
