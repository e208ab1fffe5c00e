#include "dataset/extent_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tarn::dataset {
namespace {

TEST(ExtentCache, GivesWhatWasPutAndNothingElse) {
  ExtentCache cache(1 << 16);
  ExtentCache::Place place;
  const NodeId node = NodeId::File(1, 2, 3);
  EXPECT_FALSE(cache.Find(node, &place));
  cache.Put(node, {100, 200});
  ASSERT_TRUE(cache.Find(node, &place));
  EXPECT_EQ(place.archive_offset, 100U);
  EXPECT_EQ(place.size, 200U);
  EXPECT_FALSE(cache.Find(NodeId::File(1, 2, 4), &place));
}

TEST(ExtentCache, ItsMemoryIsBoundedAndTheNewcomerStays) {
  EXPECT_EQ(ExtentCache(0).places(), 1U);
  EXPECT_EQ(ExtentCache(32 * 1000).places(), 512U);
  ExtentCache cache(32);
  cache.Put(NodeId::File(1, 1, 1), {1, 1});
  cache.Put(NodeId::File(1, 1, 2), {2, 2});
  ExtentCache::Place place;
  EXPECT_FALSE(cache.Find(NodeId::File(1, 1, 1), &place));
  ASSERT_TRUE(cache.Find(NodeId::File(1, 1, 2), &place));
  EXPECT_EQ(place.size, 2U);
}

TEST(ExtentCache, NeighboursOfOneArchiveDoNotPushEachOtherOut) {
  ExtentCache cache(32 * 1024);
  for (uint32_t i = 0; i < 1024; ++i) cache.Put(NodeId::File(1, 7, i), {i, i});
  ExtentCache::Place place;
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_TRUE(cache.Find(NodeId::File(1, 7, i), &place)) << i;
}

TEST(ExtentCache, AReaderNeverSeesTwoHalves) {
  ExtentCache cache(32);
  std::vector<std::thread> threads;
  std::atomic<int> torn{0};
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 20000; ++i) {
        const auto ordinal = static_cast<uint32_t>((i + t) % 5);
        const NodeId node = NodeId::File(1, 1, ordinal);
        ExtentCache::Place place;
        if (cache.Find(node, &place) &&
            (place.archive_offset != ordinal * 1000ULL || place.size != ordinal + 7ULL)) {
          torn++;
        }
        cache.Put(node, {ordinal * 1000ULL, ordinal + 7ULL});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace tarn::dataset
