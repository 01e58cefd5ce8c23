#include "verify/ops/attention_forward/witness.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/base/compare.h"
#include "verify/base/mixing.h"
#include "verify/base/row_view.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// Rows that go to the oracle without a reason are one of so many.
constexpr uint64_t kDrawn = 64;
// Where edges are more than one row of so many, so many are drawn of them.
constexpr int64_t kMostTrials = 4;
// Multiply-adds of a problem, and elements of the witness's tensors of queries
// or of keys, above which there is none: a second or two, and 256 MiB in all.
// The judge asks for none where --max-memory leaves no room for so many.
constexpr int64_t kWitnessWork = int64_t{1} << 36;
constexpr int64_t kWitnessElements = int64_t{1} << 25;

Result<LaneTensor> Dense(const AttentionForwardProblem& p, int64_t channels) {
  const std::array<int64_t, 4> shape = {p.batch, p.q_heads, p.q_len, channels};
  return AllocateLaneTensor(Lane::kF32, shape, DenseStrides(shape), 0);
}

bool Affordable(const AttentionForwardProblem& p) {
  const int64_t q_rows = p.batch * p.q_heads * p.q_len;
  const int64_t kv_rows = p.batch * p.kv_heads * p.kv_len;
  const int64_t channels = p.head_dim + 2 * p.value_dim;
  return q_rows <= kWitnessWork / (p.kv_len * (p.head_dim + p.value_dim)) &&
         std::max(q_rows, kv_rows) <= kWitnessElements / channels;
}

const float* Row(const LaneTensor& x, int64_t row) {
  return static_cast<const float*>(x.view.data) + row * x.view.shape[3];
}

// A witness of lines, asked for rows of a trial that lacks some lines.
class WitnessOfTokens final : public FirstWitness {
 public:
  WitnessOfTokens(const AttentionForwardTrial& trial,
                  std::unique_ptr<FirstWitness> lines)
      : trial_(trial), lines_(std::move(lines)) {}

  std::vector<int64_t> Trials(uint64_t salt) const override {
    const std::vector<int64_t> chosen = lines_->Trials(salt);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < trial_.rows(); ++row) {
      const bool found =
          std::binary_search(chosen.begin(), chosen.end(), trial_.LineOf(row));
      if (found) rows.push_back(row);
    }
    return rows;
  }
  Tried OnTrial(const std::vector<int64_t>& rows,
                const OutputSet& produced) const override {
    return lines_->OnTrial(trial_.LinesOf(rows), produced);
  }
  std::optional<double> Doubt(int64_t row,
                              const OutputSet& produced) const override {
    return lines_->Doubt(trial_.LineOf(row), produced);
  }
  int64_t TruthCost(int64_t row) const override {
    return lines_->TruthCost(trial_.LineOf(row));
  }

 private:
  const AttentionForwardTrial& trial_;
  std::unique_ptr<FirstWitness> lines_;
};

}  // namespace

std::unique_ptr<AttentionWitness> AttentionWitness::Make(
    const AttentionForwardData& data, const NumericProfile& profile,
    int threads) {
  if (!Affordable(data.problem)) return nullptr;
  const WitnessModel model(profile, data.problem,
                           RangeOf(data.inputs, profile));
  if (!model.why_not().empty()) return nullptr;
  Result<WitnessInputs> inputs = WidenForWitness(data.problem, data.inputs);
  if (!inputs.ok() || !inputs->finite) return nullptr;
  std::unique_ptr<AttentionWitness> witness(
      new AttentionWitness(data, profile, model, std::move(inputs.value())));
  return witness->Run(threads) ? std::move(witness) : nullptr;
}

AttentionWitness::AttentionWitness(const AttentionForwardData& data,
                                   const NumericProfile& profile,
                                   const WitnessModel& model,
                                   WitnessInputs inputs)
    : data_(data),
      profile_(profile),
      model_(model),
      inputs_(std::move(inputs)) {}

