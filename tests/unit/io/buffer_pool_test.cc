#include "tarn/io/buffer_pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace tarn::io {
namespace {

TEST(BufferPoolTest, WhatIsGivenBackLastIsTakenFirst) {
  BufferPool pool;
  BufferPool::Buffer first = pool.Take(4096);
  BufferPool::Buffer second = pool.Take(4096);
  ASSERT_EQ(first.bytes().size(), 4096U);
  const std::byte* const of_first = first.bytes().data();
  const std::byte* const of_second = second.bytes().data();
  EXPECT_NE(of_first, of_second);
  first = {};
  second = {};
  EXPECT_EQ(pool.Take(4096).bytes().data(), of_second);
  const BufferPool::Buffer again = pool.Take(4096);
  const BufferPool::Buffer other = pool.Take(4096);
  EXPECT_EQ(again.bytes().data(), of_second);
  EXPECT_EQ(other.bytes().data(), of_first);
}

TEST(BufferPoolTest, ABufferOfAnotherSizeIsAnother) {
  BufferPool pool;
  const std::byte* const small = pool.Take(64).bytes().data();
  const BufferPool::Buffer large = pool.Take(128);
  EXPECT_EQ(large.bytes().size(), 128U);
  EXPECT_EQ(pool.Take(64).bytes().data(), small);
}

TEST(BufferPoolTest, ABufferMayOutliveItsPool) {
  BufferPool::Buffer kept;
  EXPECT_FALSE(kept);
  {
    BufferPool pool;
    kept = pool.Take(16);
  }
  ASSERT_TRUE(kept);
  kept.bytes()[15] = std::byte{7};
  BufferPool::Buffer moved = std::move(kept);
  EXPECT_EQ(moved.bytes()[15], std::byte{7});
}

}  // namespace
}  // namespace tarn::io
