// What a numeric profile allows a merge to answer, and the kernels that the
// judge is tried with.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/allowed/attention_merge/envelope.h"
#include "verify/allowed/counts.h"
#include "verify/allowed/rows_in_parallel.h"
#include "verify/base/compare.h"
#include "verify/case/attention_merge/case.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/ops/allowed.h"
#include "verify/ops/attention_merge/trial.h"

namespace lockstep::verify {
namespace {

// The envelope. On a probe's inputs it is narrow enough to tell every part.
class AllowedMerge final : public AllowedResults {
 public:
  AllowedMerge(const AttentionMergeTrial& trial, const NumericProfile& profile,
               std::vector<int64_t> rows, int threads)
      : trial_(trial), profile_(profile), rows_(std::move(rows)) {
    const AttentionMergeProblem& p = trial.data().problem;
    std::vector<std::optional<MergedRowBounds>> made(rows_.size());
    RowsInParallel(rows_.size(),
                   trial.RowCost() * static_cast<int64_t>(rows_.size()) * 8,
                   threads, [&](size_t n) {
                     made[n].emplace(profile_, p, trial.data().inputs,
                                     rows_[n] / p.rows, rows_[n] % p.rows);
                   });
    for (auto& row : made) bounds_.push_back(std::move(*row));
    for (const MergedRowBounds& row : bounds_) {
      truth_.insert(truth_.end(), row.truth().o.begin(), row.truth().o.end());
    }
  }

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return truth_; }

  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    std::vector<EnvelopeResult> results;
    for (size_t t = 0; t < Outputs(); ++t) {
      const OutputSpec& spec = trial_.outputs()[t];
      const LaneView view = produced.tensors[t].const_view();
      EnvelopeJudge judge(spec.name,
                          static_cast<int64_t>(rows_.size()) * spec.shape[3],
                          spec.lane, &each);
      for (size_t n = 0; n < rows_.size(); ++n) {
        for (int64_t c = 0; c < spec.shape[3]; ++c) {
          const auto index = LineIndex(spec, rows_[n], c);
          judge.Add(index, ElementValue(spec.lane, ElementBits(view, index)),
                    Element(t, n, c));
        }
      }
      results.push_back(judge.Finish({}));
    }
    return results;
  }

  bool Allows(size_t n, const RowBits& bits) const override {
    for (size_t t = 0; t < std::min(Outputs(), bits.size()); ++t) {
      const Lane lane = trial_.outputs()[t].lane;
      for (size_t c = 0; c < bits[t].size(); ++c) {
        const double x = ElementValue(lane, bits[t][c]);
        const auto allowed = Element(t, n, static_cast<int64_t>(c)).allowed;
        if (!allowed.Contains(x)) return false;
      }
    }
    return true;
  }

  bool Bounds(size_t n) const override {
    for (size_t t = 0; t < Outputs(); ++t) {
      for (int64_t c = 0; c < trial_.outputs()[t].shape[3]; ++c) {
        const auto bounds = Element(t, n, c);
        if (!bounds.allowed.Unbounded() && !bounds.vacuous) return true;
      }
    }
    return false;
  }

 private:
  size_t Outputs() const { return HasLse(profile_) ? 2 : 1; }
  lockstep::verify::Bounds Element(size_t t, size_t n, int64_t c) const {
    return t == 0 ? bounds_[n].Output(c) : bounds_[n].Lse();
  }

  const AttentionMergeTrial& trial_;
  const NumericProfile profile_;
  std::vector<int64_t> rows_;
  std::vector<MergedRowBounds> bounds_;
  std::vector<double> truth_;
};

// Why a probe's inputs tell nothing of a kernel of this profile: its weights
// of equal lse need not be 1, or its sums need not be exact.
bool ProvesSomething(const NumericProfile& profile) {
  return profile.exact || profile.exp_zero == ExpZero::kExact;
}

// Faults that change whole parts.
constexpr const char* kMergeCanaries[] = {
    "mutant:merge.last_part_dropped", "mutant:merge.unweighted",
    "mutant:merge.not_normalised",    "mutant:merge.part_of_next",
    "mutant:merge.part_twice",        "mutant:merge.weights_reversed",
    "mutant:merge.lse_is_max",
};

}  // namespace

std::string AttentionMergeTrial::WhyUndeclared(
    const NumericProfile& profile) const {
  return WhyUndeclaredMerge(data_.problem, data_.inputs, profile);
}

std::unique_ptr<AllowedResults> AttentionMergeTrial::Envelope(
    const NumericProfile& profile, std::vector<int64_t> rows,
    int threads) const {
  return std::make_unique<AllowedMerge>(*this, profile, std::move(rows),
                                        threads);
}

std::unique_ptr<AllowedResults> AttentionMergeTrial::Probe(
    const NumericProfile& profile, std::vector<int64_t> rows) const {
  if (!ProbeOf(case_.Get<AttentionMergeCase>()) || !ProvesSomething(profile)) {
    return nullptr;
  }
  return Envelope(profile, std::move(rows), 0);
}

std::vector<Case> AttentionMergeTrial::ProbeCases(
    const Case& c, const NumericProfile& profile) {
  const AttentionMergeCase& from = c.Get<AttentionMergeCase>();
  std::vector<Case> cases;
  if (ProbeOf(from) || !ProvesSomething(profile)) return cases;
  for (const ProbeKind kind : {ProbeKind::kMergeSelect, ProbeKind::kMergeCount,
                               ProbeKind::kMergeShift}) {
    Case changed = c;
    auto& merge = changed.Get<AttentionMergeCase>();
    merge.fill = {{.kind = FillKind::kProbe, .probe = kind}};
    // A probe has parts that saw no key even where the case has none.
    if (PoisonsEmptyParts(from) &&
        (profile.exact || profile.masked_nan_safe == MaskedNan::kYes)) {
      merge.fill.push_back({.kind = FillKind::kPoison});
    }
    // All that the probe brings itself.
    const AttentionMergeCase plain;
    merge.lse = plain.lse;
    merge.letters.clear();
    merge.empty = merge.blank = merge.nan = merge.posinf = Number{};
    if (ValidateCase(changed).ok()) cases.push_back(std::move(changed));
  }
  return cases;
}

std::vector<int64_t> AttentionMergeTrial::OpenLines(
    const NumericProfile& profile, size_t output) const {
  std::vector<int64_t> open;
  const AttentionMergeProblem& p = data_.problem;
  for (int64_t row = 0; row < rows(); ++row) {
    const MergedRowBounds bounds(profile, p, data_.inputs, row / p.rows,
                                 row % p.rows);
    bool some = output == 1 && bounds.Lse().allowed.Unbounded();
    for (int64_t c = 0; output == 0 && !some && c < p.value_dim; ++c) {
      some = bounds.Output(c).allowed.Unbounded();
    }
    if (some) open.push_back(row);
  }
  return open;
}

void AttentionMergeTrial::RunBaseline(const OutputSet& outputs) const {
  const MergeEmulator emulator(FindMergeVariant("merge").value());
  emulator.Run(data_.problem, data_.inputs, Views(outputs));
}

std::span<const char* const> AttentionMergeTrial::Canaries() const {
  // Of one part there is nothing to merge, and a probe is blind to some.
  const AttentionMergeCase& c = case_.Get<AttentionMergeCase>();
  if (ProbeOf(c) || c.parts < 2) return {};
  return kMergeCanaries;
}

}  // namespace lockstep::verify
