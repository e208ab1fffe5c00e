// How the report of a dry run is printed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/dry_run.h"
#include "indexer/left_out_json.h"
#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

using nlohmann::ordered_json;

constexpr size_t kNamed = 10;  // of anything, in the report for people

void PrintGroup(std::string_view heading, const FileGroup& group, bool named, std::ostream& out) {
  const uint64_t files = group.archives + group.loose_files;
  out << fmt::format("  {:<12}{} archives, {} loose files, {}\n", heading, group.archives, group.loose_files,
                     HumanBytes(group.bytes));
  if (!named) return;
  const size_t shown = std::min(group.paths.size(), kNamed);
  for (size_t i = 0; i < shown; ++i) out << "    " << EscapeName(group.paths[i]) << '\n';
  if (files > shown) out << fmt::format("    and {} more\n", files - shown);
}

ordered_json GroupJson(const FileGroup& group) {
  ordered_json paths = ordered_json::array();
  for (const std::string& path : group.paths) paths.push_back(EscapeName(path));
  return {{"archives", group.archives},
          {"loose_files", group.loose_files},
          {"bytes", group.bytes},
          {"paths", std::move(paths)}};
}

}  // namespace

void PrintDryRun(const DryRunReport& report, std::ostream& out) {
  out << fmt::format("dry run for {}: nothing was written\n", report.dataset);
  out << fmt::format("  newest      {}\n",
                     report.newest == 0 ? "none" : fmt::format("{}@{}", report.dataset, report.newest));
  PrintGroup("new", report.fresh, /*named=*/true, out);
  PrintGroup("changed", report.changed, /*named=*/true, out);
  PrintGroup("unchanged", report.unchanged, /*named=*/false, out);
  PrintGroup("gone", report.gone, /*named=*/true, out);
  out << fmt::format("  to read     {} files, {}\n", report.need.files,
                     HumanBytes(report.need.bytes_to_read));
  if (report.need.files > 0) {
    out << fmt::format("  time        about {:.0f} s at {}/s ({})\n", std::max(report.seconds, 1.0),
                       HumanBytes(report.bytes_per_second), report.rate_is_measured ? "measured" : "assumed");
  }
  if (report.kept.files > 0) {
    out << fmt::format("  to keep     {} files, {} ({} to copy, {})\n", report.kept.files,
                       HumanBytes(report.kept.bytes), report.kept.files_to_copy,
                       HumanBytes(report.kept.bytes_to_copy));
  }
  out << fmt::format("  space       about {} in the index root, {} are free\n",
                     HumanBytes(report.need.total()), HumanBytes(report.free_bytes));
  if (!report.refusal.ok()) out << "  refused     " << report.refusal.ToString() << '\n';
  for (const LeftOut& left_out : report.left_out) {
    out << fmt::format("  left out    {}: {}\n", EscapeName(left_out.path), left_out.reason.ToString());
  }
  for (const std::string& note : report.notes) out << "  note        " << note << '\n';
  out.flush();
}

void PrintDryRunJson(const DryRunReport& report, std::ostream& out) {
  ordered_json object = {{"dry_run", true},
                         {"dataset", report.dataset},
                         {"index", EscapeName(report.index)},
                         {"index_exists", report.index_exists},
                         {"source_path", EscapeName(report.source_path)},
                         {"newest", report.newest == 0 ? ordered_json() : ordered_json(report.newest)},
                         {"new", GroupJson(report.fresh)},
                         {"changed", GroupJson(report.changed)},
                         {"unchanged", GroupJson(report.unchanged)},
                         {"gone", GroupJson(report.gone)},
                         {"files_to_read", report.need.files},
                         {"bytes_to_read", report.need.bytes_to_read},
                         {"bytes_per_second", report.bytes_per_second},
                         {"rate", report.rate_is_measured ? "measured" : "assumed"},
                         {"seconds", report.seconds},
                         {"kept",
                          {{"files", report.kept.files},
                           {"bytes", report.kept.bytes},
                           {"files_to_copy", report.kept.files_to_copy},
                           {"bytes_to_copy", report.kept.bytes_to_copy}}},
                         {"index_bytes_needed", report.need.total()},
                         {"index_bytes_free", report.free_bytes}};
  if (!report.refusal.ok()) {
    object["refused"] = {{"code", ErrorCodeName(report.refusal.code())},
                         {"message", EscapeName(report.refusal.message())},
                         {"hint", EscapeName(report.refusal.hint())}};
  }
  object["left_out"] = LeftOutJson(report.left_out);
  object["notes"] = report.notes;
  out << object.dump() << '\n' << std::flush;
}

}  // namespace tarn::indexer
