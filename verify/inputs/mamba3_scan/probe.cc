#include "verify/inputs/mamba3_scan/probe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

#include "reference/runs.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"

namespace lockstep::verify {
namespace {

constexpr float kReset = -16;             // worth 1e-7
constexpr float kHalf = -0x1.62e430p-1f;  // log(1/2)
constexpr float kSure = 64;               // sigmoid of it is 1
constexpr int64_t kMost = 6;              // of |W|, and of s_t
constexpr int64_t kBeat = 8;              // tokens between impulses
constexpr int64_t kResets = 32;           // in a row, about
constexpr int64_t kLeastBlock = 16;       // tokens to a reset
// Step sizes of spin, by the token's place in its run; an angle turns by half
// of one. The first: 7/16 of a turn. The next three: 32 turns and a quarter.
constexpr double kOnce = 0.875;
constexpr double kLeap = 64.5;
constexpr int64_t kLeaps = 3;
// All others. Its last bits and those of pi times it alternate: an f32 sum that
// is not reduced loses a third of its last place with every token, whatever it
// has grown to.
constexpr double kSteady = 0x1.2d558p0;

// Of spin: where sigmoid is neither 0 nor 1 and yet far from 1/2.
constexpr float kGates[] = {5, -5, 9, -7};

// What a draw is for.
enum class Use : uint8_t {
  kV = 1,
  kQ,
  kK,
  kTau,
  kDt,
  kA,
  kZ,
  kRate,
  kBq,
  kBk,
  kPsi,
  kPhi,
  kZeta,
  kNorm,
  kTheta,
  kInitH,
  kInitK,
  kInitV,
  kPhase,
  kStrike,
};

// Sets element [b, h, position, channel] of a tensor to f(...), a number that
// every lane has.
template <typename F>
void Fill(const ScanStorage& storage, F&& f) {
  if (!storage.there()) return;
  const MutableLaneView& view = storage.tensor.view;
  const auto& n = view.shape;
  for (int64_t b = 0; b < n[0]; ++b) {
    for (int64_t h = 0; h < n[1]; ++h) {
      for (int64_t t = 0; t < n[2]; ++t) {
        for (int64_t c = 0; c < n[3]; ++c) {
          const auto value = static_cast<double>(f(b, h, t, c));
          SetElement(view, {b, h, t, c}, BitsOf(view.lane, value));
        }
      }
    }
  }
}

class Filler {
 public:
  Filler(ProbeKind kind, uint64_t seed, bool ssd, Mamba3ScanData* data)
      : kind_(kind),
        seed_(Mix(seed + (static_cast<uint64_t>(kind) -
                          static_cast<uint64_t>(ProbeKind::kIntegrate)))),
        ssd_(ssd),
        data_(*data),
        p_(data->problem) {
    const auto tokens = static_cast<size_t>(p_.batch * p_.length);
    place_.resize(tokens);
    last_.resize(tokens);
    for (const auto& run : reference::ListRuns(p_, data->inputs)) {
      for (int64_t t = run.first; t < run.end; ++t) {
        place_[At(run.row, t)] = t - run.first;
        last_[At(run.row, t)] = t + 1 == run.end;
      }
    }
  }

  void Run() {
    FillKeys();
    FillTimes();
    FillValues();
    FillParameters();
    FillCarries();
  }

 private:
  using T = ScanTensor;

  size_t At(int64_t b, int64_t t) const {
    return static_cast<size_t>(b * p_.length + t);
  }
  int64_t Place(int64_t b, int64_t t) const { return place_[At(b, t)]; }
  uint64_t Draw(Use use, int64_t b, int64_t h, int64_t t, int64_t c) const {
    uint64_t x = Mix(seed_ + static_cast<uint64_t>(use));
    for (const int64_t part : {b, h, t, c}) {
      x = Mix(x ^ static_cast<uint64_t>(part));
    }
    return x;
  }
  // One of 0 .. n - 1.
  int64_t Of(int64_t n, Use use, int64_t b, int64_t h, int64_t t,
             int64_t c) const {
    return static_cast<int64_t>(Draw(use, b, h, t, c) >> 33) % n;
  }
  int64_t Sign(Use use, int64_t b, int64_t h, int64_t t, int64_t c) const {
    return Of(2, use, b, h, t, c) == 0 ? 1 : -1;
  }
  bool Impulses() const {
    return kind_ == ProbeKind::kHalves || kind_ == ProbeKind::kTurns || Spins();
  }
  bool Spins() const { return kind_ == ProbeKind::kSpin; }
  bool Turns() const { return kind_ == ProbeKind::kTurns || Spins(); }
  int64_t GroupOf(int64_t h) const { return h / p_.group(); }
  // Which of its three a token is, and which three, by group.
  int64_t InTriples(int64_t b, int64_t g, int64_t t) const {
    return Place(b, t) + Of(3, Use::kPhase, b, g, 0, 0);
  }

