// What a numeric profile allows mamba3_scan to answer, and the kernels that the
// judge is tried with.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "verify/allowed/counts.h"
#include "verify/allowed/mamba3_scan/envelope.h"
#include "verify/allowed/mamba3_scan/probes.h"
#include "verify/allowed/rounding.h"
#include "verify/allowed/rows_in_parallel.h"
#include "verify/base/compare.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/ops/canaries.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

ScanOutput OutputOf(const std::string& name) {
  if (name == "y") return ScanOutput::kY;
  if (name == "carry_theta") return ScanOutput::kTheta;
  if (name == "carry_h") return ScanOutput::kH;
  return name == "carry_k" ? ScanOutput::kK : ScanOutput::kV;
}

class AllowedOfScan final : public AllowedResults {
 public:
  // `probe`: the exact expectation of its inputs; none: the envelope.
  AllowedOfScan(const Mamba3ScanTrial& trial, const NumericProfile& profile,
                std::optional<ProbeKind> probe, std::vector<int64_t> rows,
                int threads)
      : trial_(trial),
        profile_(profile),
        probe_(probe),
        rows_(std::move(rows)),
        truth_(rows_.size()) {
    const Mamba3ScanData& data = trial_.data();
    const oracle::ScanErrors errors =
        probe ? ScanProbeErrors(*probe, profile, data.problem)
              : ScanErrorsOf(profile, data.problem);
    const int64_t cost = trial_.RowCost() * static_cast<int64_t>(rows_.size());
    RowsInParallel(rows_.size(), cost, threads, [&](size_t n) {
      const int64_t run = rows_[n] / data.problem.heads;
      const auto& at = trial_.runs()[static_cast<size_t>(run)];
      truth_[n] = oracle::ComputeScan(
          data.problem, data.inputs,
          {at.row, at.first, at.end, run, rows_[n] % data.problem.heads},
          errors);
    });
    for (const oracle::ScanTruth& truth : truth_) {
      y_.insert(y_.end(), truth.y.begin(), truth.y.end());
    }
  }

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return y_; }

  std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const override {
    std::vector<EnvelopeResult> results;
    for (size_t t = 0; t < trial_.outputs().size(); ++t) {
      if (!HasOutput(profile_, trial_.outputs()[t].name)) continue;
      results.push_back(JudgeOutput(t, produced.tensors[t].const_view(), each));
    }
    return results;
  }

  bool Allows(size_t n, const RowBits& bits) const override {
    for (size_t t = 0; t < bits.size(); ++t) {
      const OutputSpec& spec = trial_.outputs()[t];
      if (!HasOutput(profile_, spec.name)) continue;
      const ScanOutput output = OutputOf(spec.name);
      for (size_t i = 0; i < bits[t].size(); ++i) {
        const double x = ElementValue(spec.lane, bits[t][i]);
        if (!At(output, n, i, x).allowed.Contains(x)) return false;
      }
    }
    return true;
  }

  bool Bounds(size_t n) const override {
    const oracle::ScanTruth& truth = truth_[n];
    for (size_t i = 0; i < truth.y.size(); ++i) {
      const auto bounds = At(ScanOutput::kY, n, i, truth.y[i]);
      if (!bounds.allowed.Unbounded() && !bounds.vacuous) return true;
    }
    return false;
  }

 private:
  lockstep::verify::Bounds At(ScanOutput output, size_t n, size_t i,
                              double produced) const {
    const Mamba3ScanProblem& p = trial_.data().problem;
    const auto run = static_cast<size_t>(rows_[n] / p.heads);
    const reference::Run& at = trial_.runs()[run];
    if (at.first == at.end &&
        profile_.scan->empty_run == EmptyRun::kUnspecified) {
      return Unclaimed(0);
    }
    if (!probe_) {
      return ScanBounds(profile_, p.lane, truth_[n], output, i, produced);
    }
    return ScanProbeBounds(*probe_, profile_, p, truth_[n],
                           {output, i, produced});
  }

  EnvelopeResult JudgeOutput(size_t t, const LaneView& produced,
                             const ElementSink& each) const {
    const OutputSpec& spec = trial_.outputs()[t];
    const ScanOutput output = OutputOf(spec.name);
    int64_t expected = 0;
    std::vector<std::vector<int64_t>> lines;
    for (const int64_t row : rows_) {
      lines.push_back(trial_.Lines(t, row));
      expected += static_cast<int64_t>(lines.back().size()) * spec.shape[3];
    }
    EnvelopeJudge judge(spec.name, expected, spec.lane, &each);
    for (size_t n = 0; n < rows_.size(); ++n) {
      size_t i = 0;
      for (const int64_t line : lines[n]) {
        for (int64_t c = 0; c < spec.shape[3]; ++c, ++i) {
          const auto index = LineIndex(spec, line, c);
          const double x =
              ElementValue(spec.lane, ElementBits(produced, index));
          judge.Add(index, x, At(output, n, i, x));
        }
      }
    }
    return judge.Finish({});
  }

  const Mamba3ScanTrial& trial_;
  NumericProfile profile_;
  std::optional<ProbeKind> probe_;
  std::vector<int64_t> rows_;
  std::vector<oracle::ScanTruth> truth_;
  std::vector<double> y_;
};