bool AttentionWitness::Run(int threads) {
  threads_ = threads;
  Result<LaneTensor> o = Dense(inputs_.problem, inputs_.problem.value_dim);
  Result<LaneTensor> lse = Dense(inputs_.problem, 1);
  optimized::Caps caps;
  caps.threads = threads;
  const Result<optimized::Plan> plan =
      optimized::MakePlan(inputs_.problem, caps);
  if (!o.ok() || !lse.ok() || !plan.ok()) return false;
  o_ = std::move(o.value());
  lse_ = std::move(lse.value());
  tile_rows_ = plan->tile_rows;
  const AttentionForwardOutputs outputs = {o_.view, RowView(lse_.view)};
  optimized::AttentionForwardExecution execution;
  const Status ran = optimized::AttentionForward(
      inputs_.problem, inputs_.inputs, plan.value(), outputs, &execution);
  if (ran.ok()) CountVisible();
  return ran.ok();
}

void AttentionWitness::CountVisible() {
  const AttentionForwardProblem& p = data_.problem;
  const oracle::Visibility visibility(p, data_.inputs);
  visible_.reserve(inputs_.q_norm.size());
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        visible_.push_back(oracle::CountKeys(visibility.VisibleKeys(b, h, i)));
      }
    }
  }
}

std::vector<int64_t> AttentionWitness::Trials(uint64_t salt) const {
  const AttentionForwardProblem& p = data_.problem;
  const int64_t group_rows = p.group() * p.q_len;
  const auto rows = static_cast<int64_t>(visible_.size());
  const auto at_edge = [&](int64_t row) {
    const int64_t b = row / (p.q_heads * p.q_len);
    const int64_t i = row % p.q_len;
    const int64_t in_tile = row % group_rows % tile_rows_;
    const int64_t valid = data_.inputs.ValidQ(p, b);
    if (i == 0 || i + 1 == p.q_len || i == valid || i + 1 == valid) return true;
    if (in_tile == 0 || in_tile + 1 == tile_rows_) return true;
    const auto& seg = data_.inputs.q_seg;
    return p.segments &&
           (seg(b, i) != seg(b, i - 1) || seg(b, i) != seg(b, i + 1));
  };
  std::vector<int64_t> edges;
  std::set<int64_t> trials;
  for (int64_t row = 0; row < rows; ++row) {
    const auto number = static_cast<uint64_t>(row);
    if (at_edge(row)) {
      edges.push_back(row);
    } else if (Mix(salt ^ Mix(number)) % kDrawn == 0) {
      trials.insert(row);
    }
  }
  const auto count = static_cast<int64_t>(edges.size());
  const int64_t step = std::max<int64_t>(1, count * kMostTrials / rows);
  for (const int64_t row : edges) {
    const uint64_t drawn = Mix(~salt ^ Mix(static_cast<uint64_t>(row)));
    if (drawn % static_cast<uint64_t>(step) == 0) trials.insert(row);
  }
  return {trials.begin(), trials.end()};
}

FirstWitness::Tried AttentionWitness::OnTrial(const std::vector<int64_t>& rows,
                                              const OutputSet& produced) const {
  const AttentionEnvelope own(WitnessProfile(), inputs_.problem, 1);
  const AttentionEnvelope claimed(profile_, data_.problem, 1, 1e-3,
                                  RangeOf(data_.inputs, profile_));
  const oracle::TruthRequest requests[] = {
      {.model = own.error_model(), .likely = false, .sizes = true},
      {.model = claimed.error_model(), .likely = false}};
  oracle::TruthOptions options;
  options.rows = &rows;
  options.threads = threads_;
  const std::vector<oracle::AttentionTruth> truths =
      oracle::ComputeTruths(data_.problem, data_.inputs, requests, options);
  const auto judge = [&](const AttentionEnvelope& envelope,
                         const oracle::AttentionTruth& truth,
                         const LaneTensor& o, const LaneTensor* lse) {
    std::vector<EnvelopeResult> found = {
        JudgeOutput(envelope, truth, &rows, o.const_view())};
    if (lse == nullptr) return found;
    found.push_back(
        JudgeLse(envelope, truth, &rows, RowView(lse->const_view())));
    return found;
  };
  const LaneTensor* lse = HasLse(profile_) ? &produced.tensors[1] : nullptr;
  return {judge(own, truths[0], o_, &lse_),
          judge(claimed, truths[1], produced.tensors[0], lse)};
}

