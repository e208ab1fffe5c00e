#include "indexer/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "indexer/left_out_json.h"
#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

using nlohmann::ordered_json;

constexpr size_t kNamed = 10;  // of anything, in the report for people
constexpr size_t kFindingsInJson = 1000;

std::string Describe(const FoundIn& found) {
  std::string text = fmt::format("{} in '{}' at offset {}", tar::FindingCodeName(found.finding.code),
                                 EscapeName(found.path), found.finding.offset);
  if (!found.finding.member.empty()) text += fmt::format(", member '{}'", EscapeName(found.finding.member));
  if (!found.finding.detail.empty()) text += ": " + EscapeName(found.finding.detail);
  return text;
}

// Prints `count` things under one heading, the first of them by name.
template <typename Things, typename Name>
void PrintNamed(std::string_view heading, const Things& things, Name name, std::ostream& out) {
  if (things.empty()) return;
  out << fmt::format("  {:<12}{}\n", heading, things.size());
  for (size_t i = 0; i < std::min(things.size(), kNamed); ++i) out << "    " << name(things[i]) << '\n';
  if (things.size() > kNamed) out << fmt::format("    and {} more\n", things.size() - kNamed);
}

std::map<std::string, size_t> CountByCode(const std::vector<FoundIn>& findings) {
  std::map<std::string, size_t> counts;
  for (const FoundIn& found : findings) ++counts[std::string(tar::FindingCodeName(found.finding.code))];
  return counts;
}

void PrintFindings(const PublishReport& report, std::ostream& out) {
  if (report.warnings + report.errors == 0) {
    out << "  findings    none\n";
    return;
  }
  out << fmt::format("  findings    {} errors, {} warnings\n", report.errors, report.warnings);
  for (const auto& [code, count] : CountByCode(report.findings)) {
    const auto first =
        std::find_if(report.findings.begin(), report.findings.end(),
                     [&](const FoundIn& found) { return tar::FindingCodeName(found.finding.code) == code; });
    out << fmt::format("    {} x {}\n", count, Describe(*first));
  }
}

std::string FirstErrorOf(const PublishReport& report, const std::string& path) {
  const auto found =
      std::find_if(report.findings.begin(), report.findings.end(), [&](const FoundIn& candidate) {
        return candidate.path == path && candidate.finding.severity == tar::Severity::kError;
      });
  return found == report.findings.end() ? EscapeName(path) : EscapeName(path) + ": " + Describe(*found);
}

// Nothing is said of a generation of which nothing is kept.
void PrintKept(const PublishReport& report, std::ostream& out) {
  if (!report.kept || report.kept->files == 0) return;
  out << fmt::format("  kept        {} files, {} ({} copied now, {})\n", report.kept->files,
                     HumanBytes(report.kept->bytes), report.kept->copied_files,
                     HumanBytes(report.kept->copied_bytes));
}

ordered_json DescribeKept(const std::optional<KeptFacts>& kept) {
  if (!kept) return nullptr;
  return {{"files", kept->files},
          {"bytes", kept->bytes},
          {"copied_files", kept->copied_files},
          {"copied_bytes", kept->copied_bytes},
          {"missed", kept->missed}};
}

ordered_json DescribePlan(const PlanFacts& plan) {
  ordered_json object = {{"id", plan.id},
                         {"shares", plan.shares},
                         {"missing_shares", plan.missing},
                         {"changed", ordered_json::array()}};
  for (const ChangedSince& changed : plan.changed) {
    object["changed"].push_back(
        {{"path", EscapeName(changed.path)}, {"share", changed.share}, {"why", EscapeName(changed.why)}});
  }
  return object;
}

}  // namespace

void PrintReport(const PublishReport& report, std::ostream& out) {
  if (report.refusal.ok()) {
    out << fmt::format("{} {}@{}\n", report.published ? "published" : "nothing changed:", report.dataset,
                       report.generation);
    out << fmt::format("  digest      {}\n", report.digest);
    out << fmt::format("  archives    {}\n  loose files {}\n  members     {}\n  bytes       {} ({})\n",
                       report.archives, report.loose_files, report.members, report.bytes,
                       HumanBytes(report.bytes));
  }
  out << fmt::format("  read        {} files, {} in {:.1f} s", report.files_read,
                     HumanBytes(report.bytes_read), report.seconds);
  if (report.bytes_read > 0 && report.seconds > 0) {
    out << fmt::format(" ({:.0f} MB/s)", static_cast<double>(report.bytes_read) / report.seconds / 1e6);
  }
  out << '\n';
  out << fmt::format("  unchanged   {} files, not read\n", report.files_unchanged);
  PrintKept(report, out);
  PrintFindings(report, out);
  PrintNamed(
      "quarantined", report.quarantined, [&](const std::string& path) { return FirstErrorOf(report, path); },
      out);
  PrintNamed(
      "left out", report.left_out,
      [](const LeftOut& left_out) { return EscapeName(left_out.path) + ": " + left_out.reason.ToString(); },
      out);
  PrintNamed(
      "notes", report.notes, [](const std::string& note) { return note; }, out);
  out.flush();
}

void PrintReportJson(const PublishReport& report, std::ostream& out) {
  ordered_json object;
  object["dataset"] = report.dataset;
  object["index"] = EscapeName(report.index);
  object["source_path"] = EscapeName(report.source_path);
  object["published"] = report.published;
  if (report.refusal.ok()) {
    object["generation"] = report.generation;
    object["reference"] = fmt::format("{}@{}", report.dataset, report.generation);
    object["digest"] = report.digest;
    object["archives"] = report.archives;
    object["loose_files"] = report.loose_files;
    object["members"] = report.members;
    object["bytes"] = report.bytes;
  } else {
    object["refused"] = {{"code", ErrorCodeName(report.refusal.code())},
                         {"message", report.refusal.message()},
                         {"hint", report.refusal.hint()}};
  }
  object["bytes_read"] = report.bytes_read;
  object["files_read"] = report.files_read;
  object["files_unchanged"] = report.files_unchanged;
  object["bundles_reused"] = report.bundles_reused;
  object["seconds"] = report.seconds;
  object["kept"] = DescribeKept(report.kept);
  object["warnings"] = report.warnings;
  object["errors"] = report.errors;
  object["findings_by_code"] = CountByCode(report.findings);
  object["findings"] = ordered_json::array();
  for (size_t i = 0; i < std::min(report.findings.size(), kFindingsInJson); ++i) {
    const FoundIn& found = report.findings[i];
    object["findings"].push_back({{"path", EscapeName(found.path)},
                                  {"code", tar::FindingCodeName(found.finding.code)},
                                  {"severity", tar::SeverityName(found.finding.severity)},
                                  {"offset", found.finding.offset},
                                  {"member", EscapeName(found.finding.member)},
                                  {"detail", EscapeName(found.finding.detail)}});
  }
  object["quarantined"] = ordered_json::array();
  for (const std::string& path : report.quarantined) object["quarantined"].push_back(EscapeName(path));
  object["left_out"] = LeftOutJson(report.left_out);
  object["notes"] = report.notes;
  if (report.plan) object["plan"] = DescribePlan(*report.plan);
  out << object.dump() << '\n' << std::flush;
}

void PrintErrorJson(const Status& status, std::ostream& out) {
  const ordered_json object = {{"error",
                                {{"code", ErrorCodeName(status.code())},
                                 {"message", EscapeName(status.message())},
                                 {"hint", EscapeName(status.hint())}}}};
  out << object.dump() << '\n' << std::flush;
}

}  // namespace tarn::indexer
