#include "tarn/dataset/predecessor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tarn/index/salvage.h"

namespace tarn::dataset {
namespace {

using index::GenerationReader;
using index::ManifestRow;

// Damage is what lies in the bytes: a server that does not answer, or a right that is missing, is not.
bool IsDamage(const Status& status) {
  return status.code() == ErrorCode::kCorrupt || status.code() == ErrorCode::kInternal ||
         (status.code() == ErrorCode::kIo && status.error_number() == 0);
}

Result<std::shared_ptr<const GenerationReader>> OpenWhole(const std::string& directory, Look look) {
  TARN_ASSIGN_OR_RETURN(std::shared_ptr<const GenerationReader> reader, GenerationReader::Open(directory));
  TARN_RETURN_IF_ERROR(reader->CheckWhole());
  if (look == Look::kTables) TARN_RETURN_IF_ERROR(index::VerifyTables(directory));
  return reader;
}

class Finder {
 public:
  Finder(const index::IndexRoot& root, const std::string& dataset, Look look)
      : root_(root), dataset_(dataset), look_(look) {}

  Result<Predecessor> Run() {
    const Result<std::vector<uint32_t>> all = root_.AllGenerations(dataset_);
    if (all.code() == ErrorCode::kNotFound) return std::move(found_);
    TARN_RETURN_IF_ERROR(all.status());
    if (!all->empty()) found_.next_generation = all->back() + 1;
    for (auto generation = all->rbegin(); generation != all->rend() && !found_.whole; ++generation) {
      TARN_RETURN_IF_ERROR(LookAt(*generation));
    }
    if (found_.whole) TARN_RETURN_IF_ERROR(TakeNumbers());
    found_.numbers.next_number = std::max(found_.numbers.next_number, least_next_) + leap_;
    return std::move(found_);
  }

 private:
  Status LookAt(uint32_t generation) {
    const std::string directory = root_.GenerationPath(dataset_, generation);
    auto reader = OpenWhole(directory, look_);
    if (reader.ok()) {
      found_.whole = *std::move(reader);
      return Status::Ok();
    }
    if (reader.code() == ErrorCode::kNotFound) return Status::Ok();  // gc took it meanwhile
    if (!IsDamage(reader.status())) return std::move(reader).status();
    found_.damaged = true;
    std::string numbers = "its numbers are known";
    auto rows = index::SalvageOwnRows(directory);
    if (rows.ok()) {
      least_next_ = std::max(least_next_, rows->facts.next_number);
      // The newest complete manifest has the rows to go on from.
      if (rows->complete && !has_rows_) {
        found_.numbers.rows = std::move(rows->manifest);
        has_rows_ = true;
      }
    } else {
      leap_ += kNumbersLeapt;
      numbers = fmt::format("its numbers are not known, {} are passed over", kNumbersLeapt);
    }
    found_.warnings.push_back(fmt::format(
        "generation '{0}@{1}' is damaged and not gone on from ({2}); {3}; what it alone knew is read again; "
        "retire it when nobody needs it: 'tarn-index retire {0}@{1}'",
        dataset_, generation, reader.status().message(), numbers));
    return Status::Ok();
  }

  Status TakeNumbers() {
    found_.numbers.next_number = found_.whole->facts().next_number;
    if (has_rows_) return Status::Ok();
    return found_.whole->ForEachManifestRow([this](const ManifestRow& row) {
      found_.numbers.rows.push_back(row);
      return Status::Ok();
    });
  }

  const index::IndexRoot& root_;
  const std::string& dataset_;
  const Look look_;
  Predecessor found_;
  uint32_t least_next_ = 1;
  uint32_t leap_ = 0;
  bool has_rows_ = false;
};

}  // namespace

Result<Predecessor> FindPredecessor(const index::IndexRoot& root, const std::string& dataset, Look look) {
  return Finder(root, dataset, look).Run();
}

}  // namespace tarn::dataset
