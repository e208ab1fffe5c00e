// The generation that the next one of a dataset goes on from, also when the newest is damaged.
#ifndef TARN_DATASET_PREDECESSOR_H_
#define TARN_DATASET_PREDECESSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"

namespace tarn::dataset {

struct Predecessor {
  uint32_t next_generation = 1;                          // behind all, damaged or not
  std::shared_ptr<const index::GenerationReader> whole;  // the newest that is whole; null: there is none
  bool damaged = false;               // there are newer ones than that, and they are damaged
  std::vector<std::string> warnings;  // one line each: which, why, and what becomes of it

  // What numbers go on from: the rows of the newest generation whose manifest can be read, and a number that
  // no generation has used. Of a damaged generation its own table tells both; where that table is damaged,
  // kNumbersLeapt numbers are passed over, because kernels know pages by number, and one must never come to
  // mean another archive.
  PreviousNumbers numbers;
};
inline constexpr uint32_t kNumbersLeapt = 1U << 16;

// How closely the newest generation is looked at.
enum class Look : uint8_t {
  kRows,    // its manifest, its tree, and the facts of every archive
  kTables,  // every byte of its tables too
};

// Finds it. A generation of a newer format, or one that cannot be reached, is no damaged one: that fails.
Result<Predecessor> FindPredecessor(const index::IndexRoot& root, const std::string& dataset, Look look);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_PREDECESSOR_H_
