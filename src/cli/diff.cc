// tarn diff: what is different between two generations, from their indexes alone.
//
// Files are compared by path and ArchiveId; one that is at another path with the same bytes has moved.
// Archives whose bytes differ are compared member by member, two sorted listings side by side, so that memory
// goes by the largest directory. An index has no digest of single members: one that kept type, size, mode,
// time and link is taken as unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "cli/index_view.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"

namespace tarn::cli {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
  PlaceOptions places;
  bool files_only = false;
  bool json = false;
};

struct Side {
  std::shared_ptr<const index::GenerationReader> reader;
  std::unique_ptr<IndexView> view;
  std::map<std::string, index::ManifestRow> files;  // by path
};

Result<Side> OpenSide(const index::IndexRoot& root, const std::string& text) {
  TARN_ASSIGN_OR_RETURN(const auto reference, index::DatasetReference::Parse(text));
  TARN_ASSIGN_OR_RETURN(const uint32_t number, root.Resolve(reference));
  Side side;
  TARN_ASSIGN_OR_RETURN(side.reader,
                        index::GenerationReader::Open(root.GenerationPath(reference.name, number)));
  TARN_ASSIGN_OR_RETURN(side.view, IndexView::Open(side.reader, {}));
  TARN_RETURN_IF_ERROR(side.reader->ForEachManifestRow([&side](const index::ManifestRow& row) {
    side.files.emplace(row.path, row);
    return Status::Ok();
  }));
  return side;
}

class Differences {
 public:
  Differences(const Side& before, const Side& after, const DiffArguments& arguments, std::ostream* out)
      : before_(before), after_(after), arguments_(arguments), out_(out) {}