bool AttentionWitness::Vouches(const WitnessMargin& margin, int64_t row,
                               const OutputSet& produced) const {
  const AttentionForwardProblem& p = data_.problem;
  const float* const o = Row(o_, row);
  const float* const sizes = o + p.value_dim;
  const LaneView view = produced.tensors[0].const_view();
  const int64_t b = row / (p.q_heads * p.q_len);
  const int64_t h = row / p.q_len % p.q_heads;
  const int64_t i = row % p.q_len;
  const auto all = [&](const auto& elements) {
    const auto* const from = &elements(b, h, i, 0);
    for (int64_t c = 0; c < p.value_dim; ++c) {
      const auto x = static_cast<double>(ToFloat(from[c * view.strides[3]]));
      if (!model_.Allows(margin, static_cast<double>(o[c]),
                         static_cast<double>(sizes[c]), x)) {
        return false;
      }
    }
    return true;
  };
  return WithAnyLane(view.lane, [&](auto element) {
    return all(view.As<decltype(element)>());
  });
}

bool AttentionWitness::VouchesForLse(const WitnessMargin& margin, int64_t row,
                                     const OutputSet& produced) const {
  const AttentionForwardProblem& p = data_.problem;
  const LaneView lse = produced.tensors[1].const_view();
  const uint32_t bits =
      ElementBits(lse, {row / (p.q_heads * p.q_len), row / p.q_len % p.q_heads,
                        row % p.q_len, 0});
  return model_.AllowsLse(margin, static_cast<double>(*Row(lse_, row)),
                          ElementValue(lse.lane, bits));
}

std::optional<double> AttentionWitness::Doubt(int64_t row,
                                              const OutputSet& produced) const {
  const AttentionForwardProblem& p = data_.problem;
  const int64_t b = row / (p.q_heads * p.q_len);
  const int64_t h = row / p.q_len % p.q_heads;
  const int64_t i = row % p.q_len;
  const auto head = static_cast<size_t>(b * p.kv_heads + h / p.group());
  const auto at = static_cast<size_t>(row);
  WitnessRow known;
  known.visible = visible_[at];
  known.product = inputs_.q_norm[at] * inputs_.k_norm[head];
  known.value = inputs_.value[head];
  if (p.sink && std::isfinite(data_.inputs.sink(h))) {
    known.sink = std::fabs(static_cast<double>(data_.inputs.sink(h)));
  }
  const std::optional<WitnessMargin> margin = model_.ForRow(known);
  if (margin && Vouches(*margin, row, produced)) {
    const bool vouched =
        !HasLse(profile_) || VouchesForLse(*margin, row, produced);
    return vouched ? std::nullopt : std::optional<double>(HUGE_VAL);
  }
  const float* const o = Row(o_, row);
  const float* const sizes = o + p.value_dim;
  const LaneView view = produced.tensors[0].const_view();
  double doubt = 0;
  for (int64_t c = 0; c < p.value_dim; ++c) {
    const double x = ElementValue(view.lane, ElementBits(view, {b, h, i, c}));
    const double apart = std::fabs(x - static_cast<double>(o[c])) /
                         (static_cast<double>(sizes[c]) + 0x1p-100);
    doubt = apart <= doubt ? doubt : apart == apart ? apart : HUGE_VAL;
  }
  return doubt;
}

int64_t AttentionWitness::TruthCost(int64_t row) const {
  return visible_[static_cast<size_t>(row)] *
         (data_.problem.head_dim + data_.problem.value_dim);
}

std::unique_ptr<FirstWitness> AttentionForwardTrial::Witness(
    const NumericProfile& profile, int threads) const {
  std::unique_ptr<FirstWitness> witness =
      AttentionWitness::Make(numbers(), profile, threads);
  if (witness == nullptr || lines_.empty()) return witness;
  return std::make_unique<WitnessOfTokens>(*this, std::move(witness));
}

}  // namespace lockstep::verify
