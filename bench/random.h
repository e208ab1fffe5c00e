// Random numbers that are the same on every machine for the same seed, and where they are drawn from.
//
// The standard library's distributions differ between implementations, so a seed in a report would reproduce
// nothing; these are written out.
#ifndef TARN_BENCH_RANDOM_H_
#define TARN_BENCH_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tarn::bench {

// SplitMix64: passes BigCrush, needs no warm-up, and any two seeds give unrelated streams.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15ULL); }
  // Uniform in [0, limit); `limit` > 0.
  uint64_t Below(uint64_t limit) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * limit) >> 64);
  }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Fisher-Yates.
  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

  // A well mixed function of `value`: for streams that are named by numbers (seed, run, member).
  static uint64_t Mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }
  static uint64_t Combine(uint64_t a, uint64_t b) { return Mix(a ^ Mix(b + 0x9e3779b97f4a7c15ULL)); }

 private:
  uint64_t state_;
};

// Ranks 0, 1, 2 ... `items` - 1, rank k with a probability in proportion to 1 / (k + 1)^theta: hot sets, as
// fio's random_distribution=zipf has them. Rejection-inversion (Hoermann and Derflinger 1996): no table,
// exact, any theta > 0.
class Zipf {
 public:
  Zipf(uint64_t items, double theta);
  uint64_t Next(Random* random) const;

 private:
  double Integral(double x) const;         // of x^-theta
  double InverseIntegral(double y) const;  // of Integral

  double items_;
  double theta_;
  double integral_of_first_;
  double integral_of_last_;
  double threshold_;
};

}  // namespace tarn::bench

#endif  // TARN_BENCH_RANDOM_H_
