#include "bench/random.h"

#include <algorithm>
#include <cmath>

namespace tarn::bench {
namespace {

// log(1 + x) / x and (exp(x) - 1) / x, with their limits at 0: they keep theta near 1 exact.
double LogRatio(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x / 3);
}
double ExpRatio(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x * 0.5 * (1 + x / 3);
}

}  // namespace

Zipf::Zipf(uint64_t items, double theta)
    : items_(static_cast<double>(items)),
      theta_(theta),
      integral_of_first_(Integral(1.5) - 1),
      integral_of_last_(Integral(items_ + 0.5)),
      threshold_(2 - InverseIntegral(Integral(2.5) - std::pow(2.0, -theta))) {}

uint64_t Zipf::Next(Random* random) const {
  for (;;) {
    const double u = integral_of_last_ + random->Unit() * (integral_of_first_ - integral_of_last_);
    const double x = InverseIntegral(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, items_);
    if (k - x <= threshold_ || u >= Integral(k + 0.5) - std::pow(k, -theta_))
      return static_cast<uint64_t>(k) - 1;
  }
}

double Zipf::Integral(double x) const {
  const double log_x = std::log(x);
  return ExpRatio((1 - theta_) * log_x) * log_x;
}

double Zipf::InverseIntegral(double y) const {
  const double t = std::max(y * (1 - theta_), -1.0);
  return std::exp(LogRatio(t) * y);
}

}  // namespace tarn::bench
