#include "verify/ops/attention_forward/trial.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "verify/base/digest.h"
#include "verify/base/elements.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/ops/attention_forward/ways.h"
#include "verify/ops/backends.h"
#include "verify/ops/varlen/token_outputs.h"

namespace lockstep::verify {
namespace {

// Heads, batch rows: the first, the last, and one between.
std::vector<int64_t> Ends(int64_t n) {
  std::set<int64_t> ends = {0, n - 1, n / 2};
  return {ends.begin(), ends.end()};
}

}  // namespace

AttentionForwardOutputs AttentionViews(const OutputSet& outputs) {
  return {outputs.tensors[0].view, RowView(outputs.tensors[1].view)};
}

std::vector<OutputSpec> AttentionForwardTrial::Outputs(const Case& c) {
  const AttentionForwardCase& p = c.Get<AttentionForwardCase>();
  const std::array<int64_t, 4> shape = {p.batch, p.q_heads, p.q_len,
                                        p.value_dim};
  return {{.name = "o",
           .lane = p.lane,
           .shape = shape,
           .axes = {"b", "h", "i", "c"},
           .strides = p.strides.o.value_or(LayoutStrides(p.layout, shape))},
          {.name = "lse",
           .lane = Lane::kF32,
           .shape = {p.batch, p.q_heads, p.q_len, 1},
           .axes = {"b", "h", "i", nullptr},
           .file_shape = {p.batch, p.q_heads, p.q_len}}};
}

Result<std::unique_ptr<Trial>> AttentionForwardTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(AttentionForwardData data, Materialise(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionForwardTrial>(c, std::move(data)));
}

AttentionForwardTrial::AttentionForwardTrial(const Case& request,
                                             AttentionForwardData data)
    : WholeTrial(Outputs(request)), case_(request), data_(std::move(data)) {
  if (data_.problem.kv_lane) numbers_ = MakeNumbers(data_);
  if (!data_.varlen) return;
  const OutputSpec& o = outputs()[0];
  for (int64_t line = 0; line < o.lines(); ++line) {
    const auto at = LineIndex(o, line, 0);
    const bool there = at[2] < data_.inputs.ValidQ(data_.problem, at[0]);
    if (there) lines_.push_back(line);
  }
}

int64_t AttentionForwardTrial::rows() const {
  return data_.varlen ? static_cast<int64_t>(lines_.size())
                      : outputs()[0].lines();
}

std::vector<int64_t> AttentionForwardTrial::LinesOf(
    std::vector<int64_t> rows) const {
  for (int64_t& row : rows) row = LineOf(row);
  return rows;
}

KernelInputs AttentionForwardTrial::Inputs() const {
  KernelInputs inputs = NameInputs(data_.problem, data_.inputs);
  AddLists(data_, &inputs);
  return inputs;
}

KernelCall AttentionForwardTrial::Call(int64_t,
                                       const OutputSet& outputs) const {
  return {Inputs(), NameOutputs(AttentionViews(outputs))};
}

std::vector<std::string> AttentionForwardTrial::NeededWants() const {
  std::vector<std::string> wants;
  if (data_.problem.kv_lane) wants.push_back(kFp8KeysWant);
  if (data_.problem.q_lane) wants.push_back(kFp8QueriesWant);
  if (data_.pages) wants.push_back(kPagesWant);
  if (data_.varlen) wants.push_back(kVarlenWant);
  return wants;
}

std::optional<TokenRows> AttentionForwardTrial::RowsEndToEnd(
    const std::string& output) const {
  if (!data_.varlen) return std::nullopt;
  constexpr float kEmptyLse = -std::numeric_limits<float>::infinity();
  return QueryRows(data_, output == "lse" ? kEmptyLse : 0.0f);
}

const Result<TokenTensors>& AttentionForwardTrial::tokens() const {
  std::call_once(tokens_made_, [&] { tokens_ = MakeTokens(data_); });
  return *tokens_;
}

const Result<KeyPool>& AttentionForwardTrial::pool() const {
  std::call_once(pool_made_, [&] { pool_ = MakeKeyPool(data_); });
  return *pool_;
}

std::string AttentionForwardTrial::StorageDigest() const {
  const std::string digest = data_.StorageDigest();
  if (data_.varlen && tokens().ok()) {
    return DigestText(digest + tokens()->StorageDigest());
  }
  if (!data_.pages || !pool().ok()) return digest;
  return DigestText(digest + pool()->StorageDigest());
}

std::vector<Fact> AttentionForwardTrial::Facts() const {
  const AttentionForwardProblem& p = data_.problem;
  const auto present = [](bool b) { return b ? "present" : "absent"; };
  return {
      {"group", std::to_string(p.group()), true},
      {"segment_ids", present(p.segments)},
      {"valid_counts", present(!data_.inputs.valid_q.empty() ||
                               !data_.inputs.valid_kv.empty())},
      {"sink_logits", present(p.sink)},
      {"dense_masks", std::to_string(data_.inputs.dense_masks.size()), true},
  };
}

void AttentionForwardTrial::RowOf(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& inputs,
                                  int64_t row, RowBits* bits) const {
  const auto at = LineIndex(outputs()[0], LineOf(row), 0);
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  float lse = 0;
  // Row and problem are of the case, which was validated.
  (void)reference::AttentionForwardRow(problem, inputs, {at[0], at[1], at[2]},
                                       o, &lse);
  bits->resize(2);
  (*bits)[0].resize(o.size());
  for (size_t c = 0; c < o.size(); ++c) {
    (*bits)[0][c] = BitsOf(problem.lane, static_cast<double>(o[c]));
  }
  (*bits)[1] = {std::bit_cast<uint32_t>(lse)};
}

void AttentionForwardTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  RowOf(data_.problem, data_.inputs, row, bits);
}

