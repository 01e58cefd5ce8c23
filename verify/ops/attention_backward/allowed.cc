// What a numeric profile allows attention_backward to answer.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "verify/allowed/attention_backward/envelope.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/counts.h"
#include "verify/base/compare.h"
#include "verify/case/attention_backward.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

using Kind = BackwardRow::Kind;

// The truth of one row, by output.
struct RowTruth {
  oracle::GradientLine lines[4];
  bool excluded = false;
};

class AllowedGradients final : public AllowedResults {
 public:
  AllowedGradients(const AttentionBackwardTrial& trial,
                   const NumericProfile& profile, std::vector<int64_t> rows,
                   int threads, bool probe)
      : trial_(trial),
        rows_(std::move(rows)),
        envelope_(profile, trial.data().problem,
                  RangeOf(trial.data().inputs.forward, profile), probe),
        truth_(rows_.size()) {
    const oracle::Gradients gradients(trial_.data().problem,
                                      trial_.data().inputs, envelope_.model());
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t n = next++; n < rows_.size(); n = next++) {
        truth_[n] = TruthOf(gradients, trial_.RowAt(rows_[n]));
      }
    };
    const int64_t cost =
        trial_.RowCost() * static_cast<int64_t>(rows_.size()) >> 20;
    const auto cores =
        static_cast<int64_t>(std::thread::hardware_concurrency());
    const int64_t workers =
        std::clamp<int64_t>(threads > 0 ? threads : cores, 1, cost + 1);
    std::vector<std::thread> pool;
    for (int64_t w = 1; w < workers; ++w) pool.emplace_back(work);
    work();
    for (std::thread& thread : pool) thread.join();
    for (const RowTruth& row : truth_) {
      const auto& dv = row.lines[0].value;
      dv_.insert(dv_.end(), dv.begin(), dv.end());
    }
  }

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return dv_; }

  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    std::vector<EnvelopeResult> results;
    for (size_t t = 0; t < trial_.outputs().size(); ++t) {
      results.push_back(JudgeOne(t, produced.tensors[t].const_view(), each));
    }
    return results;
  }

  bool Allows(size_t n, const RowBits& bits) const override {
    for (size_t t = 0; t < bits.size(); ++t) {
      const Lane lane = trial_.outputs()[t].lane;
      for (size_t c = 0; c < bits[t].size(); ++c) {
        if (!Element(t, n, c).allowed.Contains(
                ElementValue(lane, bits[t][c]))) {
          return false;
        }
      }
    }
    return true;
  }

  bool Bounds(size_t n) const override {
    for (size_t t = 0; t < trial_.outputs().size(); ++t) {
      for (size_t c = 0; c < truth_[n].lines[t].value.size(); ++c) {
        const auto bounds = Element(t, n, c);
        if (!bounds.allowed.Unbounded() && !bounds.vacuous) return true;
      }
    }
    return false;
  }

 private:
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

  lockstep::verify::Bounds Element(size_t t, size_t n, size_t c) const {
    return envelope_.Element(static_cast<GradientOutput>(t), truth_[n].lines[t],
                             c, truth_[n].excluded);
  }

  EnvelopeResult JudgeOne(size_t t, const LaneView& produced,
                          const ElementSink& each) const {
    const OutputSpec& spec = trial_.outputs()[t];
    int64_t expected = 0;
    for (const RowTruth& row : truth_) {
      expected += static_cast<int64_t>(row.lines[t].value.size());
    }
    EnvelopeJudge judge(spec.name, expected, spec.lane, &each);
    for (size_t n = 0; n < rows_.size(); ++n) {
      for (const int64_t line : trial_.Lines(t, rows_[n])) {
        for (int64_t c = 0; c < spec.shape[3]; ++c) {
          const auto index = LineIndex(spec, line, c);
          const double x =
              ElementValue(spec.lane, ElementBits(produced, index));
          judge.Add(index, x, Element(t, n, static_cast<size_t>(c)));
        }
      }
    }
    return judge.Finish({});
  }

  const AttentionBackwardTrial& trial_;
  std::vector<int64_t> rows_;
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
  for (const ProbeKind kind : {ProbeKind::kGradKeys, ProbeKind::kGradQueries}) {
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
  if (!ProbeOf(case_.Get<AttentionForwardCase>()) ||
      !WhyNotGradProbe(profile).empty()) {
    return nullptr;
  }
  return std::make_unique<AllowedGradients>(*this, profile, std::move(rows), 0,
                                            true);
}

namespace {

// Faults that change whole pairs: every probe that holds one shows them. In the
// contract's own arithmetic they differ from CorrectKernel by nothing else.
constexpr const char* kCanaries[] = {
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
  return kCanaries;
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
                                            threads, false);
}

}  // namespace lockstep::verify
