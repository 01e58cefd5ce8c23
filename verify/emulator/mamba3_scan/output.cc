// From o to y: norm, gate, ranks.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanFault;

}  // namespace

// 1 over the root mean square.
float ScanRow::Scale(const Floats& o) const {
  size_t channels = o.size();
  if (dial.Is(F::kNormOfHalf)) channels = std::max<size_t>(channels / 2, 1);
  float squares = 0;
  for (size_t c = 0; c < channels; ++c) {
    squares = math.MulAdd(o[c], o[c], squares);
  }
  const float mean = squares / static_cast<float>(channels) +
                     static_cast<float>(*p.norm_epsilon);
  return 1 / std::sqrt(mean);
}

// silu of one rank's z.
Floats ScanRow::Gates(int64_t t, size_t r) const {
  Floats gates(Z(p.head_dim), 1.0f);
  for (size_t c = 0; c < gates.size() && p.gate; ++c) {
    if (dial.Is(F::kGateTailSkipped) && c + 1 == gates.size()) continue;
    float u = p.mimo() ? zeta[r][c] * z[Z(t)][c] : z[Z(t)][c];
    if (dial.Is(F::kGateClamped)) u = std::max(u, -4.0f);
    float gate = math.Sigmoid(u);
    if (!dial.Is(F::kGateSigmoid)) gate *= u;
    if (dial.Is(F::kGateTwice)) gate *= gate;
    gates[c] = Cast(gate, math.sites().gate);
  }
  return gates;
}

std::vector<Floats> ScanRow::Finish(int64_t t, std::vector<Floats> o) const {
  const ScanNumeric& sites = math.sites();
  const size_t channels = Z(p.head_dim);
  std::vector<Floats> y(Z(p.output_ranks()), Floats(channels));
  for (size_t r = 0; r < o.size(); ++r) {
    const Floats gates = Gates(t, r);
    const bool early = p.gate && dial.Is(F::kGateBeforeNorm);
    for (size_t c = 0; c < channels && early; ++c) o[r][c] *= gates[c];
    for (float& one : o[r]) one = math.HalfBy(F::kF16Ungated, one);
    const float factor = p.norm_epsilon ? Scale(o[r]) : 1;
    for (size_t c = 0; c < channels; ++c) {
      float value = o[r][c];
      if (p.norm_epsilon) value = value * factor * norm_weight[c];
      if (p.gate && !early) value *= gates[c];
      if (dial.Is(F::kSkipAfterGate) && p.skip) {
        value += skip * x[Z(t)][r][c];
      }
      if (p.reduce) {
        const float part = Cast(phi[r][c] * value, sites.rank_sum);
        y[0][c] = Cast(y[0][c] + part, sites.rank_sum);
      } else {
        y[r][c] = value;
      }
    }
  }
  return y;
}

}  // namespace lockstep::verify
