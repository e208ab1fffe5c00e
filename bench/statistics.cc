#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tarn::bench {

Spread Summarize(std::vector<double> values) {
  Spread spread;
  spread.runs = values.size();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  spread.median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  spread.min = values.front();
  spread.max = values.back();
  const auto count = static_cast<double>(values.size());
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.stdev = std::sqrt(squares / (count - 1));
  return spread;
}

}  // namespace tarn::bench
