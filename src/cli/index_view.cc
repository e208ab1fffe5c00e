#include "cli/index_view.h"

#include <algorithm>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/base/program.h"
#include "tarn/io/filesystem.h"

namespace tarn::cli {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int kMostLinks = 40;           // followed for one path, as Linux does
constexpr size_t kNamesCompared = 5000;  // for "did you mean"

// The tree as the archives have it: owners and modes of members.
dataset::FileTreeOptions TreeOptions() {
  dataset::FileTreeOptions options;
  options.access = dataset::AccessMode::kMember;
  return options;
}

std::shared_ptr<dataset::ArchiveBytes> BytesFrom(const std::vector<std::shared_ptr<io::Source>>& sources,
                                                 std::shared_ptr<io::Source> kept) {
  dataset::ArchiveBytesOptions options;
  options.sources = sources;
  options.kept = std::move(kept);
  // What stands in the way of a read is its error, which the command prints; there is nobody else to tell.
  options.report = [](LogLevel, std::string_view) {};
  return std::make_shared<dataset::ArchiveBytes>(std::move(options));
}

// Components of a path, the last one first, put on top of what is there: "." and empty ones vanish.
void PushComponents(std::string_view path, std::vector<std::string>* stack) {
  while (!path.empty()) {
    const std::string_view component = io::BaseName(path);
    const bool more = path.find('/') != std::string_view::npos;
    if (!component.empty() && component != ".") stack->emplace_back(component);
    path = more ? path.substr(0, path.size() - component.size() - 1) : std::string_view();
  }
}

}  // namespace

IndexView::IndexView(std::shared_ptr<const index::GenerationReader> generation,
                     std::vector<std::shared_ptr<io::Source>> sources, std::shared_ptr<io::Source> kept)
    : generation_(std::move(generation)),
      sources_(std::move(sources)),
      tree_(TreeOptions(), BytesFrom(sources_, std::move(kept))) {}

Result<std::unique_ptr<IndexView>> IndexView::Open(std::shared_ptr<const index::GenerationReader> generation,
                                                   std::vector<std::shared_ptr<io::Source>> sources,
                                                   std::shared_ptr<io::Source> kept) {
  std::unique_ptr<IndexView> view(new IndexView(std::move(generation), std::move(sources), std::move(kept)));
  TARN_ASSIGN_OR_RETURN(view->root_, view->tree_.Attach(view->generation_));
  return view;
}

NodeFacts IndexView::FactsOf(const dataset::Attributes& attributes, std::string path) {
  NodeFacts facts;
  facts.node = attributes.node.value();
  facts.path = std::move(path);
  facts.mode = attributes.mode;
  facts.size = attributes.size;
  facts.blocks = attributes.blocks;
  facts.links = attributes.links;
  facts.uid = attributes.uid;
  facts.gid = attributes.gid;
  facts.device = attributes.device;
  facts.mtime = attributes.mtime;
  facts.mtime_ns = attributes.mtime_ns;
  return facts;
}

Status IndexView::NoSuchName(dataset::NodeId directory, const std::string& path,
                             std::string_view name) const {
  std::vector<std::string> names;
  TARN_RETURN_IF_ERROR(tree_.List(directory, 0, false, [&](const dataset::ListedEntry& entry) {
    names.emplace_back(entry.name);
    return names.size() < kNamesCompared;
  }));
  const auto meant = NearestMatch(name, names);
  return Status(ErrorCode::kNotFound, "there is no '" + EscapeName(io::JoinPath(path, name)) + "'")
      .WithHint(meant ? "did you mean '" + EscapeName(io::JoinPath(path, *meant)) + "'?"
                      : "'tarn ls' lists what there is");
}

Result<NodeFacts> IndexView::Find(std::string_view path, bool follow) const {
  std::vector<std::string> rest;
  PushComponents(path, &rest);
  TARN_ASSIGN_OR_RETURN(const dataset::Attributes root, tree_.GetAttributes(root_));
  std::vector<NodeFacts> walked = {FactsOf(root, "")};  // from the root to where we are
  for (int links = 0; !rest.empty();) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    if (name == "..") {
      if (walked.size() > 1) walked.pop_back();
      continue;
    }
    const NodeFacts& here = walked.back();
    if (!here.IsDirectory()) {
      return Status(ErrorCode::kNotFound, "'" + EscapeName(here.path) + "' is no directory");
    }
    TARN_ASSIGN_OR_RETURN(const auto child, tree_.Lookup(dataset::NodeId(here.node), name));
    if (!child) return NoSuchName(dataset::NodeId(here.node), here.path, name);
    NodeFacts found = FactsOf(*child, io::JoinPath(here.path, name));
    if (!found.IsSymlink() || (rest.empty() && !follow)) {
      walked.push_back(std::move(found));
      continue;
    }
    TARN_ASSIGN_OR_RETURN(const std::string target, tree_.ReadLink(child->node));
    const std::string shown = "'" + EscapeName(found.path) + "' -> '" + EscapeName(target) + "'";
    if (++links > kMostLinks) return Status(ErrorCode::kIo, "too many symbolic links: " + shown);
    if (target.starts_with('/')) {
      return Status(ErrorCode::kNotFound, "the symbolic link " + shown + " leads out of the dataset");
    }
    PushComponents(target, &rest);
  }
  return std::move(walked.back());
}

