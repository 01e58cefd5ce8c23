#include "verify/scan_probes.h"

#include <cmath>
#include <cstring>

#include "reference/runs.h"
#include "verify/envelope.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kMaxRanks = 4;
constexpr int64_t kMaxTurns = 4096;       // tokens; f32 radians drift
constexpr float kForget = -200;           // e^-200 is no f32
constexpr float kHalf = -0x1.62e430p-1f;  // log(1/2)
constexpr int64_t kBeat = 8;              // tokens between impulses
constexpr float kGate = 64;               // sigmoid of it is 1

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 0 .. 3, from everything that names an element.
int Level(uint64_t seed, int64_t b, int64_t h, int64_t t, int64_t c) {
  uint64_t x = Mix(seed);
  for (const int64_t part : {b, h, t, c}) {
    x = Mix(x ^ static_cast<uint64_t>(part));
  }
  return static_cast<int>(x >> 62);
}

bool Impulses(ProbeKind kind) {
  return kind == ProbeKind::kHalves || kind == ProbeKind::kTurns;
}

// Sets element [b, h, position, channel] of a tensor to f(...).
template <typename F>
void Fill(const ScanStorage& storage, F&& f) {
  if (!storage.there()) return;
  const MutableLaneView& view = storage.tensor.view;
  const auto& n = view.shape;
  for (int64_t b = 0; b < n[0]; ++b) {
    for (int64_t h = 0; h < n[1]; ++h) {
      for (int64_t t = 0; t < n[2]; ++t) {
        for (int64_t c = 0; c < n[3]; ++c) {
          const auto value = static_cast<float>(f(b, h, t, c));
          if (view.lane == Lane::kF32) {
            view.As<float>()(b, h, t, c) = value;
            continue;
          }
          // Small integers and powers of two: the upper half is all.
          uint32_t bits = 0;
          std::memcpy(&bits, &value, sizeof(bits));
          view.As<Bf16>()(b, h, t, c).bits = static_cast<uint16_t>(bits >> 16);
        }
      }
    }
  }
}

class Filler {
 public:
  Filler(ProbeKind kind, uint64_t seed, Mamba3ScanData* data)
      : kind_(kind), seed_(seed), data_(*data), p_(data->problem) {
    place_.resize(static_cast<size_t>(p_.batch * p_.length));
    for (const auto& run : reference::ListRuns(p_, data->inputs)) {
      for (int64_t t = run.first; t < run.end; ++t) {
        place_[At(run.row, t)] = t - run.first;
      }
    }
  }

  void Run() {
    using T = ScanTensor;
    // The biases stand for their heads: coordinate 0 of q, all of k.
    const auto bias = [](int64_t h) { return 1 + h % 2; };
    const bool biased = p_.bias;
    Fill(data_.at(T::kBq), [&](int64_t, int64_t h, int64_t, int64_t n) {
      return n == 0 ? bias(h) : 0;
    });
    Fill(data_.at(T::kBk), [&](int64_t, int64_t h, int64_t, int64_t n) {
      return Impulses(kind_) ? (n == 0 ? bias(h) : 0) : bias(h);
    });
    Fill(data_.at(T::kQ), [&](int64_t b, int64_t, int64_t at, int64_t n) {
      const int64_t t = at / p_.ranks;
      // One rank reads at a time: their sum stays small.
      if (t % p_.ranks != at % p_.ranks) return 0;
      return n == Coordinate(b, t) ? 1 : 0;
    });
    Fill(data_.at(T::kK), [&](int64_t b, int64_t g, int64_t at, int64_t n) {
      if (Impulses(kind_)) {
        const int64_t place = Coordinate(b, at / p_.ranks) + at % p_.ranks;
        return n == place % p_.state_dim ? 1 : 0;
      }
      return Level(seed_, -1, g, at % p_.ranks, n) % 2 + (biased ? 0 : 1);
    });
    FillValues();
    FillTimes();
    FillParameters();
  }

 private:
  size_t At(int64_t b, int64_t t) const {
    return static_cast<size_t>(b * p_.length + t);
  }
  int64_t Place(int64_t b, int64_t t) const { return place_[At(b, t)]; }
  // Which coordinate a token writes and reads: a new one with every impulse.
  int64_t Coordinate(int64_t b, int64_t t) const {
    const int64_t step = Impulses(kind_) ? Place(b, t) / kBeat : t;
    return (step + 1) % p_.state_dim;
  }
  bool Strikes(int64_t b, int64_t t) const { return Place(b, t) % kBeat == 0; }
  // v is the difference of levels: what a run has summed is its last level.
  int V(int64_t b, int64_t h, int64_t t, int64_t c) const {
    if (Impulses(kind_)) {
      if (!Strikes(b, t)) return 0;
      return Level(seed_, b, h, t, c) % 2 == 0 ? 4 : -4;
    }
    const int before = Place(b, t) > 0 ? Level(seed_, b, h, t - 1, c) : 0;
    return Level(seed_, b, h, t, c) - before;
  }

  void FillValues() {
    Fill(data_.at(ScanTensor::kV), [&](int64_t b, int64_t h, int64_t t,
                                       int64_t c) { return V(b, h, t, c); });
    Fill(data_.at(ScanTensor::kZ),
         [](int64_t, int64_t, int64_t, int64_t) { return kGate; });
  }

