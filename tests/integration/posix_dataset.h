// A mounted dataset of one archive with everything that a system call can be tried on, and the tree it was
// made of.
#ifndef TARN_TESTS_INTEGRATION_POSIX_DATASET_H_
#define TARN_TESTS_INTEGRATION_POSIX_DATASET_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/child.h"
#include "support/mount.h"
#include "support/scratch.h"

namespace tarn::integration {

// Bytes of big.bin: some readahead windows, and no whole number of pages.
inline constexpr size_t kBigBytes = (size_t{5} << 20) + 1234;
inline constexpr std::string_view kSmallText = "hello, members\n";

// Skips visibly where no mount can be made. The mount is at Path(""), the archive's root below it at a/:
//
//     big.bin  small.txt  empty  hard (of small.txt)  link -> small.txt  dir/inner.txt  run.sh (0755)  fifo
//     null (the device)  colored.txt (with user.color=blue)
class PosixTest : public testing::Test {
 protected:
  void SetUp() override;

  // Puts more into the tree before the archive is made.
  virtual void AddToTree(const std::string& /*tree*/) {}

  // A path in the mounted archive, and the same path in the tree that it was made of.
  std::string Mounted(std::string_view name) const { return *mount_ / ("a/" + std::string(name)); }
  std::string Original(std::string_view name) const {
    return scratch_->path() + "/tree/" + std::string(name);
  }
  // What the index has been told to show under a/big.bin.
  const std::string& big() const { return big_; }

  // Runs `body` in a child with a deadline.
  static void Try(const std::function<void()>& body) { EXPECT_TRUE(support::InChild(body)); }

  std::unique_ptr<support::Scratch> scratch_;
  std::optional<support::ServedMount> mount_;

 private:
  std::string big_;
};

// Opens for reading or fails the test; closed with the child that runs it.
int OpenOrFail(const std::string& path, int more_flags = 0);

// All of a descriptor from where it stands, read with read(2).
std::string ReadAll(int fd);

}  // namespace tarn::integration

#endif  // TARN_TESTS_INTEGRATION_POSIX_DATASET_H_
