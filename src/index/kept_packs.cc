#include "index/kept_packs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "index/sst.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

std::optional<ArchiveId> IdOf(std::string_view key) {
  if (key.size() < ArchiveId::kEncodedBytes) return std::nullopt;
  return ArchiveId::Decode(key.data());
}

}  // namespace

KeptPacks::KeptPacks(const std::string& directory) {
  const auto reader = GenerationReader::Open(directory);
  const auto names = io::ListDirectory(directory);
  if (!reader.ok() || !names.ok()) return;
  const Status read = (*reader)->ForEachManifestRow([this](const ManifestRow& row) {
    ids_.push_back(row.id);
    return Status::Ok();
  });
  if (!read.ok()) return;
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  for (const std::string& name : *names) {
    if (!name.ends_with(".sst")) continue;
    std::string path = io::JoinPath(directory, name);
    const auto scan = SstScan::Open(path);
    const auto facts = io::LookAt(path);
    if (!scan.ok() || !facts.ok()) continue;
    const auto last = (*scan)->LastKey();
    const auto more = (*scan)->Next();
    if (!last.ok() || !more.ok() || !*more) continue;
    const std::optional<ArchiveId> first_id = IdOf((*scan)->key()), last_id = IdOf(*last);
    if (first_id && last_id) tables_.emplace(*first_id, Table{std::move(path), *last_id, facts->mtime_ns});
  }
}

std::string KeptPacks::Find(std::span<const PlacedBundle> bundles) const {
  const auto found = tables_.find(bundles.front().id);
  if (found == tables_.end() || found->second.last != bundles.back().id) return "";
  const auto begin = std::lower_bound(ids_.begin(), ids_.end(), bundles.front().id);
  const auto end = std::upper_bound(begin, ids_.end(), bundles.back().id);
  const bool same = std::equal(begin, end, bundles.begin(), bundles.end(),
                               [&](const ArchiveId& id, const PlacedBundle& bundle) {
                                 return id == bundle.id && bundle.changed_ns < found->second.written_ns;
                               });
  return same ? found->second.path : "";
}

}  // namespace tarn::index
