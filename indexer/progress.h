// Progress of a publish: counters that workers bump, and a thread that shows them on `err`.
//
// On a terminal one line that is drawn over; elsewhere a line every ten seconds, so that a job's log tells
// where it is; with --json those lines are objects. Silent with --quiet.
#ifndef TARN_INDEXER_PROGRESS_H_
#define TARN_INDEXER_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace tarn::indexer {

enum class ProgressStyle : uint8_t { kNone, kTerminal, kLines, kJson };

class Progress {
 public:
  // Shows on `err`, which must outlive it, until the destructor.
  Progress(std::ostream* err, ProgressStyle style);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Names what is being done ("scanning", "reading").
  void SetPhase(std::string phase);
  // What there is to be read in this phase, beside what was read before.
  void SetTotals(uint64_t files, uint64_t bytes);

  // From any thread.
  void AddBytes(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void AddMembers(uint64_t members) { members_.fetch_add(members, std::memory_order_relaxed); }
  void AddFile() { files_.fetch_add(1, std::memory_order_relaxed); }
  // A file was read in vain: what is left grows by it again.
  void AddAgain(uint64_t bytes) { total_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Prints a line of its own, above the progress line.
  void Say(const std::string& line);

 private:
  void Run();
  void Draw();   // on the terminal
  void Print();  // a line, or an object
  void Erase();
  double BytesPerSecond() const;              // of this phase; 0 while it has no totals
  std::optional<double> SecondsLeft() const;  // nothing: nobody can tell
  std::string Describe() const;

  std::ostream* const err_;
  const ProgressStyle style_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> members_ = 0;
  std::atomic<uint64_t> files_ = 0;
  std::atomic<uint64_t> total_bytes_ = 0;
  std::atomic<uint64_t> total_files_ = 0;

  std::mutex mutex_;
  std::condition_variable stopping_changed_;
  std::string phase_;  // guarded by mutex_, like the rest
  std::chrono::steady_clock::time_point phase_started_ = started_;
  uint64_t bytes_before_ = 0;  // what was read before this phase
  uint64_t files_before_ = 0;
  bool counting_ = false;  // this phase has totals
  size_t drawn_columns_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PROGRESS_H_