Status IndexView::List(const NodeFacts& directory,
                       const std::function<void(std::string_view, const NodeFacts&)>& visit) const {
  return tree_.List(dataset::NodeId(directory.node), 0, true, [&](const dataset::ListedEntry& entry) {
    visit(entry.name, FactsOf(entry.attributes, io::JoinPath(directory.path, entry.name)));
    return true;
  });
}

Result<std::string> IndexView::ReadLink(const NodeFacts& link) const {
  return tree_.ReadLink(dataset::NodeId(link.node));
}

Status IndexView::Read(const NodeFacts& file,
                       const std::function<Status(std::span<const std::byte>)>& consume) const {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, std::max<uint64_t>(file.size, 1)));
  for (uint64_t offset = 0; offset < file.size;) {
    TARN_ASSIGN_OR_RETURN(const size_t got, tree_.Read(dataset::NodeId(file.node), offset, piece));
    TARN_RETURN_IF_ERROR(consume(std::span(piece).first(got)));
    offset += got;
  }
  return Status::Ok();
}

Result<std::optional<IndexView::Origin>> IndexView::OriginOf(dataset::NodeId node) const {
  const std::optional<Origin> nothing;
  Origin origin;
  uint32_t number = 0;
  if (!node.IsDirectory()) {
    number = node.archive();
  } else if (node.directory() < generation_->facts().tree_directories) {
    return nothing;
  } else {
    TARN_ASSIGN_OR_RETURN(const bool there, generation_->ArchiveOfDirectory(node.directory(), &number));
    if (!there) return nothing;
  }
  TARN_ASSIGN_OR_RETURN(const bool has_row, generation_->GetManifestRow(number, &origin.row));
  if (!has_row) return nothing;
  if (origin.row.kind == index::ManifestKind::kLooseFile) return std::optional(std::move(origin));
  if (!node.IsDirectory()) {
    origin.ordinal = node.ordinal();
  } else {
    index::DirectoryRecord record;
    const auto directory = static_cast<uint32_t>(node.directory() - origin.row.first_directory);
    TARN_ASSIGN_OR_RETURN(const bool there, generation_->GetDirectory(origin.row.id, directory, &record));
    if (there && record.ordinal != tar::kNoOrdinal) origin.ordinal = record.ordinal;
  }
  if (origin.ordinal) {
    index::ArchiveFacts facts;
    TARN_ASSIGN_OR_RETURN(const bool has_facts, generation_->GetArchiveFacts(origin.row.id, &facts));
    index::MemberRecord member;
    TARN_ASSIGN_OR_RETURN(const bool has_member,
                          generation_->GetMember(origin.row.id, facts.defaults, *origin.ordinal, &member));
    if (has_facts && has_member) origin.member = std::move(member);
  }
  return std::optional(std::move(origin));
}

nlohmann::ordered_json IndexView::FileOf(const index::ManifestRow& row) const {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  for (const std::shared_ptr<io::Source>& source : sources_) {
    for (const std::string& path : {io::JoinPath(generation_->facts().source_path, row.path), row.path}) {
      const auto stat = source->Stat(path);
      if (!stat.ok()) continue;
      facts["file"] = EscapeName(io::JoinPath(source->name(), path));
      if (stat->type != io::FileType::kRegular || stat->identity.size != row.id.size) {
        facts["file_state"] = "changed";
      } else {
        facts["file_state"] = stat->identity.mtime_ns == row.hint.mtime_ns ? "as published" : "other mtime";
      }
      return facts;
    }
  }
  if (!sources_.empty()) facts["file_state"] = "missing";
  return facts;
}

Result<nlohmann::ordered_json> IndexView::AllFacts(const NodeFacts& node) const {
  nlohmann::ordered_json facts = BasicFacts(node);
  const index::GenerationFacts& generation = generation_->facts();
  facts["dataset"] = generation.dataset;
  facts["generation"] = generation.generation;
  if (node.IsSymlink()) {
    TARN_ASSIGN_OR_RETURN(const std::string target, ReadLink(node));
    facts["link"] = EscapeName(target);
  }
  TARN_ASSIGN_OR_RETURN(const std::optional<Origin> origin, OriginOf(dataset::NodeId(node.node)));
  if (origin) {
    facts["archive"] = EscapeName(origin->row.path);
    facts["archive_id"] = origin->row.id.ToString();
    facts.update(FileOf(origin->row));
    if (origin->ordinal) facts["ordinal"] = *origin->ordinal;
    if (origin->row.kind == index::ManifestKind::kLooseFile) facts["data_offset"] = 0;
  }
  if (origin && origin->member) {
    const index::MemberRecord& member = *origin->member;
    facts["stored_mode"] = member.mode;
    facts["user"] = EscapeName(member.user_name);
    facts["group"] = EscapeName(member.group_name);
    facts["header_offset"] = member.header_offset;
    facts["data_offset"] = member.data_offset;
    facts["stored_size"] = member.stored_size;
    facts["extents"] = nlohmann::ordered_json::array();
    for (const tar::Extent& extent : member.extents) {
      facts["extents"].push_back({extent.archive_offset, extent.length});
    }
  }
  facts["xattrs"] = nlohmann::ordered_json::object();
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, tree_.ListXattrs(dataset::NodeId(node.node)));
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const auto value, tree_.GetXattr(dataset::NodeId(node.node), name));
    if (value) facts["xattrs"][EscapeName(name)] = EscapeName(*value);
  }
  return facts;
}

}  // namespace tarn::cli
