// What a numeric profile allows attention_forward to answer: envelopes and
// exact probes, and the emulated kernels that the judge is tried with.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "reference/mask.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/errors.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/base/compare.h"
#include "verify/base/magnitude.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

class EnvelopeOfTrial final : public AllowedResults {
 public:
  // `rows` of the trial are these lines of o. `no_draw`: why the inputs are no
  // random draw; empty if they are.
  EnvelopeOfTrial(const AttentionForwardData& data,
                  const NumericProfile& profile, std::vector<int64_t> rows,
                  std::vector<int64_t> lines, int threads, std::string no_draw)
      : data_(data),
        profile_(profile),
        threads_(threads),
        no_draw_(std::move(no_draw)),
        lane_(data.problem.lane),
        rows_(std::move(rows)),
        lines_(std::move(lines)),
        envelope_(profile, data.problem,
                  static_cast<double>(rows_.size()) *
                      static_cast<double>(data.problem.value_dim + 1),
                  1e-3, RangeOf(data.inputs, profile)),
        has_lse_(HasLse(profile)) {
    oracle::TruthOptions options;
    options.rows = &lines_;
    options.threads = threads;
    truth_ = oracle::ComputeTruth(data.problem, data.inputs,
                                  envelope_.error_model(), options);
  }

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return truth_.o; }

  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    const AttentionForwardOutputs views = AttentionViews(produced);
    std::vector<EnvelopeResult> results = {JudgeOutput(
        envelope_, truth_, &lines_, produced.tensors[0].const_view(), each)};
    if (has_lse_) {
      results.push_back(
          JudgeLse(envelope_, truth_, &lines_,
                   {views.lse.data, views.lse.shape, views.lse.strides}, each));
    }
    return results;
  }

  ErrorSample Errors(const OutputSet& produced) const override {
    ErrorSample sample;
    sample.why_not = no_draw_;
    if (!sample.why_not.empty()) return sample;
    return AttentionErrors({profile_, data_.problem, data_.inputs, envelope_,
                            truth_, lines_, produced.tensors[0].const_view(),
                            threads_});
  }

  bool Allows(size_t n, const RowBits& bits) const override {
    const RowSlack slack = envelope_.ForRow(truth_.rows[n]);
    for (size_t c = 0; c < bits[0].size(); ++c) {
      if (!envelope_.Output(truth_, n, c, slack)
               .allowed.Contains(ElementValue(lane_, bits[0][c]))) {
        return false;
      }
    }
    return !has_lse_ || bits.size() < 2 || bits[1].empty() ||
           envelope_.Lse(truth_, n).allowed.Contains(
               ElementValue(Lane::kF32, bits[1][0]));
  }

  bool Bounds(size_t n) const override {
    const RowSlack slack = envelope_.ForRow(truth_.rows[n]);
    for (size_t c = 0; c < static_cast<size_t>(truth_.value_dim); ++c) {
      if (!envelope_.Output(truth_, n, c, slack).allowed.Unbounded())
        return true;
    }
    return false;
  }

 private:
  const AttentionForwardData& data_;
  NumericProfile profile_;
  int threads_;
  std::string no_draw_;
  Lane lane_;
  std::vector<int64_t> rows_, lines_;
  AttentionEnvelope envelope_;
  bool has_lse_;
  oracle::AttentionTruth truth_;
};

class ProbeOfTrial final : public AllowedResults {
 public:
  ProbeOfTrial(const ProbeRequest& request, std::vector<int64_t> rows,
               std::vector<int64_t> lines)
      : lane_(request.problem.lane),
        has_lse_(HasLse(request.profile)),
        rows_(std::move(rows)),
        lines_(std::move(lines)),
        expected_(ExpectProbe(request, &lines_)) {}

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return {}; }

  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    const AttentionForwardOutputs views = AttentionViews(produced);
    std::vector<EnvelopeResult> results = {JudgeProbe(
        expected_.o, &lines_, produced.tensors[0].const_view(), each)};
    if (has_lse_) {
      results.push_back(JudgeProbeLse(
          expected_.lse, &lines_,
          {views.lse.data, views.lse.shape, views.lse.strides}, each));
    }
    return results;
  }

  bool Allows(size_t n, const RowBits& bits) const override {
    for (size_t c = 0; c < bits[0].size(); ++c) {
      if (!expected_.o[n * bits[0].size() + c].Contains(
              ElementValue(lane_, bits[0][c]))) {
        return false;
      }
    }
    return !has_lse_ || bits.size() < 2 || bits[1].empty() ||
           expected_.lse[n].Contains(ElementValue(Lane::kF32, bits[1][0]));
  }

  bool Bounds(size_t n) const override {
    const size_t channels = expected_.o.size() / rows_.size();
    const auto row = expected_.o.begin() + static_cast<int64_t>(n * channels);
    return !std::all_of(row, row + static_cast<int64_t>(channels),
                        [](const ValueSet& set) { return set.Unbounded(); });
  }

 private:
  Lane lane_;
  bool has_lse_;
  std::vector<int64_t> rows_, lines_;
  ProbeAnswers expected_;
};