  // The biases stand in few coordinates, others by head and rank, so that what
  // a read adds up to stays small.
  bool Biased(Use use, int64_t h, int64_t r, int64_t n) const {
    const int64_t most = std::max<int64_t>(4 / p_.ranks, 1);
    const int64_t stride = (p_.state_dim + most - 1) / most;
    return (n + Of(stride, use, 0, h, r, -1)) % stride == 0;
  }
  // Which coordinate an impulse of a token's time is in.
  int64_t Coordinate(int64_t b, int64_t t) const {
    return (Place(b, t) / kBeat + 1) % p_.state_dim;
  }

  void FillKeys() {
    Fill(data_.at(T::kBq), [&](int64_t, int64_t h, int64_t r, int64_t n) {
      return Biased(Use::kBq, h, r, n) ? Sign(Use::kBq, 0, h, r, n) : 0;
    });
    Fill(data_.at(T::kBk), [&](int64_t, int64_t h, int64_t r, int64_t n) {
      // Every pair of coordinates turns in an exported k.
      if (kind_ == ProbeKind::kHalves) {
        return Biased(Use::kBk, h, r, n) ? int64_t{1} : 0;
      }
      return Of(2, Use::kBk, 0, h, r, n);
    });
    Fill(data_.at(T::kQ), [&](int64_t b, int64_t g, int64_t at, int64_t n) {
      const int64_t t = at / p_.ranks;
      // One rank reads at a time: their sum stays small.
      if (t % p_.ranks != at % p_.ranks) return int64_t{0};
      if (Impulses()) return int64_t{n == Coordinate(b, t)};
      const bool reads = n == Of(p_.state_dim, Use::kQ, b, g, t, 0);
      return reads ? Sign(Use::kQ, b, g, t, 1) : 0;
    });
    Fill(data_.at(T::kK), [&](int64_t b, int64_t g, int64_t at, int64_t n) {
      const int64_t t = at / p_.ranks;
      const int64_t r = at % p_.ranks;
      // Every pair shows its angle in an exported k.
      if (Spins()) return int64_t{1};
      if (Impulses()) {
        return int64_t{n == (Coordinate(b, t) + r) % p_.state_dim};
      }
      const bool triples = kind_ == ProbeKind::kTriples;
      const int64_t since = triples ? InTriples(b, g, t) / 3 : 0;
      const int64_t drawn = Of(2, Use::kK, b * 4 + r, g, since, n);
      // Without biases the state holds nothing more.
      return p_.bias ? std::max<int64_t>(drawn, n == 0) : drawn + 1;
    });
  }

