// Sound archives of all dialects, made up from a seed.
#ifndef TARN_TESTS_PROPERTY_RANDOM_ARCHIVE_H_
#define TARN_TESTS_PROPERTY_RANDOM_ARCHIVE_H_

#include <cstdint>
#include <string>

namespace tarn::property {

struct RandomArchive {
  std::string bytes;
  bool has_global = false;  // a pax g header: what it says holds for archives joined behind it too
};

// Every name and target begins with `prefix`, so that archives can be joined and told apart again.
RandomArchive MakeRandomArchive(uint64_t seed, const std::string& prefix);

}  // namespace tarn::property

#endif  // TARN_TESTS_PROPERTY_RANDOM_ARCHIVE_H_
