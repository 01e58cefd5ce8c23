// Answers that know nothing, or leave one feature out: what a case must be
// able to tell from the truth.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/base/elements.h"
#include "verify/ops/attention_forward/nulls.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

bool IsFull(const MaskExpr& mask) { return mask.kind == MaskExpr::Kind::kFull; }

// Whether a term of the tree compares positions.
bool UsesAlignment(const MaskExpr& mask) {
  switch (mask.kind) {
    case MaskExpr::Kind::kCausal:
    case MaskExpr::Kind::kWindow:
    case MaskExpr::Kind::kChunked:
    case MaskExpr::Kind::kPrefix:
      return true;
    default:
      return std::any_of(mask.children.begin(), mask.children.end(),
                         UsesAlignment);
  }
}

// The offset of every batch row, where there is only one.
std::optional<int64_t> CommonOffset(const AttentionForwardProblem& p,
                                    const AttentionForwardInputs& inputs) {
  const int64_t first = inputs.Offset(p, 0);
  for (int64_t b = 1; b < p.batch; ++b) {
    if (inputs.Offset(p, b) != first) return std::nullopt;
  }
  return first;
}

}  // namespace

void AttentionForwardTrial::MeanOfValues(int64_t row, RowBits* bits) const {
  const AttentionForwardProblem& p = data_.problem;
  const auto at = LineIndex(outputs()[0], LineOf(row), 0);
  const int64_t kv_head = at[1] / p.group();
  bits->assign(2, {});
  (*bits)[0].resize(static_cast<size_t>(p.value_dim));
  (*bits)[1] = {0};
  for (int64_t c = 0; c < p.value_dim; ++c) {
    double sum = 0;
    for (int64_t j = 0; j < p.kv_len; ++j) {
      sum +=
          static_cast<double>(numbers().inputs.v.Float(at[0], kv_head, j, c));
    }
    (*bits)[0][static_cast<size_t>(c)] =
        BitsOf(p.lane, sum / static_cast<double>(p.kv_len));
  }
}

std::vector<WeakerAttention> WithoutOneFeature(
    const AttentionForwardProblem& truth,
    const AttentionForwardInputs& inputs) {
  std::vector<WeakerAttention> weaker;
  const auto without = [&](const char* name, AttentionForwardProblem problem,
                           AttentionForwardInputs payload) {
    weaker.push_back({name, std::move(problem), std::move(payload)});
  };
  const bool masked =
      !std::all_of(truth.masks.begin(), truth.masks.end(), IsFull);
  if (masked || truth.segments || !inputs.valid_q.empty() ||
      !inputs.valid_kv.empty()) {
    AttentionForwardProblem problem = truth;
    AttentionForwardInputs payload = inputs;
    problem.masks = {MaskExpr{}};
    problem.segments = false;
    payload.valid_q.clear();
    payload.valid_kv.clear();
    without("unmasked", problem, payload);
  }
  const std::optional<int64_t> offset = CommonOffset(truth, inputs);
  if (offset &&
      std::any_of(truth.masks.begin(), truth.masks.end(), UsesAlignment)) {
    AttentionForwardProblem problem = truth;
    problem.align = {Alignment::Kind::kOffset, *offset + 1};
    without("mask_off_by_one", problem, inputs);
  }
  if (truth.segments) {
    AttentionForwardProblem problem = truth;
    problem.segments = false;
    without("no_segments", problem, inputs);
  }
  if (truth.softcap) {
    AttentionForwardProblem problem = truth;
    problem.softcap.reset();
    without("no_softcap", problem, inputs);
  }
  if (truth.sink) {
    AttentionForwardProblem problem = truth;
    problem.sink = false;
    without("no_sink", problem, inputs);
  }
  return weaker;
}

std::vector<NullCandidate> AttentionForwardTrial::Nulls() const {
  std::vector<NullCandidate> nulls;
  nulls.push_back({"zeros", [this](int64_t, RowBits* bits) {
                     bits->assign(2, {0});
                     (*bits)[0].assign(
                         static_cast<size_t>(data_.problem.value_dim), 0);
                   }});
  nulls.push_back({"mean_of_v", [this](int64_t row, RowBits* bits) {
                     MeanOfValues(row, bits);
                   }});
  for (WeakerAttention& one : WithoutOneFeature(data_.problem, data_.inputs)) {
    const char* name = one.name;
    nulls.push_back(
        {name, [this, other = std::move(one)](int64_t row, RowBits* bits) {
           RowOf(other.problem, other.inputs, row, bits);
         }});
  }
  return nulls;
}

}  // namespace lockstep::verify