// Faults that change whole terms: every probe that holds one shows them.
constexpr const char* kScanCanaries[] = {
    "scan.diag_missing",      "scan.beta_dropped",    "scan.intra_ignores_runs",
    "scan.init_fold_missing", "scan.carry_v_of_pack", "scan.bias_missing",
};
constexpr KernelOfLane kScanKernels = {"scan", "scan-bf16-lane",
                                       "scan-f16-lane"};

const CanariesOfLanes& ScanCanaries() {
  static const CanariesOfLanes kAll(kScanCanaries, kScanKernels);
  return kAll;
}

}  // namespace

std::unique_ptr<AllowedResults> Mamba3ScanTrial::Envelope(
    const NumericProfile& profile, std::vector<int64_t> rows,
    int threads) const {
  return std::make_unique<AllowedOfScan>(*this, profile, std::nullopt,
                                         std::move(rows), threads);
}

std::vector<int64_t> Mamba3ScanTrial::ReachedLines(
    const NumericProfile& profile, size_t output, int64_t row) const {
  if (outputs()[output].name != "y") return {};  // a carry is behind all tokens
  const int64_t heads = data().problem.heads;
  const reference::Run& run = runs()[static_cast<size_t>(row / heads)];
  const oracle::ScanErrors errors = ScanErrorsOf(profile, data().problem);
  const std::vector<bool> reached = oracle::ReachedByLater(
      data().problem, data().inputs,
      {run.row, run.first, run.end, row / heads, row % heads}, errors.nan_reach,
      errors.largest);
  const std::vector<int64_t> lines = Lines(output, row);
  const size_t ranks = lines.size() / reached.size();
  std::vector<int64_t> open;
  for (size_t n = 0; n < lines.size(); ++n) {
    if (reached[n / ranks]) open.push_back(lines[n]);
  }
  return open;
}

std::unique_ptr<AllowedResults> Mamba3ScanTrial::Probe(
    const NumericProfile& profile, std::vector<int64_t> rows) const {
  const std::optional<ProbeKind> probe = ProbeOf(scan());
  if (!probe || !WhyNotScanProbe(*probe, data().problem, profile).empty()) {
    return nullptr;
  }
  // Exact bits have a set, too: that of any kernel in f32.
  if (!profile.scan) return Probe(LoadProfile("scan-chunked").value(), rows);
  return std::make_unique<AllowedOfScan>(*this, profile, probe, std::move(rows),
                                         0);
}

std::vector<Case> Mamba3ScanTrial::ProbeCases(const Case& c,
                                              const NumericProfile& profile) {
  const auto problem = ToProblem(c.Get<Mamba3ScanCase>());
  return ScanProbeCases(c, [&](ProbeKind probe) {
    return WhyNotScanProbe(probe, problem, profile).empty();
  });
}

void Mamba3ScanTrial::RunBaseline(const OutputSet& outputs) const {
  constexpr KernelOfLane kNames = {"scan", "siso-a32", "siso-f16"};
  const char* name = kNames[static_cast<size_t>(data().problem.lane)];
  ScanEmulator emulator(FindScanVariant(name).value());
  emulator.Run(data().problem, data().inputs, Views(outputs));
}

const char* Mamba3ScanTrial::CorrectKernel() const {
  return ScanCanaries().Correct(data().problem.lane);
}

std::span<const char* const> Mamba3ScanTrial::Canaries() const {
  // An envelope may be too wide for any fault, and one probe blind to some: a
  // case that is a probe is judged by that one alone.
  if (ProbeOf(scan()) ||
      !WhyNotScanProbe(ProbeKind::kIntegrate, data().problem).empty()) {
    return {};
  }
  return ScanCanaries().Of(data().problem.lane);
}

}  // namespace lockstep::verify