  Status Find() {
    std::multimap<ArchiveId, const index::ManifestRow*> left;  // those that are at their path no more
    for (const auto& [path, row] : before_.files) {
      if (!after_.files.contains(path)) left.emplace(row.id, &row);
    }
    for (const auto& [path, row] : after_.files) {
      const auto was = before_.files.find(path);
      if (was != before_.files.end()) {
        TARN_RETURN_IF_ERROR(CompareFiles(was->second, row));
        continue;
      }
      const auto moved = left.find(row.id);
      if (moved == left.end()) {
        Print("added", "file", path, {{"members", row.members}});
        continue;
      }
      Print("moved", "file", path, {{"from", EscapeName(moved->second->path)}});
      left.erase(moved);
    }
    std::vector<const index::ManifestRow*> removed;
    for (const auto& [id, row] : left) removed.push_back(row);
    std::sort(removed.begin(), removed.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
    for (const index::ManifestRow* row : removed) {
      Print("removed", "file", row->path, {{"members", row->members}});
    }
    return Status::Ok();
  }

  uint64_t count() const { return count_; }

 private:
  using Listing = std::vector<std::pair<std::string, NodeFacts>>;

  Status CompareFiles(const index::ManifestRow& was, const index::ManifestRow& is) {
    if (was.id == is.id && was.kind == is.kind) return Status::Ok();
    Print("changed", "file", is.path,
          {{"archive_id", is.id.ToString()}, {"was_archive_id", was.id.ToString()}});
    if (arguments_.files_only || was.kind != index::ManifestKind::kArchive ||
        is.kind != index::ManifestKind::kArchive) {
      return Status::Ok();
    }
    TARN_ASSIGN_OR_RETURN(const NodeFacts old_root, before_.view->Find(ShownPath(was), false));
    TARN_ASSIGN_OR_RETURN(const NodeFacts new_root, after_.view->Find(ShownPath(is), false));
    return CompareDirectories(old_root, new_root);
  }

  static std::string ShownPath(const index::ManifestRow& row) {
    return io::JoinPath(io::DirName(row.path), row.shown_name);
  }

  static Result<Listing> List(const Side& side, const NodeFacts& directory) {
    Listing listing;
    TARN_RETURN_IF_ERROR(side.view->List(
        directory,
        [&listing](std::string_view name, const NodeFacts& facts) { listing.emplace_back(name, facts); }));
    return listing;
  }

  Status CompareDirectories(const NodeFacts& was, const NodeFacts& is) {
    TARN_ASSIGN_OR_RETURN(const Listing old_names, List(before_, was));
    TARN_ASSIGN_OR_RETURN(const Listing new_names, List(after_, is));
    auto a = old_names.begin();
    auto b = new_names.begin();
    while (a != old_names.end() || b != new_names.end()) {
      if (b == new_names.end() || (a != old_names.end() && a->first < b->first)) {
        Print("removed", "member", a->second.path, {});
        ++a;
      } else if (a == old_names.end() || b->first < a->first) {
        Print("added", "member", b->second.path, {});
        ++b;
      } else {
        TARN_RETURN_IF_ERROR(CompareMembers(a->second, b->second));
        ++a;
        ++b;
      }
    }
    return Status::Ok();
  }

  Status CompareMembers(const NodeFacts& was, const NodeFacts& is) {
    nlohmann::ordered_json what = nlohmann::ordered_json::array();
    if (was.TypeName() != is.TypeName()) what.push_back("type");
    if ((was.mode & 07777) != (is.mode & 07777)) what.push_back("mode");
    if (was.uid != is.uid || was.gid != is.gid) what.push_back("owner");
    if (was.mtime != is.mtime || was.mtime_ns != is.mtime_ns) what.push_back("mtime");
    if (!is.IsDirectory() && was.size != is.size) what.push_back("size");
    if (was.IsSymlink() && is.IsSymlink()) {
      TARN_ASSIGN_OR_RETURN(const std::string old_target, before_.view->ReadLink(was));
      TARN_ASSIGN_OR_RETURN(const std::string new_target, after_.view->ReadLink(is));
      if (old_target != new_target) what.push_back("link");
    }
    if (!what.empty()) Print("changed", "member", is.path, {{"what", std::move(what)}});
    return was.IsDirectory() && is.IsDirectory() ? CompareDirectories(was, is) : Status::Ok();
  }

  void Print(const char* change, const char* kind, const std::string& path, nlohmann::ordered_json more) {
    ++count_;
    if (arguments_.json) {
      nlohmann::ordered_json line = {{"change", change}, {"kind", kind}, {"path", EscapeName(path)}};
      if (!more.empty()) line.update(more);
      *out_ << line.dump() << '\n';
      return;
    }
    std::string note;
    if (more.contains("from")) note = "  from " + more["from"].get<std::string>();
    if (more.contains("what"))
      note = fmt::format("  {}", fmt::join(more["what"].get<std::vector<std::string>>(), ", "));
    *out_ << fmt::format("{:<8} {:<7} {}{}\n", change, kind, EscapeName(path), note);
  }

  const Side& before_;
  const Side& after_;
  const DiffArguments& arguments_;
  std::ostream* const out_;
  uint64_t count_ = 0;
};

Result<uint64_t> Compare(const Config& config, const DiffArguments& arguments, std::ostream* out) {
  TARN_ASSIGN_OR_RETURN(const auto root, OpenIndexRoot(config, arguments.places));
  TARN_ASSIGN_OR_RETURN(const Side before, OpenSide(*root, arguments.before));
  TARN_ASSIGN_OR_RETURN(const Side after, OpenSide(*root, arguments.after));
  Differences differences(before, after, arguments, out);
  TARN_RETURN_IF_ERROR(differences.Find());
  return differences.count();
}

}  // namespace

int RunDiff(const Program& program) {
  const auto app = MakeCommandLine("tarn diff", "Print what is different between two generations.");
  DiffArguments arguments;
  app->add_option("BEFORE", arguments.before, "NAME@N, NAME@DIGEST or NAME")->required();
  app->add_option("AFTER", arguments.after, "The same")->required();
  AddIndexOption(app.get(), &arguments.places);
  app->add_flag("--files-only", arguments.files_only, "Archives and loose files, not members");
  app->add_flag("--json", arguments.json, "One JSON object a line");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  const auto count = Compare(Config(program), arguments, program.out);
  if (!count.ok()) return program.Fail("tarn diff", count.status());
  program.out->flush();
  return static_cast<int>(*count == 0 ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::cli