int64_t AttentionForwardTrial::RowCost() const {
  const AttentionForwardProblem& p = data_.problem;
  return p.kv_len * (p.head_dim + p.value_dim);
}

std::vector<int64_t> AttentionForwardTrial::TellingRows() const {
  const AttentionForwardProblem& p = data_.problem;
  // Ends of the sequence, then of documents, then of tiles.
  std::vector<int64_t> queries = {p.q_len - 1, 0, 1, p.q_len - 2, p.q_len / 2};
  if (p.segments) {
    const auto& seg = data_.inputs.q_seg;
    for (int64_t i = 1; i < p.q_len && queries.size() < 64; ++i) {
      if (seg(0, i) != seg(0, i - 1)) {
        queries.push_back(i - 1);
        queries.push_back(i);
      }
    }
  }
  for (int64_t edge = 16; edge <= 1024; edge *= 2) {
    queries.insert(queries.end(), {edge - 1, edge});
  }
  std::vector<int64_t> rows;
  for (const int64_t i : queries) {
    if (i < 0 || i >= p.q_len) continue;
    for (const int64_t b : Ends(p.batch)) {
      for (const int64_t h : Ends(p.q_heads)) {
        rows.push_back((b * p.q_heads + h) * p.q_len + i);
      }
    }
  }
  return data_.varlen ? TellingTokens() : rows;
}

// The ends of every row and their neighbours, the first rows first.
std::vector<int64_t> AttentionForwardTrial::TellingTokens() const {
  const AttentionForwardProblem& p = data_.problem;
  std::vector<int64_t> rows;
  for (const int64_t from_end : {1, 2, 3}) {
    for (int64_t b = 0; b < p.batch; ++b) {
      const int64_t length = data_.inputs.ValidQ(p, b);
      for (const int64_t i : std::set<int64_t>{
               from_end - 1, length / (from_end + 1), length - from_end}) {
        if (i < 0 || i >= length) continue;
        for (const int64_t h : Ends(p.q_heads)) {
          const int64_t line = (b * p.q_heads + h) * p.q_len + i;
          rows.push_back(std::lower_bound(lines_.begin(), lines_.end(), line) -
                         lines_.begin());
        }
      }
    }
  }
  return rows;
}

RunOutcome AttentionForwardTrial::RunReference(const OutputSet& outputs,
                                               Execution* execution) const {
  return RanReference(reference::AttentionForward(data_.problem, data_.inputs,
                                                  AttentionViews(outputs)),
                      execution);
}

RunOutcome AttentionForwardTrial::RunOptimized(const Variation& how,
                                               const OutputSet& outputs,
                                               Execution* execution) const {
  return RunPlanned(*this, data_.problem, how, outputs, execution,
                    [&](const optimized::Plan& plan,
                        optimized::AttentionForwardExecution* counts) {
                      return RunPlan(plan, outputs, counts);
                    });
}

Status AttentionForwardTrial::RunPlan(
    const optimized::Plan& plan, const OutputSet& outputs,
    optimized::AttentionForwardExecution* counts) const {
  if (data_.varlen) return RunTokens(plan, outputs, counts);
  if (!data_.pages) {
    return optimized::AttentionForward(data_.problem, data_.inputs, plan,
                                       AttentionViews(outputs), counts);
  }
  if (!pool().ok()) return pool().status();
  return optimized::AttentionForward(data_.problem, data_.inputs,
                                     pool()->view(), plan,
                                     AttentionViews(outputs), counts);
}

// Writes to tensors of a ragged batch, which other kernels also get.
Status AttentionForwardTrial::RunTokens(
    const optimized::Plan& plan, const OutputSet& outputs,
    optimized::AttentionForwardExecution* counts) const {
  if (!tokens().ok()) return tokens().status();
  std::vector<NamedOutput> named = NameOutputs(AttentionViews(outputs));
  ASSIGN_OR_RETURN(const TokenOutputs made, TokenOutputs::Make(*this, &named));
  const auto& lse = made.Find("lse").view;
  const AttentionForwardOutputs views = {
      made.Find("o").view,
      {static_cast<float*>(lse.data),
       {1, lse.shape[1], lse.shape[2]},
       {lse.strides[0], lse.strides[1], lse.strides[2]}}};
  RETURN_IF_ERROR(
      optimized::AttentionForward(data_.problem, tokens()->InputsOf(data_),
                                  tokens()->rows(), plan, views, counts));
  const std::string behind = made.Behind();
  if (!behind.empty()) return Status::Error("wrote " + behind);
  made.Return();
  return {};
}

std::vector<Variation> AttentionForwardTrial::OptimizedVariations(
    const Variation& fixed) const {
  const AttentionForwardProblem& p = data_.problem;
  if (!WhyNoKernel(p).empty()) return {};
  // Odd rows, one row, whole and ragged vectors, more than the problem.
  return VariationsOf(
      {.threads = {1, 2},
       .tiles = {{1, 16},
                 {3, 48},
                 {7, 16},
                 {16, 64},
                 {33, 112},
                 {64, 256},
                 WholeTile(p.q_len, p.kv_len)},
       .native_dot = p.lane == Lane::kBf16 && !fixed.native_dot},
      fixed);
}

}  // namespace lockstep::verify
