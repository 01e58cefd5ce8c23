// What a numeric profile allows mamba3_scan_backward to answer, and the kernels
// that the judge is tried with.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/allowed/mamba3_scan/probes.h"
#include "verify/allowed/mamba3_scan_backward/envelope.h"
#include "verify/allowed/rows_in_parallel.h"
#include "verify/base/compare.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/ops/allowed_elements.h"
#include "verify/ops/canaries.h"
#include "verify/ops/mamba3_scan_backward/trial.h"

namespace lockstep::verify {
namespace {

using oracle::Gradient;

constexpr const char* kNames[oracle::kGradients] = {
    "dv",          "dq",        "dk",      "da",     "ddt",
    "dtau",        "dvartheta", "dz",      "dbq",    "dbk",
    "dd",          "dpsi",      "dzeta",   "dphi",   "dnorm_weight",
    "dinit_theta", "dinit_h",   "dinit_k", "dinit_v"};

size_t GradientOf(const OutputSpec& spec) {
  size_t n = 0;
  while (spec.name != kNames[n]) ++n;
  return n;
}

// The truth of a row: [output][element], in the order of its lines.
using RowTruth = std::vector<std::vector<GradientSum>>;

class AllowedScanGradients final : public AllowedElements {
 public:
  // `probe`: the exact expectation of its inputs; none: the envelope.
  AllowedScanGradients(const Mamba3ScanBackwardTrial& trial,
                       const NumericProfile& profile,
                       std::optional<ProbeKind> probe,
                       std::vector<int64_t> rows, int threads)
      : AllowedElements(trial, std::move(rows)),
        trial_(trial),
        profile_(profile),
        errors_(GradientErrorsOf(profile, trial.problem(), probe)),
        truth_(this->rows().size()) {
    const auto count = static_cast<int64_t>(truth_.size());
    RowsInParallel(truth_.size(), trial.RowCost() * count, threads,
                   [&](size_t n) { truth_[n] = TruthOf(this->rows()[n]); });
    for (const RowTruth& row : truth_) {
      for (const GradientSum& sum : row[0]) dv_.push_back(sum.value);
    }
  }

  std::span<const double> truth() const override { return dv_; }

 private:
  oracle::ScanPlace PlaceOfRun(int64_t run, int64_t head) const {
    const reference::Run& at = trial_.runs()[static_cast<size_t>(run)];
    return {at.row, at.first, at.end, run, head};
  }

  RowTruth TruthOf(int64_t row) const {
    const auto [first, end] = trial_.HeadsOf(row);
    const auto runs = static_cast<int64_t>(trial_.runs().size());
    const int64_t only = row / trial_.RowsPerRun();
    const bool weights = trial_.OfWeights(row);
    RowTruth truth(trial_.outputs().size());
    for (size_t t = 0; t < truth.size(); ++t) {
      const OutputSpec& spec = trial_.outputs()[t];
      const auto channels = static_cast<size_t>(spec.shape[3]);
      truth[t].resize(trial_.Lines(t, row).size() * channels);
      for (GradientSum& sum : truth[t]) {
        sum.lane = spec.lane;
        sum.of_heads = OfGroups(spec);
        sum.parts = OfGroups(spec) ? end - first : weights ? Tokens() : 1;
      }
    }
    for (int64_t run = weights ? 0 : only; run < (weights ? runs : only + 1);
         ++run) {
      for (int64_t head = first; head < end; ++head) {
        const oracle::ScanPlace place = PlaceOfRun(run, head);
        AddHead(row, place,
                oracle::ComputeScanGradients(trial_.problem(), trial_.inputs(),
                                             place, errors_),
                &truth);
      }
    }
    return truth;
  }

  int64_t Tokens() const {
    const Mamba3ScanProblem& p = trial_.problem().forward;
    return p.batch * p.length * p.ranks;
  }

  // Lines of the row that the head has, or has a part of.
  void AddHead(int64_t row, const oracle::ScanPlace& place,
               const oracle::HeadGradients& head, RowTruth* truth) const {
    const int64_t length = trial_.problem().forward.length;
    const bool open = place.first == place.end &&
                      profile_.scan->empty_run == EmptyRun::kUnspecified;
    for (size_t t = 0; t < truth->size(); ++t) {
      const OutputSpec& spec = trial_.outputs()[t];
      const oracle::GradientValues& values = head[GradientOf(spec)];
      const auto lines = trial_.Lines(t, row);
      for (size_t n = 0; n < lines.size(); ++n) {
        const auto at = LineIndex(spec, lines[n], 0);
        bool here = true;
        int64_t position = 0;
        for (size_t i = 0; i < 3; ++i) {
          const std::string_view axis = AxisOf(spec, i);
          if (axis == "h") here = at[i] == place.head;
          if (axis.starts_with("t")) {
            position = at[i] - place.first * (spec.shape[i] / length);
          }
          if (axis == "r" || axis == "p") position = at[i];
        }
        if (!here) continue;
        for (int64_t c = 0; c < spec.shape[3]; ++c) {
          const auto from = static_cast<size_t>(position * spec.shape[3] + c);
          GradientSum& sum =
              (*truth)[t][n * static_cast<size_t>(spec.shape[3]) +
                          static_cast<size_t>(c)];
          sum.value += values.value[from];
          sum.size += values.size[from];
          sum.error += open ? HUGE_VAL : values.error[from];
          sum.unclaimed |= open && !trial_.OfWeights(row);
        }
      }
    }
  }

