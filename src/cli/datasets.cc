// tarn datasets: what is published in an index root.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/index/generation_reader.h"

namespace tarn::cli {
namespace {

struct DatasetsArguments {
  std::vector<std::string> names;
  PlaceOptions places;
  bool all = false;
  bool json = false;
};

class Table {
 public:
  Table(const DatasetsArguments& arguments, std::ostream* out) : arguments_(arguments), out_(out) {}

  void Add(const index::GenerationFacts& facts, bool latest, size_t generations);
  void Finish();

 private:
  static constexpr size_t kColumns = 8;
  using Row = std::vector<std::string>;

  const DatasetsArguments& arguments_;
  std::ostream* const out_;
  std::vector<Row> rows_ = {
      {"DATASET", "GENERATIONS", "DIGEST", "ARCHIVES", "LOOSE", "MEMBERS", "BYTES", "PUBLISHED"}};
};

void Table::Add(const index::GenerationFacts& facts, bool latest, size_t generations) {
  if (!arguments_.json) {
    std::string archives = std::to_string(facts.archives);
    if (facts.quarantined > 0) archives += fmt::format(" (+{} quarantined)", facts.quarantined);
    rows_.push_back({fmt::format("{}@{}", facts.dataset, facts.generation), std::to_string(generations),
                     facts.digest.ToHex(), std::move(archives), std::to_string(facts.loose_files),
                     std::to_string(facts.members), HumanBytes(facts.bytes), FormatTimestamp(facts.created)});
    return;
  }
  nlohmann::ordered_json line;
  line["dataset"] = facts.dataset;
  line["generation"] = facts.generation;
  line["latest"] = latest;
  line["generations"] = generations;
  line["digest"] = facts.digest.ToHex();
  line["archives"] = facts.archives;
  line["loose_files"] = facts.loose_files;
  line["quarantined"] = facts.quarantined;
  line["members"] = facts.members;
  line["bytes"] = facts.bytes;
  line["published"] = FormatTimestamp(facts.created);
  line["source_path"] = EscapeName(facts.source_path);
  line["writer"] = facts.writer;
  *out_ << line.dump() << '\n';
}

// Numbers to the right, words to the left; nothing behind the last column.
void Table::Finish() {
  if (arguments_.json) return;
  std::vector<size_t> widths(kColumns);
  for (const Row& row : rows_) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows_) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) {
      const bool word = i == 0 || i == 2 || i == kColumns - 1;
      if (i > 0) line += "  ";
      line += word ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    *out_ << line << '\n';
  }
}

Status AddDataset(const index::IndexRoot& root, const std::string& name, bool all, Table* table) {
  // Asked first, as it has the nearest name for one that is not there.
  TARN_ASSIGN_OR_RETURN(const uint32_t latest, root.Latest(name));
  TARN_ASSIGN_OR_RETURN(std::vector<uint32_t> generations, root.Generations(name));
  const size_t count = generations.size();
  if (!all) generations = {latest};
  for (auto number = generations.rbegin(); number != generations.rend(); ++number) {
    TARN_ASSIGN_OR_RETURN(const auto reader,
                          index::GenerationReader::Open(root.GenerationPath(name, *number)));
    table->Add(reader->facts(), *number == latest, count);
  }
  return Status::Ok();
}

}  // namespace

int RunDatasets(const Program& program) {
  const auto app =
      MakeCommandLine("tarn datasets", "List the datasets of an index root, the newest generation of each.");
  DatasetsArguments arguments;
  app->add_option("NAME", arguments.names, "Datasets to list (default: all)");
  AddIndexOption(app.get(), &arguments.places);
  app->add_flag("-a,--all", arguments.all, "Every generation, the newest first");
  app->add_flag("--json", arguments.json, "One JSON object a line");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  const Config config(program);
  const auto root = OpenIndexRoot(config, arguments.places);
  if (!root.ok()) return program.Fail("tarn datasets", root.status());
  std::vector<std::string> names = arguments.names;
  if (names.empty()) {
    auto all_names = (*root)->Datasets();
    if (!all_names.ok()) return program.Fail("tarn datasets", all_names.status());
    names = std::move(all_names).value();
  }
  int code = static_cast<int>(ExitCode::kOk);
  Table table(arguments, program.out);
  for (const std::string& name : names) {
    const Status status = AddDataset(**root, name, arguments.all, &table);
    // A dataset whose first publish has not finished, or whose generations are all retired, lists nothing.
    if (status.code() == ErrorCode::kNotFound && arguments.names.empty()) continue;
    if (!status.ok()) code = program.Fail("tarn datasets", status);
  }
  table.Finish();
  program.out->flush();
  return code;
}

}  // namespace tarn::cli
