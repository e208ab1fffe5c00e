#include "fuse/ops.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tarn::fuse {
namespace {

// What libfuse answers for a missing callback is ENOSYS, which the kernel remembers for the life of the
// mount.
TEST(OpsTest, EveryCallbackIsDefined) {
  const fuse_lowlevel_ops table = ops::Table();
  constexpr size_t kCallbacks = sizeof(table) / sizeof(void (*)());
  void* callbacks[kCallbacks];
  static_assert(sizeof(callbacks) == sizeof(table));
  std::memcpy(callbacks, &table, sizeof(table));
  for (size_t i = 0; i < kCallbacks; ++i) EXPECT_NE(callbacks[i], nullptr) << "callback number " << i;
}

}  // namespace
}  // namespace tarn::fuse
