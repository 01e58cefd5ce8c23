// What a numeric profile allows attention_backward to answer.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/allowed/attention_backward/envelope.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"
#include "verify/allowed/rows_in_parallel.h"
#include "verify/case/attention_backward.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/allowed_elements.h"
#include "verify/ops/attention_backward/handed_back.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_backward/wild_queries.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

using Kind = BackwardRow::Kind;

GradientInputs InputsOf(ProbeKind kind) {
  if (kind >= ProbeKind::kGradOwnKeys) return GradientInputs::kSparse;
  return kind == ProbeKind::kGradKeysPowers ||
                 kind == ProbeKind::kGradQueriesPowers
             ? GradientInputs::kPowers
             : GradientInputs::kIntegers;
}

// Where dS holds the scale, another dS of each size would round by a share of
// its own. Kernels with an o and lse of their own know no weight of 1.
std::array<ProbeKind, 2> ProbesFor(const GradNumeric& grad) {
  if (grad.from == GradFrom::kOwn) {
    return {ProbeKind::kGradOwnKeys, ProbeKind::kGradOwnQueries};
  }
  return {grad.dk_scale_at == DkScaleAt::kDs ? ProbeKind::kGradKeysPowers
                                             : ProbeKind::kGradKeys,
          grad.dq_scale_at == DqScaleAt::kDs ? ProbeKind::kGradQueriesPowers
                                             : ProbeKind::kGradQueries};
}

// Whose o, lse and D the gradients are of.
struct GradientSource {
  const AttentionBackwardInputs* of = nullptr;  // with its o and lse
  const HandedBack* handed = nullptr;           // what else the answer holds
  bool answer = true;  // false: where D is of weights, its value is still of o
};

// The truth of one row, by output.
struct RowTruth {
  oracle::GradientLine lines[4];
  bool excluded = false;
  bool unclaimed = false;     // no answer is due; it is excluded, too
  std::vector<bool> open_dv;  // channels of dv that are; empty: none
};

class AllowedGradients final : public AllowedElements {
 public:
  AllowedGradients(const AttentionBackwardTrial& trial,
                   const GradientSource& source, const NumericProfile& profile,
                   std::vector<int64_t> rows, int threads,
                   GradientInputs inputs)
      : AllowedElements(trial, std::move(rows)),
        trial_(trial),
        handed_(source.handed),
        envelope_(profile, trial.data().problem,
                  RangeOf(trial.data().inputs.forward, profile), inputs),
        truth_(this->rows().size()) {
    oracle::Gradients gradients(trial_.data().problem, *source.of,
                                envelope_.model(),
                                handed_ == nullptr ? nullptr : handed_->lse());
    if (profile.grad->delta_from == DeltaFrom::kWeights) {
      gradients.SetDeltas(DeltasOf(gradients, threads), !source.answer);
    }
    std::optional<WildQueries> wild;
    if (profile.masked_nan_safe != MaskedNan::kYes)
      wild.emplace(trial_.data(), gradients, envelope_.model().largest);
    const auto count = static_cast<int64_t>(truth_.size());
    RowsInParallel(truth_.size(), trial.RowCost() * count, threads,
                   [&](size_t n) {
                     const BackwardRow at = trial_.RowAt(this->rows()[n]);
                     truth_[n] = TruthOf(gradients, at);
                     if (wild) LeaveOpen(*wild, at, &truth_[n]);
                   });
    for (const RowTruth& row : truth_) {
      const auto& dv = row.lines[0].value;
      dv_.insert(dv_.end(), dv.begin(), dv.end());
    }
  }

  std::span<const double> truth() const override { return dv_; }

 private:
  // What NaN and infinity behind a mask reach. P times do is summed by
  // channels, while one NaN in dP is in every channel of dk.
  static void LeaveOpen(const WildQueries& wild, const BackwardRow& at,
                        RowTruth* row) {
    if (wild.OverflowsBehindMask(at)) {
      row->lines[at.kind == Kind::kKey ? 1 : 2].open = true;
    }
    if (!wild.Reach(at)) return;
    if (at.kind != Kind::kKey) {
      row->excluded = true;
      return;
    }
    row->lines[1].open = true;
    row->open_dv = wild.ReachedChannels(at);
  }

  std::vector<oracle::WeighedDelta> DeltasOf(const oracle::Gradients& gradients,
                                             int threads) const {
    const AttentionForwardProblem& p = trial_.data().problem.forward;
    const int64_t count = p.batch * p.q_heads * p.q_len;
    std::vector<oracle::WeighedDelta> deltas(static_cast<size_t>(count));
    RowsInParallel(
        deltas.size(), trial_.RowCost() * count, threads, [&](size_t n) {
          const auto i = static_cast<int64_t>(n);
          deltas[n] = gradients.DeltaOf(i / p.q_len / p.q_heads,
                                        i / p.q_len % p.q_heads, i % p.q_len);
        });
    return deltas;
  }