  // lambda = 1.
  bool Sure(int64_t b, int64_t h, int64_t t) const {
    if (ssd_ || Spins()) return true;
    if (kind_ == ProbeKind::kTriples) {
      const int64_t i = InTriples(b, GroupOf(h), t) % 3;
      if (i != 1) return i == 0;
    }
    // Carries count at the first token, if lambda is not 1.
    if (kind_ == ProbeKind::kIntegrate && Place(b, t) == 0) return false;
    return Of(2, Use::kTau, b, h, t, 0) == 0;
  }
  double Step(int64_t b, int64_t h, int64_t t) const {
    if (Spins()) {
      const int64_t place = Place(b, t);
      return place == 0 ? kOnce : place <= kLeaps ? kLeap : kSteady;
    }
    const int64_t drawn = Of(4, Use::kDt, b, h, t, 0);
    if (kind_ == ProbeKind::kTurns) {
      return drawn < 2 ? 0.5 : drawn == 2 ? 1 : 0.1875;
    }
    const bool third =
        kind_ == ProbeKind::kTriples && InTriples(b, GroupOf(h), t) % 3 == 2;
    if (third) return ssd_ ? 1 : 2;
    return drawn < 2 ? 2 : 4;
  }
  // lambda dt, and (1 - lambda) dt.
  double Own(int64_t b, int64_t h, int64_t t) const {
    return Step(b, h, t) * (Sure(b, h, t) ? 1 : 0.5);
  }
  double Before(int64_t b, int64_t h, int64_t t) const {
    return Sure(b, h, t) ? 0 : Step(b, h, t) * 0.5;
  }
  // s_t.
  int64_t Weight(int64_t b, int64_t h, int64_t t) const {
    const bool last = last_[At(b, t)];
    return static_cast<int64_t>(Own(b, h, t) +
                                (last ? 0 : Before(b, h, t + 1)));
  }
  bool Resets(int64_t b, int64_t h, int64_t t) const {
    const auto shared = static_cast<uint64_t>(p_.length + kResets - 1) /
                        static_cast<uint64_t>(kResets);
    const auto block =
        std::max(kLeastBlock, static_cast<int64_t>(std::bit_ceil(shared)));
    return t % block == Of(block, Use::kA, b, h, t / block, 0);
  }

  void FillTimes() {
    Fill(data_.at(T::kDt), [&](int64_t b, int64_t h, int64_t t, int64_t) {
      return Step(b, h, t);
    });
    Fill(data_.at(T::kTau), [&](int64_t b, int64_t h, int64_t t, int64_t) {
      if (ssd_) return std::numeric_limits<float>::infinity();
      return Sure(b, h, t) ? kSure : 0.0f;
    });
    Fill(data_.at(T::kA), [&](int64_t b, int64_t h, int64_t t, int64_t) {
      if (Impulses()) {
        return static_cast<float>(Of(3, Use::kA, b, h, t, 0)) * kHalf;
      }
      return kind_ == ProbeKind::kForget && Resets(b, h, t) ? kReset : 0.0f;
    });
    // tanh of 20 is 1: half of the step size in turns, either way.
    Fill(data_.at(T::kRate), [&](int64_t b, int64_t h, int64_t t, int64_t s) {
      if (!Turns()) return int64_t{0};
      if (!Spins()) return 20 * Sign(Use::kRate, b, h, t, s);
      return TurnsAt(h, s, Place(b, t)) ? 20 * Sign(Use::kRate, 0, h, 0, s) : 0;
    });
  }
  // Whether an angle of spin turns at that place of a run: a third of them at
  // all tokens behind the leaps, a third at the first token, a third at the
  // leaps. Two angles of one head are of the first two thirds.
  static bool TurnsAt(int64_t h, int64_t s, int64_t place) {
    const int64_t now = place == 0 ? 1 : place <= kLeaps ? 2 : 0;
    return (h + s) % 3 == now;
  }

  // One channel of a head, from the first token of the row on.
  void Walk(int64_t b, int64_t h, int64_t c, std::vector<int64_t>* v) const {
    int64_t sum = 0;
    for (int64_t t = 0; t < p_.length; ++t) {
      const bool forgets = kind_ == ProbeKind::kForget && Resets(b, h, t);
      if (Place(b, t) == 0 || forgets) sum = 0;
      int64_t& now = (*v)[static_cast<size_t>(t)];
      const bool third =
          kind_ == ProbeKind::kTriples && InTriples(b, GroupOf(h), t) % 3 == 2;
      if (third) {
        now = -sum;
        sum = 0;
        continue;
      }
      const int64_t weight = Weight(b, h, t);
      now = Sign(Use::kV, b, h, t, c);
      if (std::abs(sum + weight * now) > kMost) now = -now;
      sum += weight * now;
    }
  }

