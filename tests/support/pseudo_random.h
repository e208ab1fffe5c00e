// Bytes and numbers that look random and are the same in every run.
#ifndef TARN_TESTS_SUPPORT_PSEUDO_RANDOM_H_
#define TARN_TESTS_SUPPORT_PSEUDO_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace tarn::support {

// SplitMix64.
class PseudoRandom {
 public:
  explicit PseudoRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }

  std::string Bytes(size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Next());
    return bytes;
  }

 private:
  uint64_t state_;
};

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_PSEUDO_RANDOM_H_
