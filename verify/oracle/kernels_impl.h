// The inner loops, over any lane type of lanes.h. One file per instruction set
// includes it. Everything here is a template on the lane type, so that no code
// that is compiled for one set is linked into another's.
#ifndef LOCKSTEP_VERIFY_ORACLE_KERNELS_IMPL_H_
#define LOCKSTEP_VERIFY_ORACLE_KERNELS_IMPL_H_

#include <cstddef>
#include <limits>

#include "verify/oracle/elementary.h"
#include "verify/oracle/kernels.h"
#include "verify/oracle/lane_loops.h"
#include "verify/oracle/lanes.h"

namespace lockstep::oracle {

// Rows of one register tile: eight fma chains keep two pipes of latency four
// busy, and 16 (or 32) registers hold them.
template <typename B>
inline constexpr size_t kRegisterRows = B::size == 8 ? 4 : 2;
template <typename B>
inline constexpr size_t kPerPanel = kPanel / B::size;

template <typename B>
void ScoreTileOf(const ScoreTile& t) {
  constexpr size_t kRows = kRegisterRows<B>;
  constexpr size_t kN = kPerPanel<B>;
  for (size_t slot = 0; slot < t.panel_count; ++slot) {
    const double* panel =
        t.k + static_cast<size_t>(t.panels[slot]) * t.head_dim * kPanel;
    for (size_t row = 0; row < kTileRows; row += kRows) {
      B dot[kRows][kN], product[kRows][kN];
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t n = 0; n < kN; ++n) dot[r][n] = product[r][n] = B(0.0);
      }
      for (size_t d = 0; d < t.head_dim; ++d) {
        for (size_t n = 0; n < kN; ++n) {
          const B k = Load<B>(panel + d * kPanel + n * B::size);
          const B abs_k = Abs(k);
          for (size_t r = 0; r < kRows; ++r) {
            const B q(t.q[(row + r) * t.head_dim + d]);
            dot[r][n] = Fma(q, k, dot[r][n]);
            product[r][n] = Fma(Abs(q), abs_k, product[r][n]);
          }
        }
      }
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t n = 0; n < kN; ++n) {
          const size_t at = (row + r) * t.stride + slot * kPanel + n * B::size;
          Store(dot[r][n], t.dot + at);
          Store(product[r][n], t.product + at);
        }
      }
    }
  }
}

// Eight chains over keys, folded at the end.
template <typename B>
struct KeySum {
  B lanes[kPerPanel<B>];
  explicit KeySum(double start) {
    for (B& lane : lanes) lane = B(start);
  }
  void Get(double (&out)[kPanel]) const {
    for (size_t n = 0; n < kPerPanel<B>; ++n) {
      Store(lanes[n], out + n * B::size);
    }
  }
  double Sum() const {
    double l[kPanel];
    Get(l);
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
  }
  double Largest() const {
    double l[kPanel];
    Get(l);
    double largest = l[0];
    for (size_t i = 1; i < kPanel; ++i)
      largest = l[i] > largest ? l[i] : largest;
    return largest;
  }
  double Smallest() const {
    double l[kPanel];
    Get(l);
    double smallest = l[0];
    for (size_t i = 1; i < kPanel; ++i) {
      smallest = l[i] < smallest ? l[i] : smallest;
    }
    return smallest;
  }
};

template <typename B>
void LogitRowOf(LogitRow* row) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const B zero(0.0), one(1.0), inf(kInf);
  const B scale(row->scale), abs_scale = Abs(scale);
  const B cap(row->cap != 0 ? row->cap : 1.0);
  KeySum<B> max(-kInf), largest(0), top(0), bad(0);
  for (size_t j = 0; j < row->keys; j += B::size) {
    const size_t n = j / B::size % kPerPanel<B>;
    const auto visible = zero < Load<B>(row->visible + j);
    const B z = Load<B>(row->score + j) * scale;
    const B raw = Load<B>(row->product + j);
    largest.lanes[n] = Max(largest.lanes[n],
                           Select(visible, Select(raw < inf, raw, inf), zero));
    // Where a score is infinite no small change of it matters.
    const auto finite = raw < inf;
    const B product = Select(finite, raw * abs_scale, zero);
    const B argument = Select(finite, Abs(z), zero);
    B s = z;
    B slope = one;
    if (row->cap != 0) {
      const TanhAndSlope<B> t = TanhWithSlope(z / cap);
      // A NaN score stays one (SplitExp clamps it).
      s = Select(z < inf, cap * t.tanh, Select(zero < z, cap, z));
      // The slope anywhere within the error x of z: sech^2 grows at most by
      // e^(2x / cap) <= 1 + y + y^2, y = 2x / cap <= 1.
      const B y = (Fma(B(row->bound.product), product,
                       B(row->bound.argument) * argument) *
                   B(2.0)) /
                  cap;
      const B grown = t.slope * (B(1 + kSlopeError) + Fma(y, y, y));
      slope = Select(y < one, Min(grown, one), one);
    }
    bad.lanes[n] =
        Select(visible, Select(s < inf, bad.lanes[n], one), bad.lanes[n]);
    s = Select(visible, s, B(-kInf));
    const B size = Abs(s);
    top.lanes[n] = Max(top.lanes[n], Select(size < inf, size, zero));
    max.lanes[n] = Max(max.lanes[n], s);
    Store(s, row->score + j);
    Store(slope * product, row->product + j);
    Store(slope * argument, row->argument + j);
  }
  row->max = max.Largest();
  row->largest_product = largest.Largest();
  row->largest_score = top.Largest();
  row->bad = bad.Largest() > 0;
}

