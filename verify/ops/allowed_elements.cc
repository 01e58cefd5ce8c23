#include "verify/ops/allowed_elements.h"

#include <utility>

#include "verify/allowed/counts.h"
#include "verify/base/compare.h"

namespace lockstep::verify {

AllowedElements::AllowedElements(const Trial& trial, std::vector<int64_t> rows)
    : judged_(trial), rows_(std::move(rows)) {}

std::vector<EnvelopeResult> AllowedElements::JudgeEach(
    const OutputSet& produced, const ElementSink& each) const {
  std::vector<EnvelopeResult> results;
  for (size_t t = 0; t < judged_.outputs().size(); ++t) {
    results.push_back(JudgeOne(t, produced.tensors[t].const_view(), each));
  }
  return results;
}

bool AllowedElements::Allows(size_t n, const RowBits& bits) const {
  for (size_t t = 0; t < bits.size(); ++t) {
    const Lane lane = judged_.outputs()[t].lane;
    for (size_t i = 0; i < bits[t].size(); ++i) {
      const double x = ElementValue(lane, bits[t][i]);
      if (!Element(t, n, i).allowed.Contains(x)) return false;
    }
  }
  return true;
}

bool AllowedElements::Bounds(size_t n) const {
  for (size_t t = 0; t < judged_.outputs().size(); ++t) {
    for (size_t i = 0; i < Count(t, n); ++i) {
      const auto bounds = Element(t, n, i);
      if (!bounds.allowed.Unbounded() && !bounds.vacuous) return true;
    }
  }
  return false;
}

EnvelopeResult AllowedElements::JudgeOne(size_t t, const LaneView& produced,
                                         const ElementSink& each) const {
  const OutputSpec& spec = judged_.outputs()[t];
  int64_t expected = 0;
  for (size_t n = 0; n < rows_.size(); ++n) {
    expected += static_cast<int64_t>(Count(t, n));
  }
  EnvelopeJudge judge(spec.name, expected, spec.lane, &each);
  for (size_t n = 0; n < rows_.size(); ++n) {
    size_t i = 0;
    for (const int64_t line : judged_.Lines(t, rows_[n])) {
      for (int64_t c = 0; c < spec.shape[3]; ++c, ++i) {
        const auto index = LineIndex(spec, line, c);
        const double x = ElementValue(spec.lane, ElementBits(produced, index));
        judge.Add(index, x, Element(t, n, i));
      }
    }
  }
  return judge.Finish({});
}

}  // namespace lockstep::verify
