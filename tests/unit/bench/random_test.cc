#include "bench/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tarn::bench {
namespace {

TEST(RandomTest, ASeedGivesTheSameNumbersForEver) {
  Random random(1234567);  // the reference values of SplitMix64
  EXPECT_EQ(random.Next(), 6457827717110365317ULL);
  EXPECT_EQ(random.Next(), 3203168211198807973ULL);
}

TEST(RandomTest, BelowIsUniformAndStaysBelow) {
  Random random(1);
  std::vector<unsigned> hits(7);
  for (int i = 0; i < 70'000; ++i) ++hits.at(random.Below(7));
  for (const unsigned count : hits) EXPECT_NEAR(count, 10'000, 500);
}

TEST(RandomTest, AShuffleKeepsEveryItemAndMovesThem) {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  Random(5).Shuffle(std::span<int>(items));
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

// The share of each rank is that of the definition: 1 / k^theta over the sum of all.
void ExpectZipf(uint64_t items, double theta) {
  Random random(11);
  const Zipf zipf(items, theta);
  constexpr int kDraws = 200'000;
  std::vector<double> hits(items);
  for (int i = 0; i < kDraws; ++i) ++hits.at(zipf.Next(&random));
  double sum = 0;
  for (uint64_t rank = 1; rank <= items; ++rank) sum += std::pow(static_cast<double>(rank), -theta);
  for (uint64_t rank : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{10}, items}) {
    const double expected = std::pow(static_cast<double>(rank), -theta) / sum * kDraws;
    EXPECT_NEAR(hits[rank - 1], expected, 5 * std::sqrt(expected) + 5)
        << "theta " << theta << ", rank " << rank;
  }
}

TEST(ZipfTest, RanksComeAsOftenAsTheDefinitionSays) {
  ExpectZipf(1000, 0.5);
  ExpectZipf(1000, 1.0);
  ExpectZipf(1000, 1.1);
  ExpectZipf(50, 2.0);
}

TEST(ZipfTest, OneItemIsAlwaysTheFirst) {
  Random random(1);
  const Zipf zipf(1, 1.1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(zipf.Next(&random), 0U);
}

}  // namespace
}  // namespace tarn::bench
