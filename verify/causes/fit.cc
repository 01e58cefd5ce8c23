#include "verify/causes/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "reference/contract/numerics.h"

namespace lockstep::verify {
namespace {

// Places that are listed one by one.
constexpr size_t kListed = 6;

// Of the numbers among them; 1 where there are none but zeros.
double RootMeanSquare(const std::vector<float>& x) {
  double sum = 0;
  double count = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) continue;
    sum += static_cast<double>(value) * static_cast<double>(value);
    ++count;
  }
  return sum > 0 ? std::sqrt(sum / count) : 1.0;
}

// Errors of this many roundings are plain: other arithmetic makes none such.
constexpr double kPlain = 8;
// A bug's answer is the produced one up to this share of what either moves.
constexpr double kAgrees = 0.1;

double Squared(float a, float b, double scale) {
  if (a == b) return 0;
  const double distance =
      (static_cast<double>(a) - static_cast<double>(b)) / scale;
  return std::min(distance * distance, 1.0);
}

double Gap(float a, float b) {
  return std::fabs(static_cast<double>(a) - static_cast<double>(b));
}

bool Same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool SameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// "2, 3 of 4", "64 to 127 of 128", or how many.
std::string Places(const std::vector<int64_t>& on, size_t all) {
  const std::string of = " of " + std::to_string(all);
  const bool row = on.back() - on.front() + 1 == std::ssize(on);
  if (on.size() > 2 && row) {
    return std::to_string(on.front()) + " to " + std::to_string(on.back()) + of;
  }
  if (on.size() > kListed) return std::to_string(on.size()) + " places" + of;
  std::string text;
  for (const int64_t place : on) {
    text += (text.empty() ? "" : ", ") + std::to_string(place);
  }
  return text + of;
}

// One element in three answers: the right one, the produced one, the bug's.
struct Triple {
  float right, produced, bug;

  bool Finite() const {
    return std::isfinite(right) && std::isfinite(produced) &&
           std::isfinite(bug);
  }
};

// What roundings of legal kernels may differ by, about.
double NoiseOf(const OutputSpec& spec, float right, double scale) {
  const double own = std::fabs(static_cast<double>(right));
  if (spec.lane == Lane::kF32) return 0x1p-18 * (own + scale);
  const double unit = LaneRowOf(spec.lane).roundoff;
  return unit * own + unit / 2 * scale;
}

// All of one line: sums of its finite elements, and what is special once.
class LineFit {
 public:
  // `same`: all bits of the answer are the bug's. Then little is evidence, too;
  // beside other bits it is noise that agrees.
  LineFit(const OutputSpec& spec, double scale, bool same)
      : spec_(spec), scale_(scale), same_(same) {}

  void Add(const Triple& at) {
    if (!at.Finite()) return AddSpecial(at);
    sums_.wrong += Squared(at.produced, at.right, scale_);
    sums_.left += Squared(at.produced, at.bug, scale_);
    sums_.moved += Squared(at.bug, at.right, scale_);
    ++finite_;
    if (finite_ == 1) first_ = at.produced;
    equal_ = equal_ && at.produced == first_;
    Weigh(at);
  }

  Distances Take() const {
    Distances all = sums_;
    all.wrong += wrong_ ? 1 : 0;
    all.left += left_ ? 1 : 0;
    all.moved += moved_ ? 1 : 0;
    // A line of one number shows where a bug is, not which.
    if (finite_ > 1 && equal_) all.agree = 0;
    return all;
  }

 private:
  // Numbers in place of an infinity are the bug's if they are near: other
  // arithmetic rounds them otherwise.
  void AddSpecial(const Triple& at) {
    const bool wrong = !Same(at.produced, at.right);
    const bool moved = !Same(at.bug, at.right);
    const bool as_bug =
        Same(at.produced, at.bug) ||
        (std::isfinite(at.produced) && std::isfinite(at.bug) &&
         Gap(at.produced, at.bug) <= kPlain * NoiseOf(spec_, at.bug, scale_));
    wrong_ = wrong_ || wrong;
    moved_ = moved_ || moved;
    left_ = left_ || !as_bug;
    sums_.against += as_bug ? 0 : 1;
    sums_.erring += wrong ? 1 : 0;
    sums_.moving += moved ? 1 : 0;
  }

  void Weigh(const Triple& at) {
    const double noise = NoiseOf(spec_, at.right, scale_);
    const double error = Gap(at.produced, at.right);
    const double move = Gap(at.bug, at.right);
    const double most = std::max(error, move);
    if (error > kPlain * noise) ++sums_.erring;
    if (move > kPlain * noise) ++sums_.moving;
    const bool bits = same_ && error > 0;
    if (bits || (most > kPlain * noise &&
                 Gap(at.produced, at.bug) <= kAgrees * most + noise)) {
      // Many bugs leave or make a zero.
      if (at.produced != 0) ++sums_.agree;
    } else if (most > kPlain * noise) {
      ++sums_.against;
    }
  }

  const OutputSpec& spec_;
  const double scale_;
  const bool same_;
  Distances sums_;
  bool wrong_ = false, left_ = false, moved_ = false;
  int64_t finite_ = 0;  // elements
  float first_ = 0;     // of these, as produced
  bool equal_ = true;   // to all others
};

