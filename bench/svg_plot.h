// Small plots as SVG: a picture that anybody can open, from code that fits on a page or two.
#ifndef TARN_BENCH_SVG_PLOT_H_
#define TARN_BENCH_SVG_PLOT_H_

#include <string>
#include <vector>

namespace tarn::bench {

// One value at one category: its median and how far the runs lie apart.
struct PlotPoint {
  size_t category = 0;  // index into Panel::categories
  double value = 0;
  double low = 0;
  double high = 0;
};

struct PlotSeries {
  std::string name;  // one colour per name in the whole picture
  std::vector<PlotPoint> points;
};

struct PlotPanel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<std::string> categories;  // along x, evenly spaced
  std::vector<PlotSeries> series;
};

// Panels two in a row; bars where there is one category, lines otherwise, whiskers from low to high. The y
// axis starts at 0. `notes` stand below, in red. Well-formed XML whatever the texts hold.
std::string RenderSvg(const std::string& title, const std::vector<PlotPanel>& panels,
                      const std::vector<std::string>& notes);

// Round numbers from 0 up to `largest`: about five of them, the last at least `largest`.
std::vector<double> AxisTicks(double largest);

}  // namespace tarn::bench

#endif  // TARN_BENCH_SVG_PLOT_H_
