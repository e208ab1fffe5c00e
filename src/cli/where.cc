// tarn where: which generations hold an archive, and under which path.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_reader.h"

namespace tarn::cli {
namespace {

struct WhereArguments {
  std::string id;
  PlaceOptions places;
  bool json = false;
};

// What is looked for: an ArchiveId, or the digest alone, as `xxh128sum` prints it.
struct Wanted {
  std::optional<ArchiveId> id;
  std::optional<Digest> digest;

  bool Is(const ArchiveId& other) const { return id ? other == *id : other.digest == *digest; }
};

class Search {
 public:
  Search(Wanted wanted, const WhereArguments& arguments, std::ostream* out)
      : wanted_(wanted), arguments_(arguments), out_(out) {}

  size_t found() const { return found_; }

  Status InRoot(const index::IndexRoot& root) {
    TARN_ASSIGN_OR_RETURN(const auto names, root.Datasets());
    for (const std::string& name : names) {
      TARN_ASSIGN_OR_RETURN(const auto generations, root.AllGenerations(name));
      for (const uint32_t number : generations) {
        TARN_ASSIGN_OR_RETURN(const auto reader,
                              index::GenerationReader::Open(root.GenerationPath(name, number)));
        TARN_RETURN_IF_ERROR(InGeneration(*reader, root.IsRetired(name, number)));
      }
    }
    return Status::Ok();
  }

 private:
  Status InGeneration(const index::GenerationReader& reader, bool retired) {
    return reader.ForEachManifestRow([&](const index::ManifestRow& row) {
      if (wanted_.Is(row.id)) Print(reader.facts(), row, retired);
      return Status::Ok();
    });
  }

  void Print(const index::GenerationFacts& facts, const index::ManifestRow& row, bool retired) {
    ++found_;
    const char* const kind = row.kind == index::ManifestKind::kArchive     ? "archive"
                             : row.kind == index::ManifestKind::kLooseFile ? "loose file"
                                                                           : "quarantined";
    if (arguments_.json) {
      *out_ << nlohmann::ordered_json{{"dataset", facts.dataset},
                                      {"generation", facts.generation},
                                      {"retired", retired},
                                      {"path", EscapeName(row.path)},
                                      {"kind", kind},
                                      {"archive_id", row.id.ToString()},
                                      {"members", row.members}}
                   .dump()
            << '\n';
      return;
    }
    *out_ << fmt::format("{}@{}:{}{}{}\n", facts.dataset, facts.generation, EscapeName(row.path),
                         row.kind == index::ManifestKind::kQuarantined ? "  (quarantined)" : "",
                         retired ? "  (retired)" : "");
  }

  const Wanted wanted_;
  const WhereArguments& arguments_;
  std::ostream* const out_;
  size_t found_ = 0;
};

}  // namespace

int RunWhere(const Program& program) {
  constexpr char kName[] = "tarn where";
  const auto app = MakeCommandLine(kName, "Print every generation and path that an archive is published at.");
  WhereArguments arguments;
  app->add_option("ARCHIVE_ID", arguments.id, "<size>-<digest>, or the digest that xxh128sum prints")
      ->required();
  AddIndexOption(app.get(), &arguments.places);
  app->add_flag("--json", arguments.json, "One JSON object a line");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  const Wanted wanted{ArchiveId::FromString(arguments.id), Digest::FromHex(arguments.id)};
  if (!wanted.id && !wanted.digest) {
    return program.Fail(
        kName, Status(ErrorCode::kInvalidArgument, "'" + EscapeName(arguments.id) + "' is no ArchiveId")
                   .WithHint("it is <size>-<32 hex digits>, as 'tarn stat' prints it; the "
                             "digits alone will do: 'xxh128sum FILE' prints them"));
  }
  const auto root = OpenIndexRoot(Config(program), arguments.places);
  if (!root.ok()) return program.Fail(kName, root.status());
  Search search(wanted, arguments, program.out);
  if (const Status status = search.InRoot(**root); !status.ok()) return program.Fail(kName, status);
  program.out->flush();
  if (search.found() > 0) return static_cast<int>(ExitCode::kOk);
  *program.err << fmt::format("{}: no generation of '{}' holds {}\n", kName, (*root)->path(), arguments.id);
  return static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace tarn::cli
