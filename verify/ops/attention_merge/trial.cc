#include "verify/ops/attention_merge/trial.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "optimized/attention_merge.h"
#include "reference/attention_merge.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_merge/case.h"
#include "verify/ops/attention_forward/ways.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {

std::vector<OutputSpec> AttentionMergeTrial::Outputs(const Case& c) {
  const AttentionMergeCase& p = c.Get<AttentionMergeCase>();
  const std::array<int64_t, 4> o{1, p.heads, p.rows, p.value_dim};
  const std::array<int64_t, 4> lse{1, p.heads, p.rows, 1};
  return {{.name = "o",
           .lane = p.out_lane,
           .shape = o,
           .axes = {nullptr, "h", "n", "c"},
           .file_shape = {p.heads, p.rows, p.value_dim},
           .strides = MergeStrides(p.layout, o)},
          {.name = "lse",
           .lane = Lane::kF32,
           .shape = lse,
           .axes = {nullptr, "h", "n", nullptr},
           .file_shape = {p.heads, p.rows},
           .strides = MergeStrides(p.layout, lse)}};
}

Result<std::unique_ptr<Trial>> AttentionMergeTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  Case asked = c;
  if (options.binary_lse) {
    asked.Get<AttentionMergeCase>().base = LseBase::kTwo;
  }
  ASSIGN_OR_RETURN(AttentionMergeData data, MaterialiseMerge(asked, options));
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionMergeTrial>(asked, std::move(data)));
}

AttentionMergeTrial::AttentionMergeTrial(const Case& request,
                                         AttentionMergeData data)
    : WholeTrial(Outputs(request)), case_(request), data_(std::move(data)) {}

AttentionMergeOutputs AttentionMergeTrial::Views(const OutputSet& outputs) {
  const MutableLaneView& o = outputs.tensors[0].view;
  const MutableLaneView& lse = outputs.tensors[1].view;
  return {{o.data,
           o.lane,
           {o.shape[1], o.shape[2], o.shape[3]},
           {o.strides[1], o.strides[2], o.strides[3]}},
          {static_cast<float*>(lse.data),
           {lse.shape[1], lse.shape[2]},
           {lse.strides[1], lse.strides[2]}}};
}

KernelInputs AttentionMergeTrial::Inputs() const {
  return NameInputs(data_.problem, data_.inputs);
}

KernelCall AttentionMergeTrial::Call(int64_t, const OutputSet& outputs) const {
  return {Inputs(), NameOutputs(Views(outputs))};
}

std::vector<Fact> AttentionMergeTrial::Facts() const {
  return {{"parts", std::to_string(data_.problem.parts), true},
          {"lse_base", data_.problem.base == LseBase::kE ? "e" : "2"}};
}

std::optional<Work> AttentionMergeTrial::CountWork() const {
  const auto rows = static_cast<double>(this->rows());
  const auto parts = static_cast<double>(data_.problem.parts);
  const auto channels = static_cast<double>(data_.problem.value_dim);
  return Work{.flop = 2 * rows * parts * channels,
              .units = rows * parts,
              .unit = "parts"};
}

void AttentionMergeTrial::RowOf(const AttentionMergeProblem& problem,
                                const AttentionMergeInputs& inputs, int64_t row,
                                RowBits* bits) const {
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  float lse = 0;
  // Row and problem are of the case, which was validated.
  (void)reference::AttentionMergeRow(
      problem, inputs, {row / problem.rows, row % problem.rows}, o, &lse);
  bits->assign(2, {});
  for (const float x : o) {
    (*bits)[0].push_back(BitsOf(problem.out_lane, double{x}));
  }
  (*bits)[1] = {std::bit_cast<uint32_t>(lse)};
}

void AttentionMergeTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  RowOf(data_.problem, data_.inputs, row, bits);
}

int64_t AttentionMergeTrial::RowCost() const {
  return data_.problem.parts * (data_.problem.value_dim + 1);
}

// Ends of heads, and of groups of rows.
std::vector<int64_t> AttentionMergeTrial::TellingRows() const {
  const int64_t n = data_.problem.rows;
  const int64_t last = (data_.problem.heads - 1) * n;
  std::vector<int64_t> places = {n - 1, 0, n / 2, 1, n - 2};
  for (int64_t edge = 4; edge <= 1024; edge *= 2) {
    places.insert(places.end(), {edge - 1, edge});
  }
  std::vector<int64_t> rows;
  for (const int64_t place : places) {
    if (place < 0 || place >= n) continue;
    rows.push_back(last + place);
    if (last > 0) rows.push_back(place);
  }
  return rows;
}

RunOutcome AttentionMergeTrial::RunReference(const OutputSet& outputs,
                                             Execution* execution) const {
  return RanReference(
      reference::AttentionMerge(data_.problem, data_.inputs, Views(outputs)),
      execution);
}

RunOutcome AttentionMergeTrial::RunOptimized(const Variation& how,
                                             const OutputSet& outputs,
                                             Execution* execution) const {
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(*this, how, outputs, execution);
  }
  const optimized::AttentionMergeCaps caps = {
      .target = how.target.value_or(""), .threads = how.threads.value_or(0)};
  optimized::AttentionMergeExecution ran;
  const Status status = optimized::AttentionMerge(data_.problem, data_.inputs,
                                                  caps, Views(outputs), &ran);
  if (!status.ok()) return Failed(status.message());
  *execution = {.backend = "optimized",
                .target = ran.target,
                .threads = ran.threads,
                .plan = "",
                .fallback_reason = "",
                .counters = {}};
  return {};
}

std::vector<Variation> AttentionMergeTrial::OptimizedVariations(
    const Variation& fixed) const {
  std::vector<Variation> variations;
  const auto add = [&](const char* check, auto&& change) {
    Variation how = fixed;
    how.check = check;
    change(how);
    variations.push_back(std::move(how));
  };
  const std::vector<std::string> targets = RunningTargets(fixed);
  for (const std::string& target : targets) {
    if (fixed.target) break;
    add("targets", [&](Variation& how) { how.target = target; });
  }
  for (const int threads : {1, 2, 3}) {
    if (fixed.threads || targets.empty()) break;
    add("threads", [&](Variation& how) { how.threads = threads; });
  }
  for (const std::string& target : targets) {
    for (const int64_t shift : kShifts) {
      add("combined", [&](Variation& how) {
        how.target = target;
        if (!fixed.threads) how.threads = 2;
        how.shift = shift;
      });
    }
  }
  return variations;
}

}  // namespace lockstep::verify
