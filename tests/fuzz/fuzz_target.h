// What a fuzz target is: one function over bytes, which returns or crashes. libFuzzer calls it with inputs it
// makes up (preset fuzz, script/fuzz); replay.cc calls it with the kept corpus (ctest, any compiler).
#ifndef TARN_TESTS_FUZZ_FUZZ_TARGET_H_
#define TARN_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Holds in every build, and ends the run with the place.
#define FUZZ_REQUIRE(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // TARN_TESTS_FUZZ_FUZZ_TARGET_H_