  RowTruth TruthOf(const oracle::Gradients& gradients,
                   const BackwardRow& at) const {
    RowTruth row;
    const AttentionForwardProblem& p = trial_.data().problem.forward;
    const bool open = envelope_.LeavesEmptyOpen();
    switch (at.kind) {
      case Kind::kSink:
        row.lines[3] = gradients.Sink(at.head);
        for (int64_t b = 0; b < p.batch; ++b) {
          row.excluded |=
              open && gradients.HasEmptyQueries(b, at.head / p.group());
        }
        break;
      case Kind::kQuery:
        row.lines[2] = gradients.Query(at.b, at.head, at.position);
        row.excluded = row.unclaimed = open && row.lines[2].terms == 0;
        break;
      case Kind::kKey: {
        oracle::KeyLines key = gradients.Key(at.b, at.head, at.position);
        row.lines[0] = std::move(key.dv);
        row.lines[1] = std::move(key.dk);
        row.excluded = open && gradients.HasEmptyQueries(at.b, at.head);
        break;
      }
    }
    return row;
  }

  size_t Count(size_t t, size_t n) const override {
    if (t < trial_.PlaceOfOwnO()) return truth_[n].lines[t].value.size();
    const bool query = trial_.RowAt(rows()[n]).kind == Kind::kQuery;
    return query ? static_cast<size_t>(trial_.outputs()[t].shape[3]) : 0;
  }
  lockstep::verify::Bounds Element(size_t t, size_t n,
                                   size_t c) const override {
    const RowTruth& row = truth_[n];
    if (row.unclaimed) return Unclaimed(0);
    if (t >= trial_.PlaceOfOwnO()) {
      if (handed_ == nullptr || row.excluded) return Anything(0);
      return t == trial_.PlaceOfOwnO() ? handed_->O(n, c) : handed_->Lse(n);
    }
    const bool open = t == 0 && !row.open_dv.empty() && row.open_dv[c];
    return envelope_.Element(static_cast<GradientOutput>(t), row.lines[t], c,
                             row.excluded || open);
  }

  const AttentionBackwardTrial& trial_;
  const HandedBack* handed_;
  GradientEnvelope envelope_;
  std::vector<RowTruth> truth_;
  std::vector<double> dv_;
};

// The same where o, lse or D are the kernel's own. An o and lse that it hands
// back are judged as the forward op's are, and the gradients as those of them.
// Without an answer those of the trial stand in.
class AllowedOfAnswer final : public AllowedResults {
 public:
  AllowedOfAnswer(const AttentionBackwardTrial& trial,
                  const NumericProfile& profile, std::vector<int64_t> rows,
                  int threads, GradientInputs inputs)
      : trial_(trial), profile_(profile), threads_(threads), inputs_(inputs) {
    handed_ = std::make_unique<HandedBack>(trial, profile, rows, threads,
                                           inputs == GradientInputs::kSparse);
    given_ = Of({&trial.data().inputs, handed_.get(), false}, std::move(rows));
  }

  const std::vector<int64_t>& rows() const override { return given_->rows(); }
  std::span<const double> truth() const override { return given_->truth(); }
  bool Bounds(size_t n) const override { return given_->Bounds(n); }
  bool Allows(size_t n, const RowBits& bits) const override {
    return given_->Allows(n, bits);
  }
  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    AttentionBackwardInputs of = trial_.data().inputs;
    of.o = produced.tensors[trial_.PlaceOfOwnO()].const_view();
    if (trial_.data().own.lse) {
      const TensorView<float, 3> lse = trial_.Own(produced).lse;
      of.lse = {lse.data, lse.shape, lse.strides};
    }
    return Of({&of, handed_.get(), true}, rows())->JudgeEach(produced, each);
  }

 private:
  std::unique_ptr<AllowedGradients> Of(const GradientSource& source,
                                       std::vector<int64_t> rows) const {
    const bool stands_in = !source.answer && inputs_ == GradientInputs::kSparse;
    return std::make_unique<AllowedGradients>(
        trial_, source, profile_, std::move(rows), threads_,
        stands_in ? GradientInputs::kSparseOfContract : inputs_);
  }

  const AttentionBackwardTrial& trial_;
  NumericProfile profile_;
  int threads_;
  GradientInputs inputs_;
  std::unique_ptr<HandedBack> handed_;
  std::unique_ptr<AllowedGradients> given_;
};

std::unique_ptr<AllowedResults> AllowedOf(const AttentionBackwardTrial& trial,
                                          const NumericProfile& profile,
                                          std::vector<int64_t> rows,
                                          int threads, GradientInputs inputs) {
  if (HandsBackForward(profile) && trial.data().own.o) {
    return std::make_unique<AllowedOfAnswer>(trial, profile, std::move(rows),
                                             threads, inputs);
  }
  const GradientSource given = {&trial.data().inputs, nullptr, true};
  return std::make_unique<AllowedGradients>(trial, given, profile,
                                            std::move(rows), threads, inputs);
}

