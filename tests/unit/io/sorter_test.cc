#include "tarn/io/sorter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tarn/io/filesystem.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

constexpr size_t kSmallMemory = size_t{64} << 10;

std::vector<std::string> Sorted(ExternalSorter* sorter, const std::vector<std::string>& records) {
  for (const std::string& record : records) EXPECT_TRUE(sorter->Add(record).ok());
  EXPECT_TRUE(sorter->Sort().ok());
  std::vector<std::string> sorted;
  std::string_view record;
  for (;;) {
    const Result<bool> some = sorter->Next(&record);
    EXPECT_TRUE(some.ok()) << some.status().ToString();
    if (!some.ok() || !*some) return sorted;
    sorted.emplace_back(record);
  }
}

// Records that share prefixes, differ behind the eighth byte, are empty, or are prefixes of each other.
std::vector<std::string> Records(size_t count, size_t most_bytes) {
  support::PseudoRandom random(count);
  std::vector<std::string> records;
  for (size_t i = 0; i < count; ++i) {
    std::string record = random.Below(3) == 0 ? "directory/common/" : "";
    record += random.Bytes(random.Below(most_bytes));
    records.push_back(random.Below(10) == 0 && i > 0 ? records[random.Below(i)] : record);
  }
  records.emplace_back();
  records.emplace_back(1, '\0');
  records.emplace_back(9, '\0');
  records.emplace_back(8, '\xff');
  return records;
}

TEST(SorterTest, InMemoryEqualsStdSort) {
  const support::Scratch scratch;
  std::vector<std::string> records = Records(5000, 40);
  ExternalSorter sorter(scratch.path(), "test", size_t{64} << 20);
  const std::vector<std::string> sorted = Sorted(&sorter, records);
  std::sort(records.begin(), records.end());
  EXPECT_EQ(sorted, records);
  EXPECT_EQ(sorter.runs(), 0U);
  EXPECT_EQ(sorter.records(), records.size());
  EXPECT_TRUE(ListDirectory(scratch.path())->empty());
}

TEST(SorterTest, WithSpillsEqualsStdSort) {
  const support::Scratch scratch;
  std::vector<std::string> records = Records(50'000, 40);
  ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
  const std::vector<std::string> sorted = Sorted(&sorter, records);
  std::sort(records.begin(), records.end());
  EXPECT_EQ(sorted, records);
  EXPECT_GT(sorter.runs(), 10U);
}

TEST(SorterTest, MoreRunsThanAreMergedAtOnceEqualStdSort) {
  const support::Scratch scratch;
  std::vector<std::string> records = Records(150'000, 60);
  ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
  for (const std::string& record : records) ASSERT_TRUE(sorter.Add(record).ok());
  EXPECT_GT(sorter.runs(), 128U);
  EXPECT_LE(ListDirectory(scratch.path())->size(), 64U);
  const std::vector<std::string> sorted = Sorted(&sorter, {});
  std::sort(records.begin(), records.end());
  EXPECT_EQ(sorted, records);
}

TEST(SorterTest, RecordsLargerThanTheBudgetAreSortedToo) {
  const support::Scratch scratch;
  support::PseudoRandom random(7);
  std::vector<std::string> records;
  for (int i = 0; i < 20; ++i) records.push_back(random.Bytes(kSmallMemory + random.Below(kSmallMemory * 3)));
  ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
  const std::vector<std::string> sorted = Sorted(&sorter, records);
  std::sort(records.begin(), records.end());
  EXPECT_EQ(sorted, records);
}

TEST(SorterTest, NothingSortsToNothing) {
  const support::Scratch scratch;
  ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
  EXPECT_TRUE(Sorted(&sorter, {}).empty());
}

TEST(SorterTest, RunsAreRemovedAlsoWhenSortingIsAbandoned) {
  const support::Scratch scratch;
  {
    ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
    for (const std::string& record : Records(20'000, 40)) ASSERT_TRUE(sorter.Add(record).ok());
    EXPECT_FALSE(ListDirectory(scratch.path())->empty());
  }
  EXPECT_TRUE(ListDirectory(scratch.path())->empty());
}

TEST(SorterTest, AMissingScratchDirectoryIsAnErrorThatNamesIt) {
  const support::Scratch scratch;
  ExternalSorter sorter(scratch / "gone", "test", kSmallMemory);
  Status status;
  for (const std::string& record : Records(20'000, 40)) {
    status = sorter.Add(record);
    if (!status.ok()) break;
  }
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_NE(status.message().find("gone/test"), std::string::npos);
}

TEST(SorterTest, ADamagedRunIsCorrupt) {
  const support::Scratch scratch;
  ExternalSorter sorter(scratch.path(), "test", kSmallMemory);
  for (const std::string& record : Records(20'000, 40)) ASSERT_TRUE(sorter.Add(record).ok());
  const std::string run = scratch / ListDirectory(scratch.path())->front();
  scratch.Write(BaseName(run), "\xff\xff\xff\x7fshort");
  Status status = sorter.Sort();
  std::string_view record;
  while (status.ok()) {
    const Result<bool> some = sorter.Next(&record);
    status = some.status();
    ASSERT_TRUE(!some.ok() || *some) << "ended as if nothing was missing";
  }
  EXPECT_EQ(status.code(), ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace tarn::io
