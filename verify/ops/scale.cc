#include "verify/ops/scale.h"

#include <cfenv>
#include <cmath>
#include <cstddef>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/ops/kernels.h"

namespace lockstep::verify {
namespace {

Result<OutputSet> ByReference(const Trial& trial) {
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!outputs.ok()) return outputs;
  Execution execution;
  trial.kernels().RunReference(outputs.value(), &execution);
  return outputs;
}

}  // namespace

bool ScaleTensor(const LaneTensor& tensor, int exponent) {
  if (tensor.buffer.data() == nullptr) return true;
  bool normal = true;
  ForElements(tensor.view.shape, [&](const At& at) {
    const Lane lane = tensor.view.lane;
    const double x = std::ldexp(
        ElementValue(lane, ElementBits(tensor.const_view(), at)), exponent);
    const double size = std::fabs(x);
    normal &= x == 0 || !std::isfinite(x) ||
              (size >= std::ldexp(1.0, LaneRowOf(lane).min_exponent) &&
               size <= LaneRowOf(lane).largest);
    SetElement(tensor.view, at, BitsOf(lane, x));
  });
  return normal;
}

Result<bool> StaysNormal(const Trial& trial) {
  std::feclearexcept(FE_UNDERFLOW);
  ASSIGN_OR_RETURN(const OutputSet outputs, ByReference(trial));
  return std::fetestexcept(FE_UNDERFLOW) == 0;
}

Result<std::vector<std::vector<LinePair>>> ScaledLines(const Trial& own,
                                                       const Trial& scaled,
                                                       int exponent) {
  ASSIGN_OR_RETURN(const OutputSet before, ByReference(own));
  ASSIGN_OR_RETURN(const OutputSet after, ByReference(scaled));
  std::vector<std::vector<LinePair>> kept(own.outputs().size());
  for (size_t t = 0; t < kept.size(); ++t) {
    const OutputSpec& spec = own.outputs()[t];
    const auto value = [&](const OutputSet& set, const At& at) {
      return ElementValue(spec.lane,
                          ElementBits(set.tensors[t].const_view(), at));
    };
    for (int64_t line = 0; line < spec.lines(); ++line) {
      bool holds = true;
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const At at = LineIndex(spec, line, c);
        holds &= value(after, at) == std::ldexp(value(before, at), exponent);
      }
      if (holds) kept[t].push_back({line, line});
    }
  }
  return kept;
}

}  // namespace lockstep::verify
