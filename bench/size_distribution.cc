#include "bench/size_distribution.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "bench/units.h"

namespace tarn::bench {
namespace {

Status Bad(std::string_view part) {
  return Status(ErrorCode::kInvalidArgument,
                "expected SIZE[-SIZE][/WEIGHT] between colons, found '" + std::string(part) + "'")
      .WithHint("for example 110KiB, 90KiB-130KiB or 32k/10:96k/40:128k/50");
}

}  // namespace

Result<SizeDistribution> SizeDistribution::Parse(std::string_view text) {
  SizeDistribution distribution;
  uint64_t weights = 0;
  for (const std::string& text_of_part : Split(text, ':')) {
    std::string_view rest = text_of_part;
    uint64_t weight = 1;
    if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
      const std::string_view digits = rest.substr(slash + 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
      if (error != std::errc() || end != digits.data() + digits.size() || weight == 0 ||
          weight > 1'000'000'000)
        return Bad(text_of_part);
      rest = rest.substr(0, slash);
    }
    const size_t dash = rest.find('-');
    const auto least = ParseBytes(rest.substr(0, dash));
    const auto most = dash == std::string_view::npos ? least : ParseBytes(rest.substr(dash + 1));
    if (!least.ok() || !most.ok() || *least > *most) return Bad(text_of_part);
    weights += weight;
    distribution.parts_.push_back({*least, *most, weights});
  }
  return distribution;
}

uint64_t SizeDistribution::Next(Random* random) const {
  const uint64_t ticket = random->Below(parts_.back().weight_end);
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [ticket](const Part& candidate) { return ticket < candidate.weight_end; });
  return part->least + random->Below(part->most - part->least + 1);
}

uint64_t SizeDistribution::largest() const {
  return std::max_element(parts_.begin(), parts_.end(),
                          [](const Part& a, const Part& b) { return a.most < b.most; })
      ->most;
}

}  // namespace tarn::bench