// Why the same case with another seed is no second draw of smooth numbers.
std::string WhyNoDraw(const AttentionForwardCase& c) {
  const bool smooth =
      std::all_of(c.fill.begin(), c.fill.end(), [](const FillTerm& term) {
        const bool wide = term.kind == FillKind::kUniform
                              ? term.a.value < term.b.value
                              : term.a.value > 0;
        return term.kind == FillKind::kPoison ||
               ((term.kind == FillKind::kNormal ||
                 term.kind == FillKind::kUniform) &&
                wide);
      });
  return smooth ? "" : "inputs that are no random draw";
}

bool RowIsFinite(const LaneView& x, int64_t b, int64_t h, int64_t j) {
  for (int64_t c = 0; c < x.shape[3]; ++c) {
    const float value = x.Float(b, h, j, c);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// Whether a query of batch row b, of any head, sees key j.
bool IsSeen(const AttentionForwardProblem& p,
            const AttentionForwardInputs& inputs, int64_t b, int64_t j) {
  for (int64_t h = 0; h < p.q_heads; ++h) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      if (reference::IsVisible(p, inputs, b, h, i, j)) return true;
    }
  }
  return false;
}

// Whether a key that is seen in its batch row holds NaN or infinity in k or v.
bool SeesNotFinite(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& inputs) {
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t j = 0; j < p.kv_len; ++j) {
      bool finite = true;
      for (int64_t h = 0; finite && h < p.kv_heads; ++h) {
        finite =
            RowIsFinite(inputs.k, b, h, j) && RowIsFinite(inputs.v, b, h, j);
      }
      if (!finite && IsSeen(p, inputs, b, j)) return true;
    }
  }
  return false;
}

// Whether sums of q.k stay far below the number that is added to mask them: a
// score that does not is not masked by it.
bool MaskableByAddition(const AttentionForwardProblem& p, const LaneView& q,
                        const LaneView& k) {
  const Magnitude of_q = MagnitudeOf(q);
  const Magnitude of_k = MagnitudeOf(k);
  const double bound = of_q.largest * of_k.largest *
                       static_cast<double>(p.head_dim) *
                       std::max(1.0, std::fabs(p.scale));
  return of_q.finite && of_k.finite && bound < 0x1p120;  // FLT_MAX / 256
}

// Faults that change whole keys: every probe that holds one shows them.
constexpr const char* kAttentionCanaries[] = {
    "mutant:attn.drop_last_key",    "mutant:attn.leak_masked_key",
    "mutant:attn.v_row_off_by_one", "mutant:attn.causal_plus_one",
    "mutant:attn.causal_strict",    "mutant:attn.double_edge_key",
    "mutant:attn.mask_before_cap",
};

}  // namespace

std::string WhyUndeclaredAttention(const AttentionForwardProblem& p,
                                   const AttentionForwardInputs& inputs,
                                   const NumericProfile& profile,
                                   const char* op) {
  if (profile.scan) return op;
  if (profile.lane && *profile.lane != p.lane) {
    return std::string("lane=") + LaneName(p.lane);
  }
  if (!profile.exact && p.p_lane == Lane::kAdded) {
    return std::string("p=") + LaneName(p.p_lane);
  }
  // Kernels of this kind take the maximum of scores without their scale.
  if (!profile.exact && profile.shift == Shift::kFma && !p.softcap &&
      profile.scale_at == ScaleAt::kExponent && !(p.scale > 0)) {
    return "a scale that is not positive (shift = fma, scale_at = exponent)";
  }
  if (profile.masked_nan_safe == MaskedNan::kNo &&
      !(MagnitudeOf(inputs.k).finite && MagnitudeOf(inputs.v).finite)) {
    return "NaN or infinity in k or v (masked_nan_safe = no)";
  }
  if (profile.masked_nan_safe == MaskedNan::kPadding &&
      SeesNotFinite(p, inputs)) {
    return "NaN or infinity in k or v of keys that a query sees "
           "(masked_nan_safe = padding)";
  }
  if (profile.mask == MaskApplication::kAddFinite &&
      !MaskableByAddition(p, inputs.q, inputs.k)) {
    return "scores that may reach what masks them (mask = add_finite)";
  }
  return "";
}

