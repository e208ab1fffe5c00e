// Places: where a publish reads and writes, checked before anything is done.
#ifndef TARN_INDEXER_PLACES_H_
#define TARN_INDEXER_PLACES_H_

#include <optional>
#include <string>

#include "tarn/base/result.h"

namespace tarn::indexer {

struct Places {
  std::string directory;    // the dataset's, resolved
  std::string base;         // the source root it is seen from, resolved
  std::string source_path;  // `directory` relative to `base`; empty when they are the same
};

// Resolves what was given. kNotFound: no such directory; kInvalidArgument: it is no directory, lies outside
// `relative_to`, holds the index root or lies in it (a publish writes nothing next to data). `index` need not
// exist.
Result<Places> ResolvePlaces(const std::string& directory, const std::optional<std::string>& relative_to,
                             const std::string& index);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PLACES_H_