// Why a probe of that kind says nothing under the profile; empty if it does.
std::string WhyNot(ProbeKind kind, const NumericProfile& profile) {
  if (kind < ProbeKind::kGradOwnKeys) return WhyNotGradProbe(profile);
  return profile.grad ? "" : "the profile describes no gradients";
}

}  // namespace

std::vector<Case> AttentionBackwardTrial::ProbeCases(
    const Case& c, const NumericProfile& profile) {
  std::vector<Case> cases;
  const auto& from = c.Get<AttentionBackwardCase>();
  if (ProbeOf(from) || !profile.grad) return cases;
  for (const ProbeKind kind : ProbesFor(*profile.grad)) {
    if (!WhyNot(kind, profile).empty()) continue;
    Case changed = c;
    auto& a = changed.Get<AttentionBackwardCase>();
    a.d_o = AttentionBackwardCase().d_o;
    const FillTerm zero{.kind = FillKind::kConst};
    if (a.sinklogit) a.sinklogit = zero;
    if (a.dlse) a.dlse = zero;
    a.fill = {{.kind = FillKind::kProbe, .probe = kind}};
    for (const FillTerm& term : from.fill) {
      if (term.kind == FillKind::kPoison) a.fill.push_back(term);
    }
    if (ValidateCase(changed).ok()) cases.push_back(std::move(changed));
  }
  return cases;
}

std::unique_ptr<AllowedResults> AttentionBackwardTrial::Probe(
    const NumericProfile& profile, std::vector<int64_t> rows) const {
  const auto probe = ProbeOf(case_.Get<AttentionForwardCase>());
  if (!probe || !WhyNot(*probe, profile).empty()) return nullptr;
  return AllowedOf(*this, profile, std::move(rows), 0, InputsOf(*probe));
}

namespace {

// Faults that change whole pairs: every probe that holds one shows them. In the
// contract's own arithmetic they differ from CorrectKernel by nothing else.
constexpr const char* kGradientCanaries[] = {
    "mutant:grad.last_keys_dropped,base=grad-exact",
    "mutant:grad.query_tile_twice,base=grad-exact",
    "mutant:grad.dkv_causal_plus_one,base=grad-exact",
    "mutant:grad.forward_table,base=grad-exact",
    "mutant:grad.last_head_only,base=grad-exact",
    "mutant:grad.dkv_ignores_segments,base=grad-exact",
    "mutant:grad.delta_missing,base=grad-exact",
};

}  // namespace

void AttentionBackwardTrial::RunBaseline(const OutputSet& outputs) const {
  constexpr const char* kNames[] = {"grad-cpu", "grad-flash",
                                    "grad-flash-f16"};  // by lane
  const GradEmulator emulator(
      FindGradVariant(kNames[WideLaneIndex(data_.problem.forward.lane)])
          .value());
  emulator.Run(data_.problem, data_.inputs, Gradients(outputs), Own(outputs));
}

std::span<const char* const> AttentionBackwardTrial::Canaries() const {
  if (ProbeOf(case_.Get<AttentionForwardCase>())) return {};
  return kGradientCanaries;
}

std::string AttentionBackwardTrial::WhyUndeclared(
    const NumericProfile& profile) const {
  if (!profile.grad) return OpName(case_);
  return WhyUndeclaredAttention(data_.problem.forward, data_.inputs.forward,
                                profile, "attention_backward");
}

std::unique_ptr<AllowedResults> AttentionBackwardTrial::Envelope(
    const NumericProfile& profile, std::vector<int64_t> rows,
    int threads) const {
  return AllowedOf(*this, profile, std::move(rows), threads,
                   GradientInputs::kAny);
}

std::vector<int64_t> AttentionBackwardTrial::OpenLines(
    const NumericProfile& profile, size_t output) const {
  std::vector<int64_t> open;
  if (profile.masked_nan_safe == MaskedNan::kYes) return open;
  const GradientEnvelope envelope(profile, data_.problem,
                                  RangeOf(data_.inputs.forward, profile),
                                  GradientInputs::kAny);
  const oracle::Gradients gradients(data_.problem, data_.inputs,
                                    envelope.model());
  const WildQueries wild(data_, gradients, envelope.model().largest);
  if (!wild.Any()) return open;
  for (int64_t row = 0; row < rows(); ++row) {
    const std::vector<int64_t> lines = Lines(output, row);
    const BackwardRow at = RowAt(row);
    if (lines.empty() || !(wild.Reach(at) || wild.OverflowsBehindMask(at))) {
      continue;
    }
    open.insert(open.end(), lines.begin(), lines.end());
  }
  return open;
}

}  // namespace lockstep::verify
