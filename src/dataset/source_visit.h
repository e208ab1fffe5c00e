// SourceVisit: a thread's stay in a source, from Enter to Leave of the guard.
#ifndef TARN_DATASET_SOURCE_VISIT_H_
#define TARN_DATASET_SOURCE_VISIT_H_

#include <cstddef>
#include <string>

#include "tarn/base/status.h"
#include "tarn/dataset/source_guard.h"

namespace tarn::dataset {

class SourceVisit {
 public:
  // `guard` may be null: then everybody may enter.
  SourceVisit(SourceGuard* guard, size_t source, const std::string& path)
      : guard_(guard), source_(source), entered_(guard == nullptr || guard->Enter(source, path)) {}
  ~SourceVisit() {
    if (guard_ != nullptr && entered_) guard_->Leave(source_);
  }
  SourceVisit(const SourceVisit&) = delete;
  SourceVisit& operator=(const SourceVisit&) = delete;

  bool entered() const { return entered_; }

  // What an operation that was not let in is given up with. Nobody reads the text: it is tried again.
  static Status Refused() { return Status(ErrorCode::kBusy, "the source is full"); }

 private:
  SourceGuard* const guard_;
  const size_t source_;
  const bool entered_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_SOURCE_VISIT_H_
