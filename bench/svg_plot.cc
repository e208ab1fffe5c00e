#include "bench/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace tarn::bench {
namespace {

constexpr double kPanelWidth = 460;
constexpr double kPanelHeight = 300;
constexpr double kLeft = 64;  // of the plot's area within its panel
constexpr double kRight = 16;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kHead = 64;  // title and legend
constexpr double kNoteHeight = 16;

// Okabe and Ito's palette: told apart by everybody.
constexpr const char* kColours[] = {"#000000", "#0072B2", "#D55E00", "#009E73",
                                    "#CC79A7", "#E69F00", "#56B4E9"};

std::string Escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '&') {
      safe += "&amp;";
    } else if (letter == '<') {
      safe += "&lt;";
    } else if (letter == '>') {
      safe += "&gt;";
    } else if (letter == '"') {
      safe += "&quot;";
    } else if (byte < 0x20 || byte >= 0x7f) {
      safe += '?';
    } else {
      safe += letter;
    }
  }
  return safe;
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, style,
                     Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
      x1, y1, x2, y2, colour, width);
}

std::string AxisLabel(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

using Colours = std::map<std::string, const char*>;

class PanelPainter {
 public:
  PanelPainter(const PlotPanel& panel, double x, double y, const Colours& colours)
      : panel_(panel),
        colours_(colours),
        left_(x + kLeft),
        right_(x + kPanelWidth - kRight),
        top_(y + kTop),
        bottom_(y + kPanelHeight - kBottom) {
    double largest = 0;
    for (const PlotSeries& series : panel.series) {
      for (const PlotPoint& point : series.points) largest = std::max({largest, point.value, point.high});
    }
    ticks_ = AxisTicks(largest);
  }

  std::string Paint() const {
    std::string svg = Axes();
    const bool bars = panel_.categories.size() < 2;
    for (size_t i = 0; i < panel_.series.size(); ++i) svg += bars ? Bar(i) : Curve(panel_.series[i]);
    return svg;
  }

 private:
  double Y(double value) const { return bottom_ - value / ticks_.back() * (bottom_ - top_); }
  double X(size_t category) const {
    const double slots = static_cast<double>(std::max<size_t>(1, panel_.categories.size()));
    return left_ + (static_cast<double>(category) + 0.5) / slots * (right_ - left_);
  }
  const char* Colour(const PlotSeries& series) const { return colours_.at(series.name); }

  std::string Axes() const {
    std::string svg = Text((left_ + right_) / 2, top_ - 14, "middle", panel_.title, " font-weight=\"bold\"");
    for (const double tick : ticks_) {
      svg += Line(left_, Y(tick), right_, Y(tick), tick == 0 ? "#444444" : "#dddddd");
      svg += Text(left_ - 6, Y(tick) + 4, "end", AxisLabel(tick));
    }
    svg += Line(left_, top_, left_, bottom_, "#444444");
    for (size_t i = 0; i < panel_.categories.size(); ++i)
      svg += Text(X(i), bottom_ + 16, "middle", panel_.categories[i]);
    svg += Text((left_ + right_) / 2, bottom_ + 34, "middle", panel_.x_title);
    const double middle = (top_ + bottom_) / 2;
    svg += Text(left_ - 48, middle, "middle", panel_.y_title,
                fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", left_ - 48, middle));
    return svg;
  }

  std::string Whisker(double x, const PlotPoint& point, const char* colour) const {
    if (point.high <= point.low) return {};
    return Line(x, Y(point.low), x, Y(point.high), colour) +
           Line(x - 4, Y(point.low), x + 4, Y(point.low), colour) +
           Line(x - 4, Y(point.high), x + 4, Y(point.high), colour);
  }

  std::string Bar(size_t number) const {
    const PlotSeries& series = panel_.series[number];
    if (series.points.empty()) return {};
    const PlotPoint& point = series.points.front();
    const double slot = (right_ - left_) / static_cast<double>(panel_.series.size());
    const double x = left_ + slot * static_cast<double>(number) + slot * 0.2;
    return fmt::format(
               "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
               "fill-opacity=\"0.75\"/>\n",
               x, Y(point.value), slot * 0.6, bottom_ - Y(point.value), Colour(series)) +
           Whisker(x + slot * 0.3, point, "#444444") +
           Text(x + slot * 0.3, Y(std::max(point.value, point.high)) - 5, "middle",
                fmt::format("{:.4g}", point.value));
  }

  std::string Curve(const PlotSeries& series) const {
    std::string corners;
    std::string marks;
    for (const PlotPoint& point : series.points) {
      const double x = X(point.category);
      corners += fmt::format("{:.1f},{:.1f} ", x, Y(point.value));
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x, Y(point.value),
                           Colour(series)) +
               Whisker(x, point, Colour(series));
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", corners,
                       Colour(series)) +
           marks;
  }

  const PlotPanel& panel_;
  const Colours& colours_;
  const double left_;
  const double right_;
  const double top_;
  const double bottom_;
  std::vector<double> ticks_;
};

Colours DealColours(const std::vector<PlotPanel>& panels) {
  Colours colours;
  for (const PlotPanel& panel : panels) {
    for (const PlotSeries& series : panel.series)
      colours.emplace(series.name, kColours[colours.size() % std::size(kColours)]);
  }
  return colours;
}

std::string Legend(const Colours& colours) {
  std::string svg;
  double x = kLeft;
  for (const auto& [name, colour] : colours) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"42\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, colour);
    svg += Text(x + 18, 52, "start", name);
    x += 18 + 7.5 * static_cast<double>(name.size()) + 24;
  }
  return svg;
}

}  // namespace

std::vector<double> AxisTicks(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return {0, 1};
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks = {0};
  for (int i = 1; ticks.back() < largest; ++i) ticks.push_back(step * i);
  return ticks;
}

std::string RenderSvg(const std::string& title, const std::vector<PlotPanel>& panels,
                      const std::vector<std::string>& notes) {
  const double columns = panels.size() < 2 ? 1 : 2;
  const double rows = std::ceil(static_cast<double>(panels.size()) / columns);
  const double width = columns * kPanelWidth;
  const double notes_at = kHead + rows * kPanelHeight;
  const double height = notes_at + static_cast<double>(notes.size() + 1) * kNoteHeight;
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  svg += Text(width / 2, 24, "middle", title, " font-size=\"16\" font-weight=\"bold\"");
  const Colours colours = DealColours(panels);
  svg += Legend(colours);
  for (size_t i = 0; i < panels.size(); ++i) {
    const double column = static_cast<double>(i % static_cast<size_t>(columns));
    const double row = static_cast<double>(i / static_cast<size_t>(columns));
    svg += PanelPainter(panels[i], column * kPanelWidth, kHead + row * kPanelHeight, colours).Paint();
  }
  for (size_t i = 0; i < notes.size(); ++i)
    svg += Text(16, notes_at + static_cast<double>(i + 1) * kNoteHeight - 4, "start", notes[i],
                " fill=\"#b00000\"");
  return svg + "</svg>\n";
}

}  // namespace tarn::bench