  size_t Count(size_t t, size_t n) const override {
    return truth_[n][t].size();
  }
  lockstep::verify::Bounds Element(size_t t, size_t n,
                                   size_t i) const override {
    return GradientBounds(profile_, truth_[n][t][i]);
  }

  const Mamba3ScanBackwardTrial& trial_;
  NumericProfile profile_;
  oracle::GradientErrors errors_;
  std::vector<RowTruth> truth_;
  std::vector<double> dv_;
};

// Faults that change whole terms: the envelope of f32 shows them wherever a
// case has what they break.
constexpr const char* kScanGradientCanaries[] = {
    "sgrad.decay_missing",    "sgrad.runs_joined",
    "sgrad.dcarry_ignored",   "sgrad.last_head_only",
    "sgrad.key_then_missing", "sgrad.last_token_dropped",
    "sgrad.skip_missing",
};
constexpr KernelOfLane kScanGradientKernels = {
    "scan-grad", "scan-grad-bf16-lane", "scan-grad-f16-lane"};

const CanariesOfLanes& ScanGradientCanaries() {
  static const CanariesOfLanes kAll(kScanGradientCanaries,
                                    kScanGradientKernels);
  return kAll;
}

}  // namespace

void Mamba3ScanBackwardTrial::RunBaseline(const OutputSet& outputs) const {
  constexpr KernelOfLane kBaselines = {"scan-grad", "scan-grad-siso",
                                       "scan-grad-siso-f16"};
  const ScanGradEmulator emulator(
      FindScanGradVariant(kBaselines[static_cast<size_t>(data().problem.lane)])
          .value());
  emulator.Run(problem_, inputs(), Views(outputs));
}

const char* Mamba3ScanBackwardTrial::CorrectKernel() const {
  return ScanGradientCanaries().Correct(data().problem.lane);
}

std::span<const char* const> Mamba3ScanBackwardTrial::Canaries() const {
  // A case that is a probe is judged by that one alone, which may be blind to
  // some.
  if (ProbeOf(scan())) return {};
  return ScanGradientCanaries().Of(data().problem.lane);
}

std::unique_ptr<AllowedResults> Mamba3ScanBackwardTrial::Envelope(
    const NumericProfile& profile, std::vector<int64_t> rows,
    int threads) const {
  return std::make_unique<AllowedScanGradients>(*this, profile, std::nullopt,
                                                std::move(rows), threads);
}

// The envelope says nothing of a head of a run with NaN or infinity in it.
std::vector<int64_t> Mamba3ScanBackwardTrial::ReachedLines(
    const NumericProfile&, size_t output, int64_t row) const {
  const int64_t index = row / RowsPerRun();
  const reference::Run& run = runs()[static_cast<size_t>(index)];
  const auto [first, end] = HeadsOf(row);
  for (int64_t head = first; head < end; ++head) {
    const oracle::ScanPlace place = {run.row, run.first, run.end, index, head};
    if (!oracle::AllFinite(problem_.forward, inputs().forward, place) ||
        !oracle::FiniteCotangents(inputs(), problem_.forward, place)) {
      return Lines(output, row);
    }
  }
  return {};
}

std::unique_ptr<AllowedResults> Mamba3ScanBackwardTrial::Probe(
    const NumericProfile& profile, std::vector<int64_t> rows) const {
  const std::optional<ProbeKind> probe = ProbeOf(scan());
  if (!probe || !WhyNotMamba3ScanBackwardProbe(*probe, request()).empty()) {
    return nullptr;
  }
  // Exact bits have a set, too: that of any kernel in f32.
  if (!profile.scan) return Probe(LoadProfile("scan-chunked").value(), rows);
  return std::make_unique<AllowedScanGradients>(*this, profile, probe,
                                                std::move(rows), 0);
}

std::vector<Case> Mamba3ScanBackwardTrial::ProbeCases(const Case& c,
                                                      const NumericProfile&) {
  return ScanProbeCases(c, [&](ProbeKind probe) {
    return WhyNotMamba3ScanBackwardProbe(probe, c).empty();
  });
}

}  // namespace lockstep::verify
