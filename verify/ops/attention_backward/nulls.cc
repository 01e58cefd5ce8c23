// Answers that know nothing, or leave one feature out: what a case must be
// able to tell from the truth.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/nulls.h"

namespace lockstep::verify {
namespace {

// What equal weights give: every key the mean of the cotangents of its group.
void MeanOfCotangents(const AttentionBackwardTrial& trial, int64_t row,
                      RowBits* bits) {
  const AttentionForwardProblem& p = trial.data().problem.forward;
  const LaneView& d_o = trial.data().inputs.d_o;
  bits->assign(trial.outputs().size(), {});
  const BackwardRow at = trial.RowAt(row);
  if (at.kind != BackwardRow::Kind::kKey) return;
  for (int64_t c = 0; c < p.value_dim; ++c) {
    double sum = 0;
    for (int64_t g = 0; g < p.group(); ++g) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        const double x = ElementValue(
            d_o.lane, ElementBits(d_o, {at.b, at.head * p.group() + g, i, c}));
        if (std::isfinite(x)) sum += x;
      }
    }
    (*bits)[0].push_back(BitsOf(trial.data().problem.grad_lane,
                                sum / static_cast<double>(p.kv_len)));
  }
}

}  // namespace

std::vector<NullCandidate> AttentionBackwardTrial::Nulls() const {
  std::vector<NullCandidate> nulls;
  nulls.push_back({"zeros", [this](int64_t row, RowBits* bits) {
                     bits->clear();
                     // Of what is handed back besides, nothing is said.
                     bits->resize(outputs().size());
                     for (size_t t = 0; t < PlaceOfOwnO(); ++t) {
                       const auto channels =
                           static_cast<size_t>(outputs()[t].shape[3]);
                       (*bits)[t].assign(Lines(t, row).size() * channels, 0u);
                     }
                   }});
  nulls.push_back({"mean_of_do", [this](int64_t row, RowBits* bits) {
                     MeanOfCotangents(*this, row, bits);
                   }});
  // o and lse are those of the right problem: only what reads them is wrong.
  for (WeakerAttention& one :
       WithoutOneFeature(data_.problem.forward, data_.inputs.forward)) {
    AttentionBackwardProblem problem = data_.problem;
    AttentionBackwardInputs inputs = data_.inputs;
    problem.forward = std::move(one.problem);
    inputs.forward = std::move(one.inputs);
    nulls.push_back(
        {one.name, [this, problem = std::move(problem),
                    inputs = std::move(inputs)](int64_t row, RowBits* bits) {
           RowWith(problem, inputs, row, bits);
         }});
  }
  return nulls;
}

}  // namespace lockstep::verify
