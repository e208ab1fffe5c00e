#include "indexer/throttle.h"

#include <gtest/gtest.h>

#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Time that passes when somebody sleeps.
class FakeClock {
 public:
  Throttle::Clock clock() {
    return {.now = [this] { return now_; }, .sleep = [this](nanoseconds time) { now_ += time; }};
  }
  nanoseconds now() const { return now_; }
  void Pass(nanoseconds time) { now_ += time; }

 private:
  nanoseconds now_ = seconds(1000);
};

TEST(ThrottleTest, BytesPassAtTheRate) {
  FakeClock time;
  Throttle throttle({.bytes_per_second = 1 << 20}, time.clock());
  const nanoseconds start = time.now();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(throttle.BeforeRead(1 << 20).ok());
  const auto took = std::chrono::duration_cast<milliseconds>(time.now() - start);
  EXPECT_NEAR(static_cast<double>(took.count()), 10'000, 150);
}

TEST(ThrottleTest, RequestsPassAtTheRateWhateverTheirSize) {
  FakeClock time;
  Throttle throttle({.requests_per_second = 100}, time.clock());
  const nanoseconds start = time.now();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(throttle.BeforeRead(1).ok());
  const auto took = std::chrono::duration_cast<milliseconds>(time.now() - start);
  EXPECT_NEAR(static_cast<double>(took.count()), 10'000, 150);
}

TEST(ThrottleTest, LimitsChangeWhileItWaits) {
  FakeClock time;
  Throttle throttle({.bytes_per_second = 1}, time.clock());
  const nanoseconds start = time.now();
  throttle.Follow([&]() -> std::optional<ReadLimits> {
    if (time.now() - start < seconds(5)) return std::nullopt;
    return ReadLimits{};
  });
  ASSERT_TRUE(throttle.BeforeRead(1'000'000).ok());  // would take eleven days
  EXPECT_GE(time.now() - start, seconds(5));
  EXPECT_LT(time.now() - start, seconds(7));
  EXPECT_EQ(throttle.limits(), ReadLimits{});
}

TEST(ThrottleTest, LimitsAreLookedAtAboutOnceASecond) {
  FakeClock time;
  Throttle throttle({}, time.clock());
  int looks = 0;
  throttle.Follow([&]() -> std::optional<ReadLimits> {
    ++looks;
    return std::nullopt;
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(throttle.BeforeRead(1).ok());
    time.Pass(milliseconds(10));
  }
  EXPECT_GE(looks, 8);
  EXPECT_LE(looks, 10);
}

TEST(ThrottleTest, ASignalEndsTheWait) {
  const StopSignal stop;
  Throttle::Clock clock{.now = [] { return nanoseconds(0); },
                        .sleep = [](nanoseconds) { std::raise(SIGTERM); }};
  Throttle throttle({.bytes_per_second = 1}, clock);
  EXPECT_EQ(throttle.BeforeRead(1'000'000).code(), ErrorCode::kCancelled);
  const StopSignal forget;  // the next test is not to be stopped
}

class BackOffTest : public ::testing::Test {
 protected:
  void Read(size_t times, nanoseconds took, size_t bytes = 1 << 20) {
    for (size_t i = 0; i < times; ++i) back_off_.Add(bytes, took);
  }
  BackOff back_off_;
};

TEST_F(BackOffTest, UsualLatencyAsksForNoPause) {
  Read(1000, milliseconds(10));
  Read(1000, milliseconds(19));
  EXPECT_FALSE(back_off_.slow());
  EXPECT_EQ(back_off_.pause(), nanoseconds(0));
}

TEST_F(BackOffTest, AboveTwiceTheStartItPausesLongerAndLonger) {
  Read(BackOff::kFirst, milliseconds(10));
  Read(BackOff::kRecent, milliseconds(21));
  EXPECT_EQ(back_off_.pause(), milliseconds(10));
  Read(BackOff::kRecent, milliseconds(21));
  EXPECT_EQ(back_off_.pause(), milliseconds(30));
  Read(BackOff::kRecent * 100, milliseconds(21));
  EXPECT_EQ(back_off_.pause(), milliseconds(630));
}

TEST_F(BackOffTest, ItGoesBackToFullSpeedWhenTheSourceDoes) {
  Read(BackOff::kFirst, milliseconds(10));
  Read(BackOff::kRecent * 3, milliseconds(50));
  ASSERT_TRUE(back_off_.slow());
  Read(BackOff::kRecent * 3, milliseconds(11));
  EXPECT_FALSE(back_off_.slow());
}

TEST_F(BackOffTest, FewSlowRequestsAreNothing) {
  Read(BackOff::kFirst, milliseconds(10));
  for (int i = 0; i < 100; ++i) {
    Read(2, milliseconds(10));
    Read(1, seconds(1));
  }
  EXPECT_FALSE(back_off_.slow());
}

TEST_F(BackOffTest, SmallRequestsAreHeldAgainstSmallOnes) {
  Read(BackOff::kFirst, milliseconds(1), 4096);
  Read(1000, milliseconds(10), 1 << 20);
  EXPECT_FALSE(back_off_.slow());
  Read(BackOff::kRecent, milliseconds(3), 4096);
  EXPECT_TRUE(back_off_.slow());
}

TEST(ThrottleTest, BackOffMakesReadsWait) {
  FakeClock time;
  Throttle throttle({.back_off = true}, time.clock());
  for (size_t i = 0; i < BackOff::kFirst; ++i) throttle.AfterRead(1 << 20, milliseconds(10));
  for (size_t i = 0; i < BackOff::kRecent; ++i) throttle.AfterRead(1 << 20, milliseconds(100));
  const nanoseconds before = time.now();
  ASSERT_TRUE(throttle.BeforeRead(1 << 20).ok());
  EXPECT_EQ(time.now() - before, milliseconds(10));
}

}  // namespace
}  // namespace tarn::indexer
