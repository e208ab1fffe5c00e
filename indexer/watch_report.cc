#include "indexer/watch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/base/timestamp.h"

namespace tarn::indexer {
namespace {

using dataset::ArchiveVerdict;
using dataset::PatrolEvent;
using Json = nlohmann::ordered_json;

constexpr std::string_view kTouched = "touched";

std::string_view HelpFor(const PatrolEvent& event) {
  if (event.kind == PatrolEvent::Kind::kAsPublished) return "nothing to do";
  if (event.kind == PatrolEvent::Kind::kTouched) {
    return event.will_be_scrubbed ? "it is scrubbed next; mounts check each chunk until then"
                                  : "mounts check each chunk; a watch that scrubs (--scrub-period above 0, "
                                    "or --scrub) reads it once for "
                                    "all";
  }
  switch (event.verdict.state) {
    case ArchiveVerdict::State::kVerified:
      return "nothing to do; publishing the dataset again makes it known under its new time or place";
    case ArchiveVerdict::State::kChanged:
      return "restore the file, or publish the dataset again and retire the generations before";
    case ArchiveVerdict::State::kMissing:
      return "put the file back, check that the source is mounted, or publish the dataset where it is now";
    case ArchiveVerdict::State::kUnreadable:
      return "check the file server, and that this user may read the file";
  }
  return "";
}

std::string_view KindOf(const PatrolEvent& event) {
  if (event.kind == PatrolEvent::Kind::kAsPublished) return "as published";
  return event.kind == PatrolEvent::Kind::kTouched ? kTouched : dataset::VerdictName(event.verdict.state);
}

LogLevel LevelOf(const PatrolEvent& event) {
  const bool bad =
      event.kind == PatrolEvent::Kind::kVerdict && event.verdict.state != ArchiveVerdict::State::kVerified;
  return bad ? LogLevel::kWarning : LogLevel::kInfo;
}

Json ToJson(const dataset::UnpublishedArchives& archives) {
  Json names = Json::array();
  for (const std::string& name : archives.names) names.push_back(EscapeName(name));
  return {{"count", archives.count}, {"oldest_mtime", archives.oldest_mtime}, {"names", names}};
}

Json ToJson(const ArchiveVerdict& verdict) {
  return {{"path", EscapeName(verdict.path)},
          {"archive_id", verdict.id.ToString()},
          {"state", dataset::VerdictName(verdict.state)},
          {"found_at", EscapeName(verdict.found_at)},
          {"since", verdict.since},
          {"message", EscapeName(verdict.message)}};
}

Json ToJson(const dataset::PatrolTotals& totals) {
  return {{"files", totals.files},           {"as_published", totals.as_published},
          {"touched", totals.touched},       {"verified", totals.verified},
          {"changed", totals.changed},       {"missing", totals.missing},
          {"unreadable", totals.unreadable}, {"unseen", totals.unseen}};
}

std::string Describe(const dataset::UnpublishedArchives& archives) {
  if (archives.count == 0) return "every archive is published";
  return fmt::format("{} archives are not published, the oldest since {}: '{}'{}", archives.count,
                     FormatTimestamp(archives.oldest_mtime),
                     archives.names.empty() ? "" : EscapeName(archives.names.front()),
                     archives.count > 1 ? " and others" : "");
}

}  // namespace

// ---- Events -----------------------------------------------------------------------------------------------

void WatchLog::Archive(const PatrolEvent& event) const {
  const ArchiveVerdict& verdict = event.verdict;
  if (json_) {
    *out_ << Json{{"event", KindOf(event)},
                  {"time", FormatTimestamp(SecondsNow())},
                  {"dataset", event.dataset},
                  {"path", EscapeName(verdict.path)},
                  {"archive_id", verdict.id.ToString()},
                  {"since", FormatTimestamp(verdict.since)},
                  {"message", EscapeName(verdict.message)},
                  {"help", HelpFor(event)}}
                 .dump()
          << std::endl;
    return;
  }
  Log(LevelOf(event),
      fmt::format("{}: '{}' is {}: {}, since {}; {}", event.dataset, EscapeName(verdict.path), KindOf(event),
                  EscapeName(verdict.message), FormatTimestamp(verdict.since), HelpFor(event)));
}

void WatchLog::Unpublished(const std::string& dataset, const dataset::UnpublishedArchives& archives) const {
  if (json_) {
    Json line = {{"event", "unpublished"}, {"time", FormatTimestamp(SecondsNow())}, {"dataset", dataset}};
    line.update(ToJson(archives));
    *out_ << line.dump() << std::endl;
    return;
  }
  Log(LogLevel::kInfo, fmt::format("{}: {}", dataset, Describe(archives)));
}

void WatchLog::Published(const std::string& dataset, uint32_t generation) const {
  if (json_) {
    *out_ << Json{{"event", "published"},
                  {"time", FormatTimestamp(SecondsNow())},
                  {"dataset", dataset},
                  {"generation", generation}}
                 .dump()
          << std::endl;
    return;
  }
  Log(LogLevel::kInfo, fmt::format("{}: published as {}@{}", dataset, dataset, generation));
}

void WatchLog::Problem(const std::string& dataset, const Status& status) const {
  if (json_) {
    *out_ << Json{{"event", "problem"},
                  {"time", FormatTimestamp(SecondsNow())},
                  {"dataset", dataset},
                  {"message", EscapeName(status.message())},
                  {"help", EscapeName(status.hint())}}
                 .dump()
          << std::endl;
    return;
  }
  Log(LogLevel::kError, dataset.empty() ? status.ToString() : dataset + ": " + status.ToString());
}

void WatchLog::Note(const std::string& line) const {
  if (json_) {
    *out_ << Json{{"event", "note"}, {"time", FormatTimestamp(SecondsNow())}, {"message", line}}.dump()
          << std::endl;
    return;
  }
  Log(LogLevel::kInfo, line);
}

// ---- The report -------------------------------------------------------------------------------------------

bool WatchedDataset::Sound() const {
  const bool all_there = totals.touched + totals.changed + totals.missing + totals.unreadable == 0;
  return all_there && states.unpublished && states.unpublished->count == 0;
}

bool WatchReport::Sound() const {
  return problems.empty() && std::all_of(datasets.begin(), datasets.end(),
                                         [](const WatchedDataset& watched) { return watched.Sound(); });
}

void PrintWatchReport(const WatchReport& report, std::ostream& out) {
  for (const WatchedDataset& watched : report.datasets) {
    const dataset::PatrolTotals& totals = watched.totals;
    const std::string& name = watched.states.dataset;
    out << fmt::format("{}: {} files{}: {} as published", name, totals.files,
                       report.scrubbed ? ", every byte read" : "", totals.as_published);
    const std::pair<uint64_t, std::string_view> kOthers[] = {
        {totals.touched, kTouched},  {totals.verified, "verified"},     {totals.changed, "changed"},
        {totals.missing, "missing"}, {totals.unreadable, "unreadable"}, {totals.unseen, "not looked at yet"}};
    for (const auto& [count, word] : kOthers) {
      if (count > 0) out << fmt::format(", {} {}", count, word);
    }
    out << '\n';
    for (const ArchiveVerdict& verdict : watched.states.verdicts) {
      const PatrolEvent event{.kind = PatrolEvent::Kind::kVerdict, .dataset = name, .verdict = verdict};
      out << fmt::format("{}: '{}' is {}: {}, since {}; {}\n", name, EscapeName(verdict.path), KindOf(event),
                         EscapeName(verdict.message), FormatTimestamp(verdict.since), HelpFor(event));
    }
    if (watched.states.unpublished)
      out << fmt::format("{}: {}\n", name, Describe(*watched.states.unpublished));
    for (const uint32_t generation : watched.published) {
      out << fmt::format("{}: published as {}@{}\n", name, name, generation);
    }
  }
  for (const std::string& problem : report.problems) out << problem << '\n';
}

void PrintWatchReportJson(const WatchReport& report, std::ostream& out) {
  Json datasets = Json::array();
  for (const WatchedDataset& watched : report.datasets) {
    Json verdicts = Json::array();
    for (const ArchiveVerdict& verdict : watched.states.verdicts) verdicts.push_back(ToJson(verdict));
    Json object = {{"dataset", watched.states.dataset}, {"sound", watched.Sound()}};
    object.update(ToJson(watched.totals));
    object["verdicts"] = std::move(verdicts);
    object["unpublished"] = watched.states.unpublished ? ToJson(*watched.states.unpublished) : Json();
    object["published"] = watched.published;
    datasets.push_back(std::move(object));
  }
  Json problems = Json::array();
  for (const std::string& problem : report.problems) problems.push_back(EscapeName(problem));
  out << Json{{"sound", report.Sound()},
              {"scrubbed", report.scrubbed},
              {"datasets", std::move(datasets)},
              {"problems", std::move(problems)}}
             .dump(2)
      << '\n';
}

}  // namespace tarn::indexer