  void FillTimes() {
    const float step = kind_ == ProbeKind::kTurns ? 0.5f : 2.0f;
    Fill(data_.at(ScanTensor::kDt),
         [&](int64_t, int64_t, int64_t, int64_t) { return step; });
    Fill(data_.at(ScanTensor::kTau),
         [](int64_t, int64_t, int64_t, int64_t) { return 0; });
    Fill(data_.at(ScanTensor::kA),
         [&](int64_t b, int64_t h, int64_t t, int64_t) {
           switch (kind_) {
             case ProbeKind::kHalves:
               return kHalf;
             case ProbeKind::kTurns:
               return Strikes(b, t) ? kForget : 0.0f;
             case ProbeKind::kForget:
               return Level(seed_, b, h, t, -1) == 0 ? kForget : 0.0f;
             default:
               return 0.0f;
           }
         });
    // tanh of 20 is 1: a quarter turn per token, either way.
    Fill(data_.at(ScanTensor::kRate),
         [&](int64_t, int64_t h, int64_t, int64_t s) {
           if (kind_ != ProbeKind::kTurns) return 0;
           return (h + s) % 2 == 0 ? 20 : -20;
         });
  }

  void FillParameters() {
    using T = ScanTensor;
    const auto sign = [](int64_t, int64_t, int64_t r, int64_t) {
      return r % 2 == 0 ? 1 : -1;
    };
    const auto one = [](int64_t, int64_t, int64_t, int64_t) { return 1; };
    const auto none = [](int64_t, int64_t, int64_t, int64_t) { return 0; };
    Fill(data_.at(T::kD), one);
    Fill(data_.at(T::kPsi), sign);
    Fill(data_.at(T::kPhi), sign);
    Fill(data_.at(T::kZeta), one);
    Fill(data_.at(T::kNormWeight), one);
    Fill(data_.at(T::kCarryTheta), none);
    Fill(data_.at(T::kCarryH),
         [&](int64_t run, int64_t h, int64_t c, int64_t n) {
           return Level(seed_ + 1, run, h, c, n) % 2;
         });
    // Under psi's signs 1, 1 and 1, 1, 1, 1 would cancel, and so would 1, 2, 1;
    // a v of 0 hides its k.
    Fill(data_.at(T::kCarryK), [&](int64_t, int64_t r, int64_t, int64_t n) {
      return Impulses(kind_) && n > 0 ? 0 : 1 + 2 * (r % 2);
    });
    Fill(data_.at(T::kCarryV), [&](int64_t run, int64_t h, int64_t, int64_t c) {
      return 1 + Level(seed_ + 2, run, h, 0, c) % 2;
    });
  }

  ProbeKind kind_;
  uint64_t seed_;
  Mamba3ScanData& data_;
  const Mamba3ScanProblem& p_;
  std::vector<int64_t> place_;  // of a token in its run
};

}  // namespace

std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem) {
  if (kind < ProbeKind::kIntegrate) return "it is a probe of attention_forward";
  if (problem.norm_epsilon) return "the output norm divides";
  if (problem.ranks > kMaxRanks) return "more than four ranks";
  if (kind != ProbeKind::kTurns) return "";
  if (problem.angles == 0) return "there are no angles";
  return problem.length > kMaxTurns ? "more than 4096 tokens of turning" : "";
}

void FillScanProbe(ProbeKind kind, uint64_t seed, Mamba3ScanData* data) {
  Filler(kind, seed, data).Run();
}

ValueSet ScanProbeSet(ProbeKind kind, const Mamba3ScanProblem& problem,
                      const oracle::ScanTruth& truth, ScanOutput output,
                      size_t i, double produced, Rounding rounding) {
  const double gate = problem.gate ? kGate : 1;
  // Steps are 1 (a quarter of that with dt = 1/2, v a multiple of 4).
  double error = kind == ProbeKind::kTurns ? 0.25 : 0.125;
  double value = 0;
  Lane lane = Lane::kF32;
  switch (output) {
    case ScanOutput::kY:
      value = truth.y[i];
      lane = problem.lane;
      break;
    case ScanOutput::kTheta:
      value = truth.theta[i];
      if (std::isfinite(produced)) value += std::nearbyint(produced - value);
      // bf16 below 8 radians, in turns.
      return {value - 0x1p-8, value + 0x1p-8, false};
    case ScanOutput::kH:
      value = truth.h[i];
      break;
    case ScanOutput::kK:
      value = truth.k[i];
      break;
    case ScanOutput::kV:
      return {truth.v[i], truth.v[i], false};
  }
  if (kind == ProbeKind::kHalves && output != ScanOutput::kK) {
    // Ranks of opposite signs cancel: what was rounded is what they add up to.
    double size = std::fabs(value);
    if (problem.ranks > 1 && output == ScanOutput::kY) {
      size = truth.y_companion[i];
    } else if (problem.ranks > 1) {
      size = truth.h_companion[i];
    }
    error = size * 0x1p-6 + 0x1p-12 * gate;
  } else if (output == ScanOutput::kY) {
    error *= gate;
  }
  return RoundedSet(value - error, value + error, lane, rounding);
}

}  // namespace lockstep::verify
