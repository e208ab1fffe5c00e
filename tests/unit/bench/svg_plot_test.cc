#include "bench/svg_plot.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tarn::bench {
namespace {

// Enough of XML to tell a picture that opens from one that does not: tags nest and close, attributes are
// quoted, no bare '<' or '&', printable ASCII alone. Gives what is wrong, or nothing.
std::string WhatIsWrong(std::string_view xml) {
  std::vector<std::string> open;
  bool root_seen = false;
  for (size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const size_t end = xml.find(';', at);
      if (end == std::string_view::npos || end - at > 6) return "a bare ampersand";
      at = end + 1;
    } else if (xml[at] != '<') {
      const auto byte = static_cast<unsigned char>(xml[at++]);
      if (byte >= 0x7f || (byte < 0x20 && byte != '\n')) return "a byte that is no text";
    } else {
      const size_t end = xml.find('>', at);
      if (end == std::string_view::npos) return "a tag without an end";
      const std::string_view tag = xml.substr(at + 1, end - at - 1);
      if (tag.find('<') != std::string_view::npos) return "a tag within a tag";
      size_t quotes = 0;
      for (const char letter : tag) quotes += letter == '"' ? 1 : 0;
      if (quotes % 2 != 0) return "an attribute that does not end";
      const std::string name(tag.substr(tag.starts_with('/') ? 1 : 0,
                                        tag.find_first_of(" /?", 1) - (tag.starts_with('/') ? 1 : 0)));
      if (tag.starts_with('/')) {
        if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
        open.pop_back();
      } else if (!tag.starts_with('?') && !tag.ends_with('/')) {
        if (open.empty() && root_seen) return "a second root";
        root_seen = true;
        open.push_back(name);
      }
      at = end + 1;
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return root_seen ? "" : "nothing in it";
}

PlotPanel MakePanel(std::vector<std::string> categories) {
  PlotPanel panel{"a < b & \"c\"", "readers", "members/s", std::move(categories), {}};
  for (const char* name : {"raw", "mount", "<loose>\xff\n"}) {
    PlotSeries series{name, {}};
    for (size_t i = 0; i < panel.categories.size(); ++i)
      series.points.push_back({i, 100.0 * (i + 1), 90, 120});
    panel.series.push_back(series);
  }
  return panel;
}

TEST(SvgPlotTest, ThePictureIsWellFormedWhateverTheTextsHold) {
  EXPECT_EQ(
      WhatIsWrong(RenderSvg("t <&>", {MakePanel({"1", "4", "16"}), MakePanel({"1"})}, {"INVALID: <x> & y"})),
      "");
  EXPECT_EQ(WhatIsWrong(RenderSvg("", {}, {})), "");
  EXPECT_EQ(WhatIsWrong(RenderSvg("empty", {PlotPanel{"no runs", "", "", {"1"}, {{"raw", {}}}}}, {})), "");
}

TEST(SvgPlotTest, TheCheckItselfFindsWhatIsNotWellFormed) {
  for (const char* bad :
       {"<a>", "<a></b>", "<a>&</a>", "<a x=\"1></a>", "<a/><b></b><c></c>", "<a>\x01</a>", ""})
    EXPECT_NE(WhatIsWrong(bad), "") << bad;
}

TEST(SvgPlotTest, OneCategoryIsBarsAndSeveralAreLines) {
  const std::string bars = RenderSvg("t", {MakePanel({"1"})}, {});
  EXPECT_EQ(bars.find("<polyline"), std::string::npos);
  const std::string lines = RenderSvg("t", {MakePanel({"1", "4"})}, {});
  EXPECT_NE(lines.find("<polyline"), std::string::npos);
}

TEST(SvgPlotTest, AxesAreRoundAndReachTheLargestValue) {
  for (const double largest : {0.003, 0.9, 1.0, 7.0, 99.0, 12345.0, 3e6}) {
    const auto ticks = AxisTicks(largest);
    EXPECT_EQ(ticks.front(), 0);
    EXPECT_GE(ticks.back(), largest);
    EXPECT_LE(ticks.size(), 8U);
    EXPECT_GE(ticks.size(), 4U);
  }
  EXPECT_EQ(AxisTicks(0).size(), 2U);
}

}  // namespace
}  // namespace tarn::bench
