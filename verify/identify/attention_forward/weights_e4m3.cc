#include "verify/identify/attention_forward/weights_e4m3.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

constexpr size_t kWeights = 256;
// Relative error of a weight before it is rounded: of exp, and of the product
// with the scale.
constexpr double kE4m3Margin = 0x1p-12;
// Powers of two, the largest number of e4m3, that of its variant without
// infinities, and their halves.
constexpr double kScales[] = {1,   2,   4,   8,   16,  32, 64,
                              128, 224, 240, 256, 384, 448};

// Natural scores -u of weights e^-u, from nearly 1 to where those of every
// scale vanish.
std::vector<float> Distances() {
  std::vector<float> u;
  const std::vector<float> drawn = DrawnNumbers(kWeights, 7, 91);
  for (size_t i = 0; i < kWeights; ++i) {
    u.push_back(std::ldexp(drawn[i], static_cast<int>(i % 8) - 4));
  }
  return u;
}

double RoundedToE4m3(double x, double scale) {
  return double{RoundToE4m3(static_cast<float>(x * scale))} / scale;
}

// Whether errors of the margin might round it to another number.
bool IsNearE4m3Border(double x, double scale) {
  return RoundedToE4m3(x * (1 - kE4m3Margin), scale) !=
         RoundedToE4m3(x * (1 + kE4m3Margin), scale);
}

// Whether the model gives o for every weight that is far from a border. At
// least a quarter of the weights must be.
bool E4m3Explains(const E4m3Weights& model, const AttentionKernel& kernel,
                  const std::vector<float>& distances, const Rows& o) {
  size_t told = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    const double p = ExpDouble(-double{distances[i]});
    const bool before = model.normalise == Normalise::kBefore;
    const double weight = before ? p / (1 + p) : p;
    if (IsNearE4m3Border(weight, model.scale)) continue;
    ++told;
    const double rounded = RoundedToE4m3(weight, model.scale);
    const bool of_rounded = model.l_from == LFrom::kRounded;
    const double l = before ? 1 : 1 + (of_rounded ? rounded : p);
    const double wanted = rounded / l;
    const double noise = kernel.OutputNoise(wanted) + 0x1p-16 * wanted;
    if (!(std::fabs(double{o[i][0]} - wanted) <= noise)) return false;
  }
  return told >= distances.size() / 4;
}

std::vector<E4m3Weights> E4m3Models() {
  std::vector<E4m3Weights> models;
  for (const double scale : kScales) {
    models.push_back({scale, Normalise::kDeferred, LFrom::kUnrounded});
    models.push_back({scale, Normalise::kDeferred, LFrom::kRounded});
    models.push_back({scale, Normalise::kBefore, LFrom::kUnrounded});
  }
  return models;
}

}  // namespace

std::optional<E4m3Weights> FindE4m3Weights(AttentionKernel* kernel) {
  const std::vector<float> distances = Distances();
  AttentionQuestion question;
  for (const float u : distances) {
    question.q.push_back({u, 0, 0, 0, 0, 0, 0, 0});
  }
  question.k = {{0, 0, 0, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0, 0, 0}};
  question.v = {{0, 0, 0, 0}, {1, 0, 0, 0}};
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return std::nullopt;
  for (const E4m3Weights& model : E4m3Models()) {
    if (E4m3Explains(model, *kernel, distances, answer->o)) return model;
  }
  return std::nullopt;
}

void ReportE4m3Weights(const E4m3Weights& weights, AttentionKernel* kernel) {
  const std::string came = Format(
      "%zu weights from 1 to e^-16 were those of e4m3, times %g before "
      "they were rounded",
      kWeights, weights.scale);
  kernel->Say("p", Word::kReported, came,
              Format("p = e4m3, p_scale = %g", weights.scale));
  if (weights.normalise == Normalise::kBefore) {
    kernel->Say("normalise", Word::kReported,
                came + ", and divided by their sum before that",
                "normalise = before, max = two_pass, splits = 1");
  }
  if (weights.l_from == LFrom::kRounded) {
    kernel->Say("l_from", Word::kReported,
                "o was divided by the sum of the rounded weights",
                "l_from = rounded");
  }
  if (weights.normalise != Normalise::kDeferred) return;
  kernel->weight_unit = UnitRoundoff(NumberType::kE4m3);
  kernel->weight_margin = kE4m3Margin;
  kernel->weight_rounding = [scale = weights.scale](double x) {
    return RoundedToE4m3(x, scale);
  };
}

}  // namespace lockstep::verify