  void FillValues() {
    std::vector<int64_t> v(static_cast<size_t>(p_.length));
    const MutableLaneView& view = data_.at(T::kV).tensor.view;
    for (int64_t b = 0; b < p_.batch; ++b) {
      for (int64_t h = 0; h < p_.heads; ++h) {
        for (int64_t c = 0; c < p_.head_dim; ++c) {
          Impulses() ? Strike(b, h, c, &v) : Walk(b, h, c, &v);
          for (int64_t t = 0; t < p_.length; ++t) {
            const auto value = static_cast<double>(v[static_cast<size_t>(t)]);
            SetElement(view, {b, h, t, c}, BitsOf(view.lane, value));
          }
        }
      }
    }
    Fill(data_.at(T::kZ), [&](int64_t b, int64_t h, int64_t t, int64_t c) {
      const int64_t drawn = Of(4, Use::kZ, b, h, t, c);
      if (Spins()) return kGates[drawn];
      return drawn < 2 ? kSure : drawn == 2 ? kSure / 2 : -kSure;
    });
  }
  // An impulse in eight tokens, early enough to be seen to fade.
  void Strike(int64_t b, int64_t h, int64_t c, std::vector<int64_t>* v) const {
    for (int64_t t = 0; t < p_.length; ++t) {
      const int64_t place = Place(b, t);
      // Behind the leaps, whose steps are large.
      const int64_t at = Of(4, Use::kStrike, b, h, place / kBeat, 0) +
                         (Spins() ? kLeaps + 1 : 0);
      (*v)[static_cast<size_t>(t)] =
          place % kBeat == at ? 4 * Sign(Use::kV, b, h, t, c) : 0;
    }
  }

  void FillParameters() {
    Fill(data_.at(T::kD), [](int64_t, int64_t h, int64_t, int64_t) {
      return (h / 4 % 2 == 0 ? 1 : -1) * (int64_t{1} << h % 4);
    });
    // Ranks alternate: their sum in the state stays small.
    const auto signs = [&](Use use) {
      return [this, use](int64_t, int64_t h, int64_t r, int64_t c) {
        return (r % 2 == 0 ? 1 : -1) * Sign(use, 0, h, 0, c);
      };
    };
    Fill(data_.at(T::kPsi), signs(Use::kPsi));
    Fill(data_.at(T::kPhi), signs(Use::kPhi));
    Fill(data_.at(T::kZeta), [&](int64_t, int64_t h, int64_t r, int64_t c) {
      return Of(4, Use::kZeta, 0, h, r, c) == 0 ? -1 : 1;
    });
    Fill(data_.at(T::kNormWeight), [&](int64_t, int64_t h, int64_t, int64_t c) {
      return 0.5 *
             static_cast<double>(int64_t{1} << Of(3, Use::kNorm, 0, h, 0, c));
    });
  }

  void FillCarries() {
    Fill(data_.at(T::kCarryTheta),
         [&](int64_t run, int64_t h, int64_t, int64_t s) {
           if (!Turns()) return 0.0;
           return static_cast<double>(Of(32, Use::kTheta, run, h, 0, s)) / 32;
         });
    Fill(data_.at(T::kCarryH),
         [&](int64_t run, int64_t h, int64_t c, int64_t n) {
           return Of(2, Use::kInitH, run, h, c, n);
         });
    // By rank 1, 3, 1, 3: under psi's signs equal ones would cancel, and so
    // would 1, 2, 1; a v of 0 hides its k.
    Fill(data_.at(T::kCarryK),
         [&](int64_t run, int64_t r, int64_t h, int64_t n) {
           // Axes: run, rank, head, coordinate.
           return (1 + 2 * (r % 2)) * Sign(Use::kInitK, run, h, 0, n);
         });
    Fill(data_.at(T::kCarryV), [&](int64_t run, int64_t h, int64_t, int64_t c) {
      return Sign(Use::kInitV, run, h, 0, c);
    });
  }

  ProbeKind kind_;
  uint64_t seed_;
  bool ssd_;
  Mamba3ScanData& data_;
  const Mamba3ScanProblem& p_;
  std::vector<int64_t> place_;  // of a token in its run
  std::vector<bool> last_;      // whether it ends it
};

}  // namespace

void FillScanProbe(ProbeKind kind, uint64_t seed, bool ssd,
                   Mamba3ScanData* data) {
  Filler(kind, seed, ssd, data).Run();
}

}  // namespace lockstep::verify
