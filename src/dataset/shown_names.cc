#include "dataset/shown_names.h"

#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::dataset {
namespace {

constexpr std::string_view kSuffix = ".tar";
constexpr std::string_view kMembers = ".members";

}  // namespace

std::string_view ArchiveDirectoryName(std::string_view file_name) {
  if (!file_name.ends_with(kSuffix)) return file_name;
  const std::string_view stem = file_name.substr(0, file_name.size() - kSuffix.size());
  return stem.empty() || stem == "." || stem == ".." ? file_name : stem;
}

Result<std::string> NameArchive(std::string_view path, std::set<std::string, std::less<>>* taken,
                                std::vector<std::string>* notes) {
  const std::string_view file_name = io::BaseName(path);
  std::string name(ArchiveDirectoryName(file_name));
  const bool first_choice = taken->insert(name).second;
  if (!first_choice) {
    name = file_name;
    do {
      name += kMembers;
    } while (name.size() <= kMaxNameBytes && !taken->insert(name).second);
    if (name.size() > kMaxNameBytes) {
      return Status(ErrorCode::kUnsupported,
                    "'" + EscapeName(path) + "' cannot be shown: the name '" +
                        EscapeName(ArchiveDirectoryName(file_name)) +
                        "' is taken beside it and the next free one is longer than 255 bytes")
          .WithHint("rename the archive or what has its name, or leave it out with --exclude");
    }
    notes->push_back(EscapeName(path) + " is shown as " + EscapeName(name) + ": the name " +
                     EscapeName(ArchiveDirectoryName(file_name)) + " is taken");
  }
  return name;
}

}  // namespace tarn::dataset
