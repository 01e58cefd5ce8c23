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
#include "verify/case/attention_backward.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/allowed_elements.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_backward/wild_queries.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/rows_in_parallel.h"

namespace lockstep::verify {
namespace {

using Kind = BackwardRow::Kind;

GradientInputs InputsOf(ProbeKind kind) {
  return kind == ProbeKind::kGradKeysPowers ||
                 kind == ProbeKind::kGradQueriesPowers
             ? GradientInputs::kPowers
             : GradientInputs::kIntegers;
}

// Where dS holds the scale, another dS of each size would round by a share of
// its own.
std::array<ProbeKind, 2> ProbesFor(const GradNumeric& grad) {
  return {grad.dk_scale_at == DkScaleAt::kDs ? ProbeKind::kGradKeysPowers
                                             : ProbeKind::kGradKeys,
          grad.dq_scale_at == DqScaleAt::kDs ? ProbeKind::kGradQueriesPowers
                                             : ProbeKind::kGradQueries};
}

// The truth of one row, by output.
struct RowTruth {
  oracle::GradientLine lines[4];
  bool excluded = false;
  std::vector<bool> open_dv;  // channels of dv that are; empty: none
};

class AllowedGradients final : public AllowedElements {
 public:
  AllowedGradients(const AttentionBackwardTrial& trial,
                   const NumericProfile& profile, std::vector<int64_t> rows,
                   int threads, GradientInputs inputs)
      : AllowedElements(trial, std::move(rows)),
        trial_(trial),
        envelope_(profile, trial.data().problem,
                  RangeOf(trial.data().inputs.forward, profile), inputs),
        truth_(this->rows().size()) {
    const oracle::Gradients gradients(trial_.data().problem,
                                      trial_.data().inputs, envelope_.model());
    std::optional<WildQueries> wild;
    if (profile.masked_nan_safe != MaskedNan::kYes)
      wild.emplace(trial_.data(), gradients);
    const auto count = static_cast<int64_t>(truth_.size());
    RowsInParallel(truth_.size(), trial.RowCost() * count, threads,
                   [&](size_t n) {
                     const BackwardRow at = trial_.RowAt(this->rows()[n]);
                     truth_[n] = TruthOf(gradients, at);
                     if (!wild || !wild->Reach(at)) return;
                     LeaveOpen(*wild, at, &truth_[n]);
                   });
    for (const RowTruth& row : truth_) {
      const auto& dv = row.lines[0].value;
      dv_.insert(dv_.end(), dv.begin(), dv.end());
    }
  }

  std::span<const double> truth() const override { return dv_; }

 private:
  // What NaN behind a mask reaches. P times do is summed by channels, while
  // one NaN in dP is in every channel of dk.
  static void LeaveOpen(const WildQueries& wild, const BackwardRow& at,
                        RowTruth* row) {
    if (at.kind != Kind::kKey) {
      row->excluded = true;
      return;
    }
    row->lines[1].open = true;
    row->open_dv = wild.ReachedChannels(at);
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
        row.excluded = open && row.lines[2].terms == 0;
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
    return truth_[n].lines[t].value.size();
  }
  lockstep::verify::Bounds Element(size_t t, size_t n,
                                   size_t c) const override {
    const RowTruth& row = truth_[n];
    const bool open = t == 0 && !row.open_dv.empty() && row.open_dv[c];
    return envelope_.Element(static_cast<GradientOutput>(t), row.lines[t], c,
                             row.excluded || open);
  }

  const AttentionBackwardTrial& trial_;
  GradientEnvelope envelope_;
  std::vector<RowTruth> truth_;
  std::vector<double> dv_;
};

}  // namespace

std::vector<Case> AttentionBackwardTrial::ProbeCases(
    const Case& c, const NumericProfile& profile) {
  std::vector<Case> cases;
  const auto& from = c.Get<AttentionBackwardCase>();
  if (ProbeOf(from) || !WhyNotGradProbe(profile).empty()) return cases;
  for (const ProbeKind kind : ProbesFor(*profile.grad)) {
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
  if (!probe || !WhyNotGradProbe(profile).empty()) return nullptr;
  return std::make_unique<AllowedGradients>(*this, profile, std::move(rows), 0,
                                            InputsOf(*probe));
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
  const bool f32 = data_.problem.forward.lane == Lane::kF32;
  const GradEmulator emulator(
      FindGradVariant(f32 ? "grad-cpu" : "grad-flash").value());
  emulator.Run(data_.problem, data_.inputs, BackwardViews(outputs));
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
  return std::make_unique<AllowedGradients>(*this, profile, std::move(rows),
                                            threads, GradientInputs::kAny);
}

}  // namespace lockstep::verify
