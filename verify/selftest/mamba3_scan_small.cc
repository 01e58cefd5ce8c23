// Small random scans for the zoo.
#include <algorithm>
#include <array>
#include <cstddef>

#include "verify/base/mixing.h"
#include "verify/selftest/mamba3_scan.h"

namespace lockstep::verify {
namespace {

class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  int64_t In(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(NextMixed(&state_) %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }
  template <size_t kSize>
  std::string Of(const std::array<const char*, kSize>& from) {
    return from[static_cast<size_t>(In(0, int64_t{kSize} - 1))];
  }

 private:
  uint64_t state_;
};

std::string Digits(int64_t x) { return std::to_string(x); }

// Runs of the given length by ids, or by ends with an empty one now and then.
// None is longer than `longest`.
std::string Runs(int64_t length, bool ids, int64_t longest, Stream* draw) {
  std::string text = ids ? " seg=ids:" : " cu=0";
  int64_t id = 0;
  for (int64_t at = 0; at < length;) {
    const int64_t run = draw->In(1, std::min(length - at, longest));
    if (ids) text += (at > 0 ? "," : "") + Digits(id) + "*" + Digits(run);
    at += run;
    if (!ids) text += "," + Digits(at);
    if (!ids && draw->OneIn(5)) text += "," + Digits(at);
    id = id == 0 ? draw->In(1, 3) : 0;
  }
  return text;
}

// f32 or bf16 where none is given.
std::string LaneOf(std::optional<Lane> lane, Stream* draw) {
  if (!lane) lane = draw->OneIn(2) ? Lane::kBf16 : Lane::kF32;
  return lane == Lane::kF32 ? "" : std::string(" lane=") + LaneName(*lane);
}

}  // namespace

std::string SmallScanLine(uint64_t seed, std::optional<Lane> lane) {
  Stream draw(seed);
  const bool step = draw.OneIn(8);
  std::string line = step ? "mamba3_step" : "mamba3_scan";
  const int64_t length =
      draw.OneIn(12) ? draw.In(17, 70) : draw.In(1, step ? 6 : 14);
  const int64_t state = 2 * draw.In(1, 5);
  const bool batch = draw.OneIn(5);
  if (batch) line += " b=2";
  line += " t=" + Digits(length) +
          draw.Of<5>({"", "", " h=2", " h=2 g=2", " h=4 g=2"}) +
          " n=" + Digits(state) + " p=" + Digits(draw.In(1, 5)) +
          " s=" + Digits(draw.In(0, state / 2));
  const bool mimo = draw.OneIn(2);
  if (mimo) line += " variant=mimo r=" + Digits(draw.In(1, 4));
  const bool half = lane == Lane::kF16;
  line += LaneOf(lane, &draw);
  if (draw.OneIn(8)) line += half ? " rot=f16" : " rot=bf16";
  if (draw.OneIn(4)) line += " bias=no";
  if (draw.OneIn(4)) line += " skip=no";
  if (draw.OneIn(2)) line += " gate=yes";
  if (mimo && draw.OneIn(2)) line += " reduce=yes";
  if (draw.OneIn(5)) line += " norm=" + draw.Of<2>({"1e-5", "0.1"});
  const bool runs = !step && draw.OneIn(2);
  if (runs) line += Runs(length, batch || draw.OneIn(2), 7, &draw);
  if (draw.OneIn(2)) line += " carry=yes";
  line += draw.Of<5>({"", " regime=short", " regime=long", " regime=strong",
                      " regime=resets"});
  line += draw.Of<4>({"", "", " rate=signs:3", " rate=normal:0.2"});
  line += draw.Of<8>({"", "", "", "", "", " fill=normal:1+zero:0.3",
                      " fill=int:-3,3", " tau=signs:20"});
  if (draw.OneIn(16) && line.find(" tau=") == line.npos)
    line += " tau=const:inf";
  return line + " seed=" + Digits(draw.In(0, 1 << 20));
}

std::string LongScanLine(uint64_t seed, std::optional<Lane> lane) {
  Stream draw(seed);
  const int64_t length =
      draw.OneIn(2) ? draw.In(1000, 1100) : draw.In(1000, 4100);
  const int64_t state = 8 * draw.In(1, 3);
  std::string line = "mamba3_scan t=" + Digits(length) +
                     draw.Of<3>({"", " h=2", " h=2 g=2"}) +
                     " n=" + Digits(state) + " p=" + Digits(draw.In(1, 4)) +
                     " s=" + Digits(state / draw.In(2, 4));
  if (draw.OneIn(2)) line += " variant=mimo r=" + Digits(draw.In(1, 3));
  line += LaneOf(lane, &draw);
  if (draw.OneIn(2)) line += " gate=yes";
  if (draw.OneIn(4)) line += " norm=1e-5";
  if (draw.OneIn(2)) line += Runs(length, draw.OneIn(2), length, &draw);
  if (draw.OneIn(2)) line += " carry=yes";
  line += draw.Of<4>({"", " regime=short", " regime=long", " regime=resets"});
  return line + " seed=" + Digits(draw.In(0, 1 << 20));
}

}  // namespace lockstep::verify
