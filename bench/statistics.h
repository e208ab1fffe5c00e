// What several runs of one thing say together: the median, and how far they lie apart.
//
// The median, because one run that met somebody else's work must not move the result; the extremes, because
// hiding them would.
#ifndef TARN_BENCH_STATISTICS_H_
#define TARN_BENCH_STATISTICS_H_

#include <cstddef>
#include <vector>

namespace tarn::bench {

struct Spread {
  size_t runs = 0;
  double median = 0;  // mean of the middle two for an even number
  double min = 0;
  double max = 0;
  double mean = 0;
  double stdev = 0;  // of the sample (n - 1); 0 for one run
};

Spread Summarize(std::vector<double> values);

}  // namespace tarn::bench

#endif  // TARN_BENCH_STATISTICS_H_
