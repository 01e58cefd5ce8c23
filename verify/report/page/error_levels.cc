#include "verify/report/page/error_levels.h"

#include <algorithm>
#include <cmath>

#include "verify/base/format.h"

namespace lockstep::verify {

ErrorLevels::ErrorLevels(const ErrorPicture& picture) : unit_(picture.unit) {
  // Bounds and last places have steps that mean the same on every page; of
  // what lies beyond exact sets only the largest is known.
  if (unit_ == ErrorUnit::kBound) {
    steps_ = {2, 8, 64};
  } else if (unit_ == ErrorUnit::kUlp) {
    steps_ = {2, 256, 65536};
  } else {
    double largest = 0;
    for (const ErrorElement& element : picture.elements) {
      if (std::isfinite(element.size))
        largest = std::max(largest, element.size);
    }
    steps_ = {largest / 512, largest / 64, largest / 8};
  }
}

int ErrorLevels::Of(const ErrorCell& cell) const {
  if (cell.judged == 0) return 0;
  if (cell.outside == 0) {
    return unit_ == ErrorUnit::kBound && cell.largest > 0.5 ? 2 : 1;
  }
  if (!std::isfinite(cell.largest)) return 7;
  int level = 3;
  for (const double step : steps_) level += cell.largest > step ? 1 : 0;
  return level;
}

std::string ErrorLevels::Size(double size) const {
  if (!std::isfinite(size)) return "no distance";
  switch (unit_) {
    case ErrorUnit::kBound:
      return Format("%.4g x the bound", size);
    case ErrorUnit::kUlp:
      return Format("%.0f ulp", size);
    case ErrorUnit::kBeyond:
      return Format("%.4g beyond", size);
  }
  return "";
}

std::string ErrorLevels::Words(int level) const {
  const auto step = [&](size_t n) { return Size(steps_[n]); };
  switch (level) {
    case 0:
      return "not compared with the truth";
    case 1:
      return unit_ == ErrorUnit::kUlp     ? "the expected bits"
             : unit_ == ErrorUnit::kBound ? "inside, up to half the bound"
                                          : "inside";
    case 2:
      return unit_ == ErrorUnit::kBound ? "inside, above half the bound" : "";
    case 3:
      return "wrong, up to " + step(0);
    case 4:
      return "wrong, up to " + step(1);
    case 5:
      return "wrong, up to " + step(2);
    case 6:
      return "wrong, further";
    default:
      return "wrong without a distance: NaN or infinity on one side";
  }
}

}  // namespace lockstep::verify
