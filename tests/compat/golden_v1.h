// The golden index root of format 1: two generations of one dataset that use every kind of row and every
// field of a record, with the value that costs nothing and with another.
#ifndef TARN_TESTS_COMPAT_GOLDEN_V1_H_
#define TARN_TESTS_COMPAT_GOLDEN_V1_H_

#include <string>

#include "tarn/base/result.h"

namespace tarn::index {

// Makes the root in `path`, which must not exist. Rows are the same in every run; RocksDB's files are not.
Status WriteGoldenV1(const std::string& path);

// Every row of a generation directory in key order, one a line: key and value in hexadecimal.
Result<std::string> DumpRows(const std::string& generation);

}  // namespace tarn::index

#endif  // TARN_TESTS_COMPAT_GOLDEN_V1_H_
