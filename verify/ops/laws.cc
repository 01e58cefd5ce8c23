#include "verify/ops/laws.h"

#include "verify/base/compare.h"
#include "verify/base/elements.h"

namespace lockstep::verify {

std::vector<std::vector<LinePair>> AllLines(const Trial& trial) {
  std::vector<std::vector<LinePair>> kept;
  for (const OutputSpec& spec : trial.outputs()) {
    std::vector<LinePair>& lines = kept.emplace_back();
    for (int64_t n = 0; n < spec.lines(); ++n) lines.push_back({n, n});
  }
  return kept;
}

void CopyKept(const LawCall& call, const OutputSet& answer, const Trial& own,
              const OutputSet& to) {
  for (size_t t = 0; t < call.kept.size(); ++t) {
    const OutputSpec& spec = own.outputs()[t];
    const LaneView from = answer.tensors[t].const_view();
    for (const LinePair& pair : call.kept[t]) {
      At at = LineIndex(spec, pair.own, 0);
      At here = LineIndex(call.trial->outputs()[t], pair.here, 0);
      for (; at[3] < spec.shape[3]; ++at[3], ++here[3]) {
        SetElement(to.tensors[t].view, at, ElementBits(from, here));
      }
    }
  }
}

}  // namespace lockstep::verify
