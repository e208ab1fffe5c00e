#include "indexer/share_choice.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

constexpr char kSayIt[] = "say which share is meant: --share I/N";

Status Contradiction(std::string message, std::string hint = kSayIt) {
  return Status(ErrorCode::kInvalidArgument, std::move(message)).WithHint(std::move(hint));
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Chooser {
 public:
  Chooser(const EnvironmentLookup& environment, uint32_t plan_shares)
      : environment_(environment), shares_(plan_shares) {}

  Result<ShareChoice> FromOption(const std::string& text) const {
    const size_t slash = text.find('/');
    std::optional<uint64_t> share;
    std::optional<uint64_t> of;
    if (slash != std::string::npos) {
      share = ParseNumber(std::string_view(text).substr(0, slash));
      of = ParseNumber(std::string_view(text).substr(slash + 1));
    }
    if (!share || !of || *share == 0 || *share > *of) {
      return Contradiction(fmt::format("--share '{}' is not I/N with I from 1 to N", EscapeName(text)),
                           fmt::format("the plan has {} shares: --share 1/{}", shares_, shares_));
    }
    if (*of != shares_) {
      return Contradiction(
          fmt::format("--share {} is one of {} shares, and the plan has {}", text, *of, shares_),
          fmt::format("give --share {}/{}, or plan again with --shares {}", *share, shares_, *of));
    }
    return ShareChoice{static_cast<uint32_t>(*share), "--share " + text};
  }

  Result<ShareChoice> FromEnvironment() const {
    TARN_ASSIGN_OR_RETURN(const std::optional<ShareChoice> job, FromIndexedJob());
    TARN_ASSIGN_OR_RETURN(const std::optional<ShareChoice> array, FromArray());
    if (job && array && job->share != array->share) {
      return Contradiction(fmt::format("{} is share {} and {} is share {}", job->origin, job->share,
                                       array->origin, array->share));
    }
    if (job) return *job;
    if (array) return *array;
    TARN_ASSIGN_OR_RETURN(const std::optional<ShareChoice> step, FromStep());
    if (step) return *step;
    return Contradiction(
        "nobody says which share to read: neither --share nor JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID or "
        "SLURM_PROCID is there",
        fmt::format("give --share I/{} with I from 1 to {}", shares_, shares_));
  }

 private:
  // Nothing: not set.
  Result<std::optional<uint64_t>> Number(const std::string& name) const {
    const std::optional<std::string> text = environment_(name);
    if (!text) return std::optional<uint64_t>();
    const std::optional<uint64_t> number = ParseNumber(*text);
    if (number) return number;
    return Contradiction(fmt::format("{}='{}' is no number", name, EscapeName(*text)));
  }

  Result<std::optional<ShareChoice>> FromIndexedJob() const {
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> index, Number("JOB_COMPLETION_INDEX"));
    if (!index) return std::optional<ShareChoice>();
    const std::string origin = fmt::format("JOB_COMPLETION_INDEX={}", *index);
    if (*index >= shares_) {
      return Contradiction(
          fmt::format("{} is the index of share {}, and the plan has {}", origin, *index + 1, shares_),
          fmt::format("set completions of the Job to {}", shares_));
    }
    return std::optional(ShareChoice{static_cast<uint32_t>(*index + 1), origin});
  }

  Result<std::optional<ShareChoice>> FromArray() const {
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> id, Number("SLURM_ARRAY_TASK_ID"));
    if (!id) return std::optional<ShareChoice>();
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, Number("SLURM_ARRAY_TASK_COUNT"));
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> first, Number("SLURM_ARRAY_TASK_MIN"));
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> last, Number("SLURM_ARRAY_TASK_MAX"));
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> step, Number("SLURM_ARRAY_TASK_STEP"));
    const std::string origin = fmt::format("SLURM_ARRAY_TASK_ID={}", *id);
    const std::string as_many = fmt::format("submit it with --array=1-{}, or some of these", shares_);
    if (count && *count > shares_) {
      return Contradiction(
          fmt::format(
              "SLURM_ARRAY_TASK_COUNT={}: the array has more tasks than the plan has shares, which is {}",
              *count, shares_),
          as_many);
    }
    uint64_t share = *id;
    const uint64_t stride = step && *step > 0 ? *step : 1;
    // Tasks in a row: those of a list (--array=3,7) have gaps that no step explains.
    if (count && first && last && *count == shares_ && *id >= *first &&
        *last - *first == (*count - 1) * stride) {
      share = (*id - *first) / stride + 1;
    }
    if (share == 0 || share > shares_) {
      return Contradiction(fmt::format("{} is no share of the plan, which has 1 to {}", origin, shares_),
                           as_many);
    }
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> process, Number("SLURM_PROCID"));
    if (process && *process > 0) {
      return Contradiction(
          fmt::format("{} and SLURM_PROCID={} both say a share", origin, *process),
          "run one task in each element of the array (--ntasks=1), or a step of srun without an array");
    }
    return std::optional(ShareChoice{static_cast<uint32_t>(share), origin});
  }

  Result<std::optional<ShareChoice>> FromStep() const {
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> process, Number("SLURM_PROCID"));
    if (!process) return std::optional<ShareChoice>();
    TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> tasks, Number("SLURM_NTASKS"));
    const std::string origin = fmt::format("SLURM_PROCID={}", *process);
    if (tasks && *tasks != shares_) {
      return Contradiction(fmt::format("SLURM_NTASKS={}, and the plan has {} shares", *tasks, shares_),
                           fmt::format("run it with srun --ntasks={}, or as an array, or give --share I/{}",
                                       shares_, shares_));
    }
    if (*process >= shares_) {
      return Contradiction(
          fmt::format("{} is the task of share {}, and the plan has {}", origin, *process + 1, shares_));
    }
    return std::optional(ShareChoice{static_cast<uint32_t>(*process + 1), origin});
  }

  const EnvironmentLookup& environment_;
  const uint32_t shares_;
};

}  // namespace

Result<ShareChoice> ChooseShare(const std::optional<std::string>& option,
                                const EnvironmentLookup& environment, uint32_t plan_shares) {
  const Chooser chooser(environment, plan_shares);
  return option ? chooser.FromOption(*option) : chooser.FromEnvironment();
}

}  // namespace tarn::indexer
