// tarn-index gc: takes away what nobody needs any more.
#include "tarn/index/gc.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/journal.h"
#include "indexer/plan_store.h"
#include "indexer/root_command.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Takes retired generations whose grace is over, bundles and kept files that no generation names, and "
    "what killed "
    "publishes "
    "left in staging. What a job holds stays, and the newest generation of each dataset.\n"
    "The grace is for those who still have a retired generation open: on the same machine they read on in "
    "any "
    "case; on another one a file server may answer them with 'stale file handle'.\n"
    "Exit codes: 0 done; 1 a generation could not be read, so no bundle was taken; 2 usage; 3 input, output "
    "or "
    "the machine.";

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

// Archives that plans name, and those in journals that were written within the grace: publishes that were
// interrupted and will go on.
Result<std::set<ArchiveId>> InPlansAndJournals(const index::IndexRoot& root,
                                               const index::GcOptions& options) {
  TARN_ASSIGN_OR_RETURN(std::set<ArchiveId> ids, NamedByPlans(root));
  const std::string journals = io::JoinPath(root.staging_path(), "journals");
  if (!io::IsDirectory(journals)) return ids;
  TARN_RETURN_IF_ERROR(io::WalkFiles(journals, [&](const std::string& path, const io::FileFacts& facts) {
    if (options.now_seconds - facts.mtime_ns / kNanosecondsPerSecond >= options.grace_seconds)
      return Status::Ok();
    const Result<std::string> text = io::ReadFile(path, size_t{4} << 30);
    if (text.code() == ErrorCode::kNotFound) return Status::Ok();
    if (!text.ok()) return text.status();
    for (std::string_view rest = *text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (const auto known = ParseJournalLine(line)) ids.insert(known->id);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    return Status::Ok();
  }));
  return ids;
}

void PrintJson(const index::GcReport& report, bool dry_run, std::ostream& out) {
  nlohmann::ordered_json json = {{"dry_run", dry_run},
                                 {"generations", nlohmann::ordered_json::array()},
                                 {"bundles", report.bundles},
                                 {"bundle_bytes", report.bundle_bytes},
                                 {"kept_files", report.kept_files},
                                 {"kept_bytes", report.kept_bytes},
                                 {"staging", report.staging},
                                 {"staging_bytes", report.staging_bytes},
                                 {"expired_holds", nlohmann::ordered_json::array()},
                                 {"freed_bytes", report.freed_bytes},
                                 {"kept", nlohmann::ordered_json::array()},
                                 {"whole", report.whole}};
  for (const auto& taken : report.generations) {
    json["generations"].push_back({{"dataset", taken.dataset}, {"generation", taken.generation}});
  }
  for (const index::Hold& hold : report.expired_holds) {
    json["expired_holds"].push_back({{"dataset", hold.dataset},
                                     {"generation", hold.generation},
                                     {"job", EscapeName(hold.job)},
                                     {"until", FormatTimestamp(hold.until)}});
  }
  for (const auto& kept : report.kept) json["kept"].push_back({{"what", kept.what}, {"why", kept.why}});
  out << json.dump(2) << '\n';
}

void Print(const index::GcReport& report, bool dry_run, std::ostream& out) {
  const char* const did = dry_run ? "would remove" : "removed";
  for (const auto& taken : report.generations) {
    out << fmt::format("{} generation {}@{}\n", did, taken.dataset, taken.generation);
  }
  out << fmt::format("{} {} bundles ({})\n", did, report.bundles, HumanBytes(report.bundle_bytes));
  if (report.kept_files > 0) {
    out << fmt::format("{} {} kept files ({})\n", did, report.kept_files, HumanBytes(report.kept_bytes));
  }
  out << fmt::format("{} {} unfinished works ({})\n", did, report.staging, HumanBytes(report.staging_bytes));
  for (const index::Hold& hold : report.expired_holds) {
    out << fmt::format("removed a hold that ended: {}\n", hold.ToString());
  }
  for (const auto& kept : report.kept) out << fmt::format("kept {}: {}\n", kept.what, kept.why);
  out << fmt::format("{} {}\n", dry_run ? "would free" : "freed", HumanBytes(report.freed_bytes));
}

}  // namespace

int RunGc(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index gc"};
  std::string grace = FormatDuration(index::kDefaultGraceSeconds);
  index::GcOptions options;
  const auto app = cli::MakeCommandLine(command.name, "Take away what nobody needs any more.");
  app->footer(kFooter);
  AddIndexOption(app.get(), &command);
  AddHoldsOption(app.get(), &command);
  app->add_option("--grace", grace, "how long ago it must have been retired, or a bundle written: 12h, 7d")
      ->type_name("DURATION")
      ->capture_default_str();
  app->add_flag("--dry-run", options.dry_run, "say what would go, change nothing");
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const auto seconds = ParseDuration(grace);
  if (!seconds.ok()) return command.Fail(Status(seconds.status()).WithContext("--grace"));
  options.grace_seconds = *seconds;
  options.now_seconds = SecondsNow();
  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  const auto holds = command.OpenHolds(**root);
  if (!holds.ok()) return command.Fail(holds.status());
  options.named_elsewhere = [&] { return InPlansAndJournals(**root, options); };
  // Before bundles are looked at: those of a plan that goes are then named by nobody.
  const auto stale = RemoveStalePlans(**root, options.now_seconds, options.grace_seconds, options.dry_run);
  if (!stale.ok()) return command.Fail(stale.status());
  auto report = index::CollectGarbage(root->get(), *holds, options);
  if (!report.ok()) return command.Fail(report.status());
  report->staging += stale->plans;
  report->staging_bytes += stale->bytes;
  report->freed_bytes += stale->bytes;
  if (command.json) {
    PrintJson(*report, options.dry_run, *program.out);
  } else {
    Print(*report, options.dry_run, *program.out);
  }
  return static_cast<int>(report->whole ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::indexer
