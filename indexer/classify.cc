#include "indexer/classify.h"

#include <array>
#include <string>

#include "indexer/first_block.h"

namespace tarn::indexer {
namespace {

tar::Finding LooseBecause(tar::FindingCode code, std::string detail) {
  return tar::Finding{.code = code,
                      .severity = tar::Severity::kWarning,
                      .offset = 0,
                      .member = {},
                      .detail = std::move(detail)};
}

}  // namespace

bool IsLooseByName(std::string_view path, const Selection& selection) {
  return !selection.NamesArchive(path) && !NamesCompressedArchive(path);
}

FileClass ClassifyBlock(std::span<const std::byte> bytes, std::string_view path, const Selection& selection) {
  if (IsLooseByName(path, selection)) return FileClass{};
  const bool named = selection.NamesArchive(path);
  if (named && IsTarBlock(bytes)) return FileClass{.is_archive = true, .finding = {}};
  if (const std::string_view compressor = CompressorOf(bytes); !compressor.empty()) {
    return FileClass{false,
                     LooseBecause(tar::FindingCode::kCompressed,
                                  "compressed with " + std::string(compressor) +
                                      ": shown as the file it is; unpack it to a .tar to have its members "
                                      "shown")};
  }
  if (!named) return FileClass{};
  return FileClass{false,
                   LooseBecause(tar::FindingCode::kNotATar,
                                bytes.empty() ? "the file is empty: shown as the file it is"
                                              : "the first block is no tar header: shown as the file it is")};
}

Result<FileClass> Classify(const io::RandomAccessFile& file, std::string_view path,
                           const Selection& selection) {
  if (IsLooseByName(path, selection)) return FileClass{};
  std::array<std::byte, kFirstBlockBytes> block{};
  TARN_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, block));
  return ClassifyBlock(std::span<const std::byte>(block).first(got), path, selection);
}

}  // namespace tarn::indexer
