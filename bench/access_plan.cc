#include "bench/access_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "bench/random.h"

namespace tarn::bench {
namespace {

constexpr double kDefaultTheta = 1.1;

// Target numbers in an order drawn from the seed.
std::vector<uint32_t> Permutation(size_t count, Random* random) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  random->Shuffle(std::span<uint32_t>(order));
  return order;
}

// Draws targets, one after the other.
std::function<uint32_t()> TargetSource(size_t count, const PlanOptions& options, Random* random) {
  auto order = Permutation(count, random);
  if (options.distribution.kind == DistributionKind::kZipf) {
    return [order = std::move(order), zipf = Zipf(count, options.distribution.theta), random] {
      return order[zipf.Next(random)];
    };
  }
  return [order = std::move(order), at = size_t{0}, random]() mutable {
    if (at == order.size()) {  // the next epoch has another order
      random->Shuffle(std::span<uint32_t>(order));
      at = 0;
    }
    return order[at++];
  };
}

// Blocks of all members, with equal chance: a large member is drawn more often.
class BlockSource {
 public:
  BlockSource(const MemberList& list, uint64_t block_bytes) : list_(list), block_bytes_(block_bytes) {
    ends_.reserve(list.targets().size());
    uint64_t end = 0;
    for (const auto& target : list.targets()) ends_.push_back(end += Blocks(target));
  }

  AccessPlan::Step Any(Random* random) const {
    const uint64_t ticket = random->Below(ends_.back());
    const auto at = std::upper_bound(ends_.begin(), ends_.end(), ticket);
    const auto target = static_cast<uint32_t>(at - ends_.begin());
    return Make(target, ticket - (target == 0 ? 0 : ends_[target - 1]));
  }
  AccessPlan::Step OfTarget(uint32_t target, Random* random) const {
    return Make(target, random->Below(Blocks(list_.targets()[target])));
  }

 private:
  uint64_t Blocks(const MemberList::Target& target) const {
    return (target.size + block_bytes_ - 1) / block_bytes_;
  }
  AccessPlan::Step Make(uint32_t target, uint64_t block) const {
    const uint64_t offset = block * block_bytes_;
    return {target, offset, std::min(block_bytes_, list_.targets()[target].size - offset)};
  }

  const MemberList& list_;
  const uint64_t block_bytes_;
  std::vector<uint64_t> ends_;  // blocks up to and with each target
};

struct StepHash {
  size_t operator()(const AccessPlan::Step& step) const {
    return static_cast<size_t>(Random::Combine(step.target, step.offset));
  }
};
struct SameStep {
  bool operator()(const AccessPlan::Step& a, const AccessPlan::Step& b) const {
    return a.target == b.target && a.offset == b.offset;
  }
};

}  // namespace

std::string Distribution::ToString() const {
  return kind == DistributionKind::kUniform ? "uniform" : fmt::format("zipf:{}", theta);
}

Result<ReadUnit> ParseReadUnit(std::string_view text) {
  for (const ReadUnit unit : {ReadUnit::kMember, ReadUnit::kBlock, ReadUnit::kStream}) {
    if (text == ReadUnitName(unit)) return unit;
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("expected a unit to read, found '{}'", text))
      .WithHint("the units are member, block and stream");
}

std::string_view ReadUnitName(ReadUnit unit) {
  switch (unit) {
    case ReadUnit::kMember:
      return "member";
    case ReadUnit::kBlock:
      return "block";
    case ReadUnit::kStream:
      return "stream";
  }
  return "";
}

Result<Distribution> ParseDistribution(std::string_view text) {
  if (text == "uniform") return Distribution{};
  if (text == "zipf") return Distribution{DistributionKind::kZipf, kDefaultTheta};
  if (text.starts_with("zipf:")) {
    const std::string_view number = text.substr(5);
    double theta = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), theta);
    if (error == std::errc() && end == number.data() + number.size() && theta > 0 && theta <= 10)
      return Distribution{DistributionKind::kZipf, theta};
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("expected a distribution, found '{}'", text))
      .WithHint("the distributions are uniform and zipf:THETA with a theta above 0 and up to 10");
}

AccessPlan MakePlan(const MemberList& list, const PlanOptions& options) {
  Random random(Random::Mix(options.seed));
  AccessPlan plan;
  plan.unit = options.unit;
  plan.steps.reserve(options.reads);
  const auto& targets = list.targets();
  const bool blocks = options.unit == ReadUnit::kBlock;
  const bool uniform = options.distribution.kind == DistributionKind::kUniform;
  std::function<uint32_t()> next_target;
  if (!blocks || !uniform) next_target = TargetSource(targets.size(), options, &random);
  std::optional<BlockSource> block_source;
  if (blocks) block_source.emplace(list, options.block_bytes);
  for (uint64_t i = 0; i < options.reads; ++i) {
    if (blocks) {
      plan.steps.push_back(uniform ? block_source->Any(&random)
                                   : block_source->OfTarget(next_target(), &random));
    } else {
      const uint32_t target = next_target();
      plan.steps.push_back({target, 0, targets[target].size});
    }
  }
  std::unordered_set<AccessPlan::Step, StepHash, SameStep> seen;
  seen.reserve(plan.steps.size());
  for (const AccessPlan::Step& step : plan.steps) {
    plan.bytes += step.bytes;
    plan.largest = std::max(plan.largest, step.bytes);
    if (seen.insert(step).second) plan.unique_bytes += step.bytes;
  }
  return plan;
}

}  // namespace tarn::bench