std::string AttentionForwardTrial::WhyUndeclared(
    const NumericProfile& profile) const {
  return WhyUndeclaredAttention(numbers().problem, numbers().inputs, profile,
                                "attention_forward");
}

std::unique_ptr<AllowedResults> AttentionForwardTrial::Envelope(
    const NumericProfile& profile, std::vector<int64_t> rows,
    int threads) const {
  std::vector<int64_t> lines = LinesOf(rows);
  return std::make_unique<EnvelopeOfTrial>(
      numbers(), profile, std::move(rows), std::move(lines), threads,
      WhyNoDraw(case_.Get<AttentionForwardCase>()));
}

std::unique_ptr<AllowedResults> AttentionForwardTrial::Probe(
    const NumericProfile& profile, std::vector<int64_t> rows) const {
  const std::optional<ProbeKind> probe =
      ProbeOf(case_.Get<AttentionForwardCase>());
  if (!probe || !WhyNotProbe(*probe, data_.problem, profile).empty()) {
    return nullptr;
  }
  std::vector<int64_t> lines = LinesOf(rows);
  return std::make_unique<ProbeOfTrial>(
      ProbeRequest{*probe, data_.problem, data_.inputs, profile, case_.seed},
      std::move(rows), std::move(lines));
}

std::vector<Case> AttentionForwardTrial::ProbeCases(
    const Case& c, const NumericProfile& profile) {
  const AttentionForwardCase& from = c.Get<AttentionForwardCase>();
  std::vector<Case> cases;
  if (ProbeOf(from)) return cases;
  for (const ProbeInfo& probe : Probes()) {
    if (!WhyNotProbe(probe.kind, ToProblem(from), profile).empty()) continue;
    Case changed = c;
    auto& attention = changed.Get<AttentionForwardCase>();
    auto& fill = attention.fill;
    fill.clear();
    attention.page = attention.page.Drawn();  // its batch rows all differ
    // Scales of 1 leave its numbers what they are.
    for (ScaleSpec* spec :
         {&attention.k_scale, &attention.v_scale, &attention.q_scale}) {
      if (spec->any()) spec->values = ConstantScales(1).values;
    }
    // The logit 0 makes a sink one more key of value 0.
    if (attention.sinklogit) {
      attention.sinklogit = FillTerm{.kind = FillKind::kConst};
    }
    // A file stays where it holds the segment ids.
    const bool segments = from.q_seg.kind == Segments::Kind::kFile ||
                          from.kv_seg.kind == Segments::Kind::kFile;
    for (const FillTerm& term : from.fill) {
      if (segments && term.kind == FillKind::kFile) fill.push_back(term);
    }
    fill.push_back({.kind = FillKind::kProbe, .probe = probe.kind});
    for (const FillTerm& term : from.fill) {
      if (term.kind == FillKind::kPoison) fill.push_back(term);
    }
    if (ValidateCase(changed).ok()) cases.push_back(std::move(changed));
  }
  return cases;
}

void AttentionForwardTrial::RunBaseline(const OutputSet& outputs) const {
  constexpr const char* kNames[] = {"cpu", "flash", "flash-f16"};  // by lane
  const char* name = kNames[WideLaneIndex(data_.problem.lane)];
  AttentionEmulator emulator(FindVariant(name).value());
  emulator.Run(data_.problem, data_.inputs, AttentionViews(outputs));
}

// Values of a probe hide what it does not look at: the case's own tell more.
std::span<const char* const> AttentionForwardTrial::Canaries() const {
  if (ProbeOf(case_.Get<AttentionForwardCase>())) return {};
  return kAttentionCanaries;
}

}  // namespace lockstep::verify
