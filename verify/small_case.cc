#include "verify/small_case.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lockstep::verify {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t In(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }
  template <typename T, size_t kSize>
  T Of(const std::array<T, kSize>& from) {
    return from[static_cast<size_t>(In(0, int64_t{kSize} - 1))];
  }

 private:
  uint64_t state_;
};

std::string Number(int64_t x) { return std::to_string(x); }

// "runs:3,1,5" of the given sum.
std::string Runs(int64_t length, Draw* draw) {
  std::string text = "runs:";
  for (int64_t left = length; left > 0;) {
    const int64_t run = draw->In(1, std::min<int64_t>(left, length / 2 + 1));
    text += (left == length ? "" : ",") + Number(run);
    left -= run;
  }
  return text;
}

std::string Mask(int64_t batch, int64_t skv, Draw* draw) {
  const std::string left = draw->OneIn(4) ? "inf" : Number(draw->In(0, 6));
  const std::string right = draw->OneIn(4) ? "inf" : Number(draw->In(0, 4));
  const std::string window = "window:" + left + "," + right;
  const std::string sink = "sink:" + Number(draw->In(1, 3));
  switch (draw->In(0, 10)) {
    case 0:
      return "full";
    case 1:
    case 2:
      return "causal";
    case 3:
      return window;
    case 4:
      return "causal&" + window;
    case 5:
      return "causal&(window:" + left + ",0|" + sink + ")";
    case 6:
      return "chunked:" + Number(draw->In(1, 9));
    case 7: {
      std::string prefix = "prefix:" + Number(draw->In(0, skv));
      for (int64_t b = 1; b < batch; ++b) {
        prefix += "," + Number(draw->In(0, skv));
      }
      return prefix;
    }
    case 8:
      return std::string("random:") +
             draw->Of<const char*, 4>({"0.2", "0.5", "0.8", "0.97"});
    case 9:
      return "causal|" + sink;
    default:
      return "blocks:4x4:0.5";
  }
}

std::string Heads(Draw* draw) {
  return draw->Of<const char*, 5>(
      {"", " hq=2", " hq=2 hkv=1", " hq=4 hkv=2", " hq=3 hkv=3"});
}

std::string Payload(int64_t batch, int64_t sq, int64_t skv, Draw* draw) {
  std::string text;
  if (draw->OneIn(4)) {
    text += " q_seg=" + Runs(sq, draw) + " kv_seg=" + Runs(skv, draw);
  }
  if (draw->OneIn(5)) {
    text += " valid_q=" + Number(draw->In(0, sq));
    for (int64_t b = 1; b < batch; ++b) text += "," + Number(draw->In(0, sq));
  }
  if (draw->OneIn(5)) {
    text += " valid_kv=" + Number(draw->In(0, skv));
    for (int64_t b = 1; b < batch; ++b) text += "," + Number(draw->In(0, skv));
  }
  return text;
}

}  // namespace

std::string SmallCaseLine(uint64_t seed, std::optional<Lane> lane) {
  Draw draw(seed);
  const int64_t batch = draw.OneIn(3) ? 2 : 1;
  const int64_t sq = draw.Of<int64_t, 9>({1, 1, 2, 3, 4, 5, 8, 9, 12});
  const int64_t skv = draw.Of<int64_t, 10>({1, 2, 4, 5, 8, 9, 13, 16, 17, 33});
  const int64_t d = draw.Of<int64_t, 6>({1, 3, 4, 8, 12, 16});
  std::string line = "attention_forward";
  if (batch > 1) line += " b=2";
  line += Heads(&draw) + " sq=" + Number(sq) + " skv=" + Number(skv) +
          " d=" + Number(d);
  if (draw.OneIn(4)) line += " dv=" + Number(draw.In(1, 8));
  const bool bf16 = lane ? *lane == Lane::kBf16 : draw.OneIn(2);
  if (bf16) line += " lane=bf16";
  if (draw.OneIn(3)) line += " p=bf16";
  if (draw.OneIn(2)) {
    line += std::string(" cap=") +
            draw.Of<const char*, 6>({"0.5", "1", "2", "5", "30", "100"});
  }
  line += " mask=" + Mask(batch, skv, &draw);
  if (draw.OneIn(3)) {
    line += " align=br";
  } else if (draw.OneIn(4)) {
    line += " align=" + Number(draw.In(-3, skv));
  }
  line += Payload(batch, sq, skv, &draw);
  if (draw.OneIn(5)) {
    line += std::string(" sinklogit=") +
            draw.Of<const char*, 3>({"normal:1", "const:0.5", "const:3"});
  }
  if (draw.OneIn(3)) {
    line += std::string(" fill=") +
            draw.Of<const char*, 5>({"spread:3", "spread:10", "spread:30",
                                     "normal:1+k.ramp:8", "normal:4"});
  }
  return line + " seed=" + Number(draw.In(0, 1 << 20));
}

}  // namespace lockstep::verify
