#include "bench/told.h"

#include <utility>

#include "bench/measure.h"
#include "bench/report.h"
#include "verify/base/format.h"

namespace lockstep::bench {

using verify::Format;
using verify::Teller;

bool IsTold(Teller teller) {
  return teller == Teller::kKernel || teller == Teller::kDevice;
}

bool MayBe(double told, double asked) {
  constexpr double kLeast = 0.5;
  constexpr double kMost = 1.05;
  return told >= kLeast * asked && told <= kMost * asked;
}

bool IsUsed(Teller teller, std::vector<double> shares) {
  return teller != Teller::kKernel || MayBe(Median(std::move(shares)), 1);
}

std::string ToldText(Teller teller, bool used) {
  if (!used) return "told, not used";
  return teller == Teller::kDevice ? "device clock" : "told";
}

std::string WhyNoTime(double told, double asked, double flop, double peak) {
  const std::string says = "the kernel says that it took ";
  if (!(told > 0)) {
    return says + "no time in a call of " + TimeText(asked) +
           "; leave `seconds` out, or measure them (docs/wire.md)";
  }
  if (!(peak > 0) || flop / told <= peak) return "";
  return says + TimeText(told) + " in a call of " + TimeText(asked) +
         Format(", %.3g GFLOP/s where this machine does %.3g at most",
                flop / told * 1e-9, peak * 1e-9) +
         "; wait for what it launches, or leave `seconds` out (docs/wire.md)";
}

}  // namespace lockstep::bench
