#include "verify/report/markup/svg.h"

#include <algorithm>

#include "verify/base/format.h"
#include "verify/report/junit.h"

namespace lockstep::verify {

constexpr int64_t kMostTicks = 8;

std::string SvgPixels(double x) { return Format("%.2f", x); }

std::string SvgRect(double x, double y, double right, double bottom,
                    const std::string& attributes) {
  return "<rect x=\"" + SvgPixels(x) + "\" y=\"" + SvgPixels(y) +
         "\" width=\"" + SvgPixels(right - x) + "\" height=\"" +
         SvgPixels(bottom - y) + "\"" + (attributes.empty() ? "" : " ") +
         attributes + "/>\n";
}

std::string SvgLine(double x1, double y1, double x2, double y2,
                    const std::string& attributes) {
  return "<line x1=\"" + SvgPixels(x1) + "\" y1=\"" + SvgPixels(y1) +
         "\" x2=\"" + SvgPixels(x2) + "\" y2=\"" + SvgPixels(y2) + "\"" +
         (attributes.empty() ? "" : " ") + attributes + "/>\n";
}

std::string SvgLabel(double x, double y, const char* anchor,
                     const std::string& text) {
  return "<text x=\"" + SvgPixels(x) + "\" y=\"" + SvgPixels(y) +
         "\" text-anchor=\"" + anchor + "\">" + XmlEscape(text) + "</text>\n";
}

std::vector<int64_t> SvgTicks(int64_t length, double pixels) {
  const int64_t most =
      std::clamp<int64_t>(static_cast<int64_t>(pixels / 60), 1, kMostTicks);
  int64_t step = 1;
  if (length % 8 == 0) {
    while (length / step > most) step *= 2;
  } else {
    for (int64_t factor = 0; length / step > most; ++factor) {
      step = factor % 3 == 1 ? step / 2 * 5 : step * 2;  // 1 2 5 10 20 50
    }
  }
  std::vector<int64_t> ticks;
  for (int64_t t = 0; t + step / 2 < length; t += step) ticks.push_back(t);
  ticks.push_back(length);
  return ticks;
}

}  // namespace lockstep::verify