// With the bug where that is nearer, without it elsewhere; outputs that lack
// the axis have the bug in any case, and speak against it if it is not there.
Scope ScopeAlong(const std::string& axis, const std::vector<Distances>& places,
                 const Distances& all) {
  Distances with = all;
  for (const Distances& here : places) with.Remove(here);
  // Of a sample nothing is known between its places.
  if (std::any_of(places.begin(), places.end(),
                  [](const Distances& here) { return here.lines == 0; })) {
    return {};
  }
  // Differences of sums that were added up in another order.
  if (with.left < 1e-12 * all.left) with.left = 0;
  std::vector<int64_t> on;
  for (size_t n = 0; n < places.size(); ++n) {
    const Distances& here = places[n];
    if (here.left < here.wrong) {
      with.Add(here);
      if (here.moved > 0) on.push_back(static_cast<int64_t>(n));
      continue;
    }
    with.wrong += here.wrong;
    with.left += here.wrong;
    with.against += here.erring;
    with.erring += here.erring;
  }
  if (on.empty() || on.size() == places.size()) return {};
  return {axis + " " + Places(on, places.size()), Left(with), with};
}

}  // namespace

std::vector<int64_t> LinesOf(const Trial& trial, size_t output,
                             const LookedAt& rows) {
  std::vector<int64_t> lines;
  if (rows.empty()) {
    lines.resize(static_cast<size_t>(trial.outputs()[output].lines()));
    std::iota(lines.begin(), lines.end(), int64_t{0});
    return lines;
  }
  for (const int64_t row : rows) {
    const std::vector<int64_t> held = trial.Lines(output, row);
    lines.insert(lines.end(), held.begin(), held.end());
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

Numbers NumbersOf(const Trial& trial, const OutputSet& outputs,
                  const NumericProfile* profile, const LookedAt& rows) {
  Numbers numbers;
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const LaneView x = outputs.tensors[t].const_view();
    std::vector<float>& to = numbers.emplace_back();
    if (profile != nullptr && !HasOutput(*profile, spec.name)) continue;
    for (const int64_t line : LinesOf(trial, t, rows)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const std::array<int64_t, 4> at = LineIndex(spec, line, c);
        to.push_back(x.Float(at[0], at[1], at[2], at[3]));
      }
    }
  }
  return numbers;
}

void Distances::Add(const Distances& other) {
  wrong += other.wrong;
  left += other.left;
  moved += other.moved;
  agree += other.agree;
  against += other.against;
  erring += other.erring;
  moving += other.moving;
  rows += other.rows;
  lines += other.lines;
}

void Distances::Remove(const Distances& other) {
  wrong -= other.wrong;
  left -= other.left;
  moved -= other.moved;
  agree -= other.agree;
  against -= other.against;
  erring -= other.erring;
  moving -= other.moving;
  rows -= other.rows;
  lines -= other.lines;
}

Fit FitOf(const Trial& trial, const Numbers& right, const Numbers& produced,
          const Numbers& bug, const LookedAt& looked_at) {
  Fit fit;
  for (size_t t = 0; t < right.size(); ++t) {
    fit.same_bits =
        fit.same_bits && (right[t].empty() ||
                          std::equal(produced[t].begin(), produced[t].end(),
                                     bug[t].begin(), bug[t].end(), SameBits));
  }
  // Lines of two outputs at one place are one row's.
  std::set<std::pair<std::string, std::array<int64_t, 4>>> rows;
  for (size_t t = 0; t < right.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    if (right[t].empty()) continue;
    const double scale = RootMeanSquare(right[t]);
    std::array<std::vector<Distances>*, 3> axes{};
    for (size_t a = 0; a < axes.size(); ++a) {
      if (spec.axes[a] == nullptr) continue;
      axes[a] = &fit.by_axis[spec.axes[a]];
      const auto places = static_cast<size_t>(spec.shape[a]);
      axes[a]->resize(std::max(axes[a]->size(), places));
    }
    size_t at = 0;
    for (const int64_t line : LinesOf(trial, t, looked_at)) {
      LineFit of_line(spec, scale, fit.same_bits);
      for (int64_t c = 0; c < spec.shape[3]; ++c, ++at) {
        of_line.Add({right[t][at], produced[t][at], bug[t][at]});
      }
      Distances here = of_line.Take();
      here.lines = 1;
      const std::array<int64_t, 4> place = LineIndex(spec, line, 0);
      const char* const down = spec.axes[spec.down];
      if (here.agree > 0 &&
          rows.insert({down == nullptr ? "" : down, place}).second) {
        here.rows = 1;
      }
      fit.all.Add(here);
      for (size_t a = 0; a < axes.size(); ++a) {
        if (axes[a] != nullptr)
          (*axes[a])[static_cast<size_t>(place[a])].Add(here);
      }
    }
  }
  return fit;
}

double Left(const Distances& distances) {
  const double most = std::max(distances.wrong, distances.moved);
  if (!(most > 0)) return 1;
  return std::min(std::sqrt(distances.left / most), 1.0);
}

Scope ScopeOf(const Fit& fit) {
  Scope best{"", Left(fit.all), fit.all};
  for (const auto& [axis, places] : fit.by_axis) {
    Scope scope = ScopeAlong(axis, places, fit.all);
    if (scope.left < best.left) best = std::move(scope);
  }
  return best;
}

}  // namespace lockstep::verify
