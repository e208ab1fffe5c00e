#include "bench/read_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/units.h"

namespace tarn::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunResult MakeRun(unsigned number, double seconds) {
  RunResult run;
  run.run = number;
  run.position = 1;
  run.seed = 42;
  run.cache_method = "drop_caches";
  run.measured.seconds = seconds;
  run.measured.steps = 1000;
  run.measured.all_steps = 1010;
  run.measured.bytes = 100'000'000;
  run.measured.all_bytes = 101'000'000;
  run.measured.requests = 2000;
  run.measured.client_cpu_ns = 10'100'000;
  for (int i = 0; i < 1000; ++i) run.measured.latency.Add(100'000);
  run.source = SourceCount{151'500'000, 1500};
  return run;
}

// raw takes 1 s a run, mount 2 s; the mount's second run does not count.
ReadReport MakeReport() {
  ReadReport report;
  report.environment = {{"machine", "kernel", "Linux 6"}, {"dataset", "name", "imagenet@7"}};
  ContestantResult raw{{"raw", ContestantKind::kRaw, ""}, {MakeRun(1, 1), MakeRun(2, 1), MakeRun(3, 1)}};
  ContestantResult mount{{"mount", ContestantKind::kFiles, "/mnt"},
                         {MakeRun(1, 2), MakeRun(2, 0.1), MakeRun(3, 2)}};
  for (RunResult& run : mount.runs) run.server_cpu_ns = 20'200'000;
  mount.runs[1].invalid = "cached: the source delivered 0 B, of \"all\"";
  report.results.push_back({{CacheState::kCold, ReadUnit::kMember, 0, 0, {}, 4, 1}, {raw, mount}});
  return report;
}

TEST(ReadReportTest, FiguresHaveTheUnitsTheyAreCalledBy) {
  const ReadReport report = MakeReport();
  const ContestantResult& mount = report.results[0].contestants[1];
  EXPECT_DOUBLE_EQ(Over(mount, "members_per_second")->median, 500);
  EXPECT_DOUBLE_EQ(Over(mount, "mb_per_second")->median, 50);
  EXPECT_DOUBLE_EQ(Over(mount, "mib_per_second")->median, 50e6 / (1 << 20));
  EXPECT_DOUBLE_EQ(Over(mount, "iops")->median, 1000);
  EXPECT_DOUBLE_EQ(Over(mount, "client_cpu_us_per_member")->median, 10);
  EXPECT_DOUBLE_EQ(Over(mount, "server_cpu_us_per_member")->median, 20);
  EXPECT_DOUBLE_EQ(Over(mount, "cpu_us_per_member")->median, 30);
  EXPECT_DOUBLE_EQ(Over(mount, "source_bytes_per_byte")->median, 1.5);
  EXPECT_DOUBLE_EQ(Over(mount, "latency_p99_us")->median, 100);
  EXPECT_EQ(Over(report.results[0].contestants[0], "server_cpu_us_per_member"), std::nullopt);
}

TEST(ReadReportTest, RunsThatDoNotCountAreInNoFigureAndAreSaid) {
  const ReadReport report = MakeReport();
  const auto& contestants = report.results[0].contestants;
  const auto ratio = RatioToRaw(contestants[0], contestants[1]);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->runs, 2U);
  EXPECT_DOUBLE_EQ(ratio->median, 0.5);
  EXPECT_THAT(InvalidRuns(report), ElementsAre(HasSubstr("mount, run 2: cached")));
  EXPECT_THAT(ToMarkdown(report), HasSubstr("1 runs are INVALID"));
  EXPECT_THAT(ToSvg(report), HasSubstr("INVALID: cold"));
}

TEST(ReadReportTest, JsonNamesItsSchemaAndHasEveryPart) {
  const auto json = nlohmann::json::parse(ToJson(MakeReport()));
  EXPECT_EQ(json.at("schema_version"), kReportSchemaVersion);
  EXPECT_EQ(json.at("command"), "read");
  EXPECT_EQ(json.at("valid"), false);
  EXPECT_EQ(json.at("invalid_runs").size(), 1U);
  EXPECT_EQ(json.at("environment").at("dataset").at("name"), "imagenet@7");
  const auto& configuration = json.at("configurations").at(0);
  for (const char* key : {"cache", "unit", "distribution", "processes", "threads"})
    EXPECT_TRUE(configuration.contains(key)) << key;
  const auto& mount = configuration.at("contestants").at(1);
  EXPECT_EQ(mount.at("name"), "mount");
  EXPECT_EQ(mount.at("valid"), false);
  EXPECT_DOUBLE_EQ(mount.at("ratio_to_raw").at("median"), 0.5);
  EXPECT_EQ(mount.at("summary").at("members_per_second").at("runs"), 2);
  EXPECT_EQ(mount.at("runs").size(), 3U);
  EXPECT_EQ(mount.at("runs").at(1).at("valid"), false);
  EXPECT_TRUE(mount.at("runs").at(1).contains("invalid_because"));
  for (const Metric& metric : Metrics()) {
    const bool known = std::string_view(metric.key) != "process_bytes_per_byte";
    EXPECT_EQ(mount.at("runs").at(0).contains(metric.key), known) << metric.key;
  }
}

// The fields of a line of CSV, quotes undone.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

TEST(ReadReportTest, CsvHasARowForEveryRunAndAFieldForEveryColumn) {
  const auto lines = Split(ToCsv(MakeReport()), '\n');
  ASSERT_EQ(lines.size(), 8U);  // head, six runs, the end
  EXPECT_TRUE(lines.back().empty());
  const auto head = Fields(lines[0]);
  for (size_t i = 1; i < 7; ++i) EXPECT_EQ(Fields(lines[i]).size(), head.size()) << lines[i];
  EXPECT_EQ(head.back(), "invalid_because");
  EXPECT_EQ(Fields(lines[5]).back(), "cached: the source delivered 0 B, of \"all\"");
  EXPECT_EQ(Fields(lines[5])[head.size() - 2], "no");
}

}  // namespace
}  // namespace tarn::bench
