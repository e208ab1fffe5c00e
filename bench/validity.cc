#include "bench/validity.h"

#include <fmt/format.h>

#include "tarn/base/bytes.h"

namespace tarn::bench {
namespace {

std::optional<std::string> WhyNotCold(const RunFacts& facts) {
  if (!facts.source_bytes) {
    return "not proven cold: nothing counts what this source delivers (block device, NFS and slow-source "
           "can)";
  }
  const double needed = kColdShare * static_cast<double>(facts.unique_bytes);
  if (static_cast<double>(*facts.source_bytes) < needed) {
    return fmt::format("cached: the source delivered {} of {} read", HumanBytes(*facts.source_bytes),
                       HumanBytes(facts.unique_bytes));
  }
  // The device's counter also counts what others read; that of the processes cannot.
  if (facts.process_bytes && static_cast<double>(*facts.process_bytes) < needed) {
    return fmt::format("cached: reader and server took {} of {} from the source; others used it, too",
                       HumanBytes(*facts.process_bytes), HumanBytes(facts.unique_bytes));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyInvalid(const RunFacts& facts) {
  if (facts.errors > 0) return fmt::format("{} reads failed; first: {}", facts.errors, facts.first_error);
  if (facts.steps == 0) return "nothing was read";
  if (facts.cache == CacheState::kCold) return WhyNotCold(facts);
  if (facts.process_bytes &&
      static_cast<double>(*facts.process_bytes) > kWarmShare * static_cast<double>(facts.bytes)) {
    return fmt::format("not {}: {} of {} came from storage", CacheStateName(facts.cache),
                       HumanBytes(*facts.process_bytes), HumanBytes(facts.bytes));
  }
  return std::nullopt;
}

}  // namespace tarn::bench