template <typename B>
void WeightRowOf(WeightRow* row) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const B zero(0.0), inf(kInf);
  const WeightModel& bound = row->model.bound;
  const WeightModel& spread = row->model.spread;
  KeySum<B> weight(0), square(0), eta_sum(0), phi_sum(0), unsure(0), floor(0),
      spreads(0), product_part(0), argument_part(0), score_part(0),
      distance_part(0), least(kInf);
  for (size_t j = 0; j < row->keys; j += B::size) {
    const size_t n = j / B::size % kPerPanel<B>;
    const B s = Load<B>(row->score + j);
    const auto counts = B(-kInf) < s;  // visible, and not N13's weight +0
    const B p = Select(counts, Exp(s - B(row->max)), zero);
    // Where p is 0 all magnitudes are made 0 as well: 0 * inf is not.
    const B distance = Select(counts, B(row->max) - s, zero);
    const B score = Select(counts, Abs(s), zero);
    const B product = Select(counts, Load<B>(row->product + j), zero);
    const B argument = Select(counts, Load<B>(row->argument + j), zero);
    B eta = Fma(B(bound.product), product, B(bound.constant));
    eta = Fma(B(bound.argument), argument, eta);
    eta = Fma(B(bound.score), score, eta);
    eta = Fma(B(bound.distance), distance, eta);
    const PhiOf<B> off(p, Select(counts, eta, zero),
                       Select(counts, distance, inf));
    eta = Min(eta, B(-kLeastExp));
    const B least_phi = Select(counts, B(bound.floor), zero);
    const B phi = Fma(off.of, off.grown, least_phi);
    const B a = B(spread.product) * product;
    const B b = B(spread.argument) * argument;
    const B c = B(spread.score) * score;
    const B d = B(spread.distance) * distance;
    B psi = Fma(a, a, B(spread.constant * spread.constant));
    psi = Fma(b, b, psi);
    psi = Fma(c, c, psi);
    psi = Fma(d, d, psi);
    psi = (p * p) * psi + Select(counts, B(spread.floor * spread.floor), zero);
    Store(p, row->score + j);
    Store(phi, row->product + j);
    Store(psi, row->argument + j);
    weight.lanes[n] = weight.lanes[n] + p;
    square.lanes[n] = Fma(p, p, square.lanes[n]);
    eta_sum.lanes[n] = Fma(p, eta, eta_sum.lanes[n]);
    phi_sum.lanes[n] = phi_sum.lanes[n] + phi;
    unsure.lanes[n] = Fma(off.unsure, off.grown, unsure.lanes[n]);
    floor.lanes[n] = floor.lanes[n] + least_phi;
    spreads.lanes[n] = spreads.lanes[n] + psi;
    product_part.lanes[n] = Fma(p, product, product_part.lanes[n]);
    argument_part.lanes[n] = Fma(p, argument, argument_part.lanes[n]);
    score_part.lanes[n] = Fma(p, score, score_part.lanes[n]);
    distance_part.lanes[n] = Fma(p, distance, distance_part.lanes[n]);
    least.lanes[n] = Select(zero < p, Min(p, least.lanes[n]), least.lanes[n]);
  }
  row->weight = weight.Sum();
  row->square = square.Sum();
  row->eta = eta_sum.Sum();
  row->phi = phi_sum.Sum();
  row->unsure = unsure.Sum();
  row->floor = floor.Sum();
  row->spread = spreads.Sum();
  row->parts[0] = bound.constant * row->weight;
  row->parts[1] = bound.product * product_part.Sum();
  row->parts[2] = bound.argument * argument_part.Sum();
  row->parts[3] = bound.score * score_part.Sum();
  row->parts[4] = bound.distance * distance_part.Sum();
  row->least = least.Smallest();
}

// A register tile of sums, [row][vector of channels], out of memory and back.
template <typename B, size_t kRows>
struct Sums {
  static constexpr size_t kN = kPerPanel<B>;
  B x[kRows][kN];

  explicit Sums(const double* from) {
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t n = 0; n < kN; ++n) {
        x[r][n] = Load<B>(from + r * kPanel + n * B::size);
      }
    }
  }
  void Write(double* to) const {
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t n = 0; n < kN; ++n) {
        Store(x[r][n], to + r * kPanel + n * B::size);
      }
    }
  }
};

