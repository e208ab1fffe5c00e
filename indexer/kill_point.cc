#include "indexer/kill_point.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace tarn::indexer {
namespace {

struct Wanted {
  std::string name;
  int count = 1;
};

Wanted FromEnvironment() {
  const char* const text = std::getenv("TARN_KILL_POINT");
  if (text == nullptr) return {};
  const std::string_view value(text);
  const size_t colon = value.find(':');
  Wanted wanted{.name = std::string(value.substr(0, colon))};
  if (colon != std::string_view::npos) {
    std::from_chars(value.data() + colon + 1, value.data() + value.size(), wanted.count);
  }
  return wanted;
}

}  // namespace

void KillPoint(std::string_view name) {
  static const Wanted wanted = FromEnvironment();
  if (wanted.name.empty() || wanted.name != name) return;
  static std::atomic<int> arrivals = 0;
  if (++arrivals == wanted.count) std::raise(SIGKILL);
}

}  // namespace tarn::indexer
