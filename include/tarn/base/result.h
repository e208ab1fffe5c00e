// Result<T>: a value, or the Status that says why there is none.
//
// tl::expected does the work inside; it is not part of the interface, so that callers never depend on it.
#ifndef TARN_BASE_RESULT_H_
#define TARN_BASE_RESULT_H_

#include <cassert>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "tarn/base/status.h"

namespace tarn {

template <typename T>
class [[nodiscard]] Result {
 public:
  // From a value. Implicit, so that `return value;` reads as it should.
  template <typename U = T, typename = std::enable_if_t<std::is_constructible_v<T, U&&> &&
                                                        !std::is_same_v<std::decay_t<U>, Result> &&
                                                        !std::is_same_v<std::decay_t<U>, Status>>>
  Result(U&& value) : rep_(tl::in_place, std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)
  // From an error. `status` must not be ok: there would be no value to give.
  Result(Status status) : rep_(tl::unexpect, std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!rep_.error().ok());
  }

  bool ok() const { return rep_.has_value(); }
  ErrorCode code() const { return ok() ? ErrorCode::kOk : rep_.error().code(); }
  // The error; an ok Status when there is a value.
  Status status() const& { return ok() ? Status() : rep_.error(); }
  Status status() && { return ok() ? Status() : std::move(rep_.error()); }

  // The value; calling these without one is a defect (checked in debug builds).
  T& value() & { return *rep_; }
  const T& value() const& { return *rep_; }
  T&& value() && { return std::move(*rep_); }
  T& operator*() & { return *rep_; }
  const T& operator*() const& { return *rep_; }
  T&& operator*() && { return std::move(*rep_); }
  T* operator->() { return &*rep_; }
  const T* operator->() const { return &*rep_; }

 private:
  tl::expected<T, Status> rep_;
};

}  // namespace tarn

#endif  // TARN_BASE_RESULT_H_