// Calls visit(first value of the key, its place in the rows' weights). Inlined,
// so that the sums of a register tile stay in registers.
template <typename Visit>
[[gnu::always_inline]] inline void ForTileKeys(const ValueTile& t,
                                               const Visit& visit) {
  for (size_t slot = 0; slot < t.panel_count; ++slot) {
    const double* v =
        t.v + static_cast<size_t>(t.panels[slot]) * kPanel * kPanel;
    for (size_t j = 0; j < kPanel; ++j)
      visit(v + j * kPanel, slot * kPanel + j);
  }
}

template <typename B, bool kSquares>
void ValueSumsOf(const ValueTile& t) {
  constexpr size_t kRows = kRegisterRows<B>;
  constexpr size_t kN = kPerPanel<B>;
  for (size_t row = 0; row < kTileRows; row += kRows) {
    Sums<B, kRows> o(t.o + row * kPanel), abs_sum(t.abs_sum + row * kPanel);
    Sums<B, kRows> square_sum((kSquares ? t.square_sum : t.o) + row * kPanel);
    const double* p = t.p + row * t.stride;
    ForTileKeys(t, [&](const double* v, size_t key) {
      // Weights are not negative: |w v| = w |v|, (w v)^2 = w^2 v^2.
      B weight[kRows], weight2[kRows];
      for (size_t r = 0; r < kRows; ++r) {
        weight[r] = B(p[r * t.stride + key]);
        if constexpr (kSquares) weight2[r] = weight[r] * weight[r];
      }
      for (size_t n = 0; n < kN; ++n) {
        const B value = Load<B>(v + n * B::size);
        const B size = Abs(value);
        for (size_t r = 0; r < kRows; ++r) {
          o.x[r][n] = Fma(weight[r], value, o.x[r][n]);
          abs_sum.x[r][n] = Fma(weight[r], size, abs_sum.x[r][n]);
          if constexpr (kSquares) {
            square_sum.x[r][n] =
                Fma(weight2[r], value * value, square_sum.x[r][n]);
          }
        }
      }
    });
    o.Write(t.o + row * kPanel);
    abs_sum.Write(t.abs_sum + row * kPanel);
    if constexpr (kSquares) square_sum.Write(t.square_sum + row * kPanel);
  }
}

// One accumulator a row is a short chain: more rows hide it.
template <typename B, bool kSpread>
inline constexpr size_t kSpreadRows =
    B::size == 8 && !kSpread ? kTileRows : kRegisterRows<B>;

// Around o; with kSizes of |v| around abs_sum.
template <typename B, bool kSizes, bool kSpread>
void ValueSpreadOf(const ValueTile& t) {
  constexpr size_t kRows = kSpreadRows<B, kSpread>;
  constexpr size_t kN = kPerPanel<B>;
  const double* const centres = kSizes ? t.abs_sum : t.o;
  double* const phi_sums = kSizes ? t.size_phi_sum : t.phi_sum;
  for (size_t row = 0; row < kTileRows; row += kRows) {
    const Sums<B, kRows> centre(centres + row * kPanel);
    Sums<B, kRows> phi_sum(phi_sums + row * kPanel);
    Sums<B, kRows> spread_sum((kSpread ? t.spread_sum : t.o) + row * kPanel);
    const double* phi = t.phi + row * t.stride;
    const double* spread = t.spread + row * t.stride;
    ForTileKeys(t, [&](const double* v, size_t key) {
      for (size_t r = 0; r < kRows; ++r) {
        const B phi_r(phi[r * t.stride + key]);
        for (size_t n = 0; n < kN; ++n) {
          B value = Load<B>(v + n * B::size);
          if constexpr (kSizes) value = Abs(value);
          const B apart = value - centre.x[r][n];
          phi_sum.x[r][n] = Fma(phi_r, Abs(apart), phi_sum.x[r][n]);
          if constexpr (kSpread) {
            const B spread_r(spread[r * t.stride + key]);
            spread_sum.x[r][n] =
                Fma(spread_r, apart * apart, spread_sum.x[r][n]);
          }
        }
      }
    });
    phi_sum.Write(phi_sums + row * kPanel);
    if constexpr (kSpread) spread_sum.Write(t.spread_sum + row * kPanel);
  }
}

template <typename B>
constexpr Kernels MakeKernels() {
  return {&ScoreTileOf<B>,
          &LogitRowOf<B>,
          &WeightRowOf<B>,
          &ValueSumsOf<B, false>,
          &ValueSumsOf<B, true>,
          &ValueSpreadOf<B, false, false>,
          &ValueSpreadOf<B, false, true>,
          &ValueSpreadOf<B, true, false>,
          MakeLaneLoops<B>()};
}

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_KERNELS_IMPL_H_
