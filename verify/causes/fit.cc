#include "verify/causes/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

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

double Squared(float a, float b, double scale) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return 1;
  const double distance =
      (static_cast<double>(a) - static_cast<double>(b)) / scale;
  return std::min(distance * distance, 1.0);
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

// With the bug where that is nearer, without it elsewhere; outputs that lack
// the axis have the bug in any case, and speak against it if it is not there.
Scope ScopeAlong(const std::string& axis, const std::vector<Distances>& places,
                 const Distances& all) {
  Distances with = all;
  for (const Distances& here : places) {
    with.wrong -= here.wrong;
    with.left -= here.left;
    with.moved -= here.moved;
  }
  // Differences of sums that were added up in another order.
  if (with.left < 1e-12 * all.left) with.left = 0;
  std::vector<int64_t> on;
  for (size_t n = 0; n < places.size(); ++n) {
    const Distances& here = places[n];
    const bool acts = here.left < here.wrong;
    with.wrong += here.wrong;
    with.left += acts ? here.left : here.wrong;
    with.moved += acts ? here.moved : 0;
    if (acts && here.moved > 0) on.push_back(static_cast<int64_t>(n));
  }
  if (on.empty() || on.size() == places.size()) return {};
  return {axis + " " + Places(on, places.size()), Left(with)};
}

}  // namespace

Numbers NumbersOf(const Trial& trial, const OutputSet& outputs) {
  Numbers numbers;
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const LaneView x = outputs.tensors[t].const_view();
    std::vector<float>& to = numbers.emplace_back();
    to.reserve(static_cast<size_t>(spec.lines() * spec.shape[3]));
    for (int64_t line = 0; line < spec.lines(); ++line) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const std::array<int64_t, 4> at = LineIndex(spec, line, c);
        to.push_back(x.lane == Lane::kF32
                         ? x.As<float>()(at[0], at[1], at[2], at[3])
                         : ToFloat(x.As<Bf16>()(at[0], at[1], at[2], at[3])));
      }
    }
  }
  return numbers;
}

void Distances::Add(const Distances& other) {
  wrong += other.wrong;
  left += other.left;
  moved += other.moved;
}

Fit FitOf(const Trial& trial, const Numbers& right, const Numbers& produced,
          const Numbers& bug) {
  Fit fit;
  for (size_t t = 0; t < right.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const double scale = RootMeanSquare(right[t]);
    std::array<std::vector<Distances>*, 3> axes{};
    for (size_t a = 0; a < axes.size(); ++a) {
      if (spec.axes[a] == nullptr) continue;
      axes[a] = &fit.by_axis[spec.axes[a]];
      const auto places = static_cast<size_t>(spec.shape[a]);
      axes[a]->resize(std::max(axes[a]->size(), places));
    }
    for (int64_t line = 0; line < spec.lines(); ++line) {
      Distances here;
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const auto at = static_cast<size_t>(line * spec.shape[3] + c);
        here.wrong += Squared(produced[t][at], right[t][at], scale);
        here.left += Squared(produced[t][at], bug[t][at], scale);
        here.moved += Squared(bug[t][at], right[t][at], scale);
        fit.same_bits = fit.same_bits && SameBits(produced[t][at], bug[t][at]);
      }
      fit.all.Add(here);
      const std::array<int64_t, 4> at = LineIndex(spec, line, 0);
      for (size_t a = 0; a < axes.size(); ++a) {
        if (axes[a] != nullptr)
          (*axes[a])[static_cast<size_t>(at[a])].Add(here);
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
  Scope best{"", Left(fit.all)};
  for (const auto& [axis, places] : fit.by_axis) {
    Scope scope = ScopeAlong(axis, places, fit.all);
    if (scope.left < best.left) best = std::move(scope);
  }
  return best;
}

}  // namespace lockstep::verify
