#include "verify/inputs/mamba3_scan.h"

#include <array>
#include <span>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/fill.h"
#include "verify/inputs/mamba3_scan/probe.h"

namespace lockstep::verify {
namespace {

FillTerm Uniform(double low, double high) {
  return {.kind = FillKind::kUniform, .a = {low}, .b = {high}};
}
FillTerm Normal(double sigma) {
  return {.kind = FillKind::kNormal, .a = {sigma}};
}

// What a regime draws; a typical dt and a have no single term.
struct RegimeTerms {
  FillTerm dt, a, tau;
};
RegimeTerms TermsOf(ScanRegime regime) {
  switch (regime) {
    case ScanRegime::kTypical:
      return {{}, {}, Normal(1)};
    case ScanRegime::kShort:
      return {Uniform(0.5, 1.5), Uniform(-1.5, -0.3), Uniform(-2.5, -0.5)};
    case ScanRegime::kLong:
    case ScanRegime::kResets:
      return {Uniform(0.2, 0.5), Uniform(-0.01, 0), Uniform(-2, 2)};
    case ScanRegime::kStrong:
      break;
  }
  return {Uniform(0.05, 0.15), Uniform(-8, -3), Uniform(-2, 2)};
}

// Typical step sizes are log-uniform in [1e-3, 0.5).
constexpr double kLeastStep = 1e-3;
constexpr uint32_t kMeanStretch = 96;
constexpr double kLog2StepRange = 8.965784284662087;  // log2(500)

class ScanMaterialiser {
 public:
  ScanMaterialiser(const Case& c, const MaterialiseOptions& options)
      : scan_(c.Get<Mamba3ScanCase>()),
        options_(options),
        generator_(c.gen, c.seed) {}

  Result<Mamba3ScanData> Run() {
    data_.problem = ToProblem(scan_);
    Status status = MakeScanRuns(scan_, options_.alignment_shift, &data_);
    if (status.ok()) status = MakeActivations();
    if (status.ok()) status = MakeTimes();
    if (status.ok()) status = MakeWeights();
    if (status.ok()) status = MakeCarry();
    if (!status.ok()) return status;
    ViewScan(&data_);
    if (scan_.poison) PoisonScanRun(generator_, *scan_.poison, &data_);
    if (const auto probe = ProbeOf(scan_)) {
      FillScanProbe(*probe, generator_.seed(), AlwaysSure(scan_), &data_);
    }
    status = Check();
    if (!status.ok()) return status;
    return std::move(data_);
  }

 private:
  // Allocates, and fills with the terms that name the tensor.
  Status Make(ScanTensor tensor, const char* name, Lane lane,
              const ScanShape& shape, std::vector<int64_t> file_shape,
              std::span<const FillTerm> terms, uint8_t bit = kFillAll) {
    if (ProbeOf(scan_)) terms = {};  // filled at the end
    ASSIGN_OR_RETURN(auto allocated,
                     AllocateLaneTensor(lane, shape.shape, shape.strides,
                                        options_.alignment_shift));
    ScanStorage& to = data_.storage[static_cast<size_t>(tensor)];
    to.name = name;
    to.file_shape = std::move(file_shape);
    to.tensor = std::move(allocated);
    FillPlan plan;
    plan.stream = StreamOf(tensor);
    plan.tensor = bit;
    plan.terms = terms;
    FillTensor(generator_, plan, to.tensor.view);
    return {};
  }
  Status Make(ScanTensor tensor, const char* name, Lane lane,
              const ScanShape& shape, std::vector<int64_t> file_shape,
              const FillTerm& term) {
    return Make(tensor, name, lane, shape, std::move(file_shape), {&term, 1});
  }

  Status MakeActivations() {
    const Mamba3ScanProblem& p = data_.problem;
    const auto& fill = scan_.fill;
    const ScanShape q = TokenShape(scan_, p.groups, p.ranks, p.state_dim);
    const ScanShape v = TokenShape(scan_, p.heads, 1, p.head_dim);
    const std::vector<int64_t> q_file = {p.batch, p.length, p.ranks, p.groups,
                                         p.state_dim};
    const std::vector<int64_t> v_file = {p.batch, p.length, p.heads,
                                         p.head_dim};
    Status status = Make(ScanTensor::kQ, "q", p.lane, q, q_file, fill, kFillQ);
    if (status.ok()) {
      status = Make(ScanTensor::kK, "k", p.lane, q, q_file, fill, kFillK);
    }
    if (status.ok()) {
      status = Make(ScanTensor::kV, "v", p.lane, v, v_file, fill, kFillV);
    }
    if (status.ok() && p.gate) {
      status = Make(ScanTensor::kZ, "z", p.lane, v, v_file, fill, kFillV);
    }
    return status;
  }

  Status MakeTimes() {
    const Mamba3ScanProblem& p = data_.problem;
    const ScanShape time = TimeShape(scan_);
    const std::vector<int64_t> file = {p.batch, p.heads, p.length};
    const RegimeTerms regime = TermsOf(scan_.regime);
    Status status = Make(ScanTensor::kDt, "dt", Lane::kF32, time, file,
                         scan_.dt.value_or(regime.dt));
    if (status.ok()) {
      status = Make(ScanTensor::kA, "a", Lane::kF32, time, file,
                    scan_.a.value_or(regime.a));
    }
    if (status.ok() && !scan_.ssd) {
      status = Make(ScanTensor::kTau, "tau", p.lane, time, file,
                    scan_.tau.value_or(regime.tau));
    }
    if (!status.ok()) return status;
    if (scan_.regime == ScanRegime::kTypical) DrawTypical();
    if (scan_.regime == ScanRegime::kResets && !scan_.a) DrawResets();
    if (p.angles == 0) return {};
    return Make(ScanTensor::kRate, "vartheta", p.lane,
                TokenShape(scan_, p.heads, 1, p.angles),
                {p.batch, p.length, p.heads, p.angles},
                scan_.rate.value_or(Normal(1)));
  }

  // Of a tensor of one channel.
  WordStream Words(ScanTensor tensor, const MutableLaneView& view) const {
    return {generator_, StreamOf(tensor),
            view.shape[0] * view.shape[1] * view.shape[2]};
  }

  // dt log-uniform, a = -dt times uniform in [0.5, 2.5).
  void DrawTypical() {
    const MutableLaneView& dt = View(ScanTensor::kDt);
    const MutableLaneView& a = View(ScanTensor::kA);
    WordStream of_dt = Words(ScanTensor::kDt, dt);
    WordStream of_a = Words(ScanTensor::kA, a);
    int64_t element = 0;
    for (int64_t b = 0; b < dt.shape[0]; ++b) {
      for (int64_t h = 0; h < dt.shape[1]; ++h) {
        for (int64_t t = 0; t < dt.shape[2]; ++t, ++element) {
          const auto uniform = [&](WordStream* words) {
            return static_cast<double>(words->At(element)[0] >> 8) * 0x1p-24;
          };
          float& step = dt.As<float>()(b, h, t, 0);
          if (!scan_.dt) {
            step = static_cast<float>(
                kLeastStep * Exp2Double(kLog2StepRange * uniform(&of_dt)));
          }
          if (scan_.a) continue;
          a.As<float>()(b, h, t, 0) =
              static_cast<float>(-double{step} * (0.5 + 2 * uniform(&of_a)));
        }
      }
    }
  }

  // Of a long regime one token in kMeanStretch forgets: a in (-32, -16].
  void DrawResets() {
    const MutableLaneView& a = View(ScanTensor::kA);
    WordStream words = Words(ScanTensor::kA, a);
    int64_t element = 0;
    for (int64_t b = 0; b < a.shape[0]; ++b) {
      for (int64_t h = 0; h < a.shape[1]; ++h) {
        for (int64_t t = 0; t < a.shape[2]; ++t, ++element) {
          const uint32_t drawn = words.At(element)[3];
          if (drawn % kMeanStretch != 0) continue;
          a.As<float>()(b, h, t, 0) =
              -16 - static_cast<float>(drawn >> 8) * 0x1p-20f;
        }
      }
    }
  }

  // [head, rank, channel] as [1, head, rank, channel].
  Status MakeWeight(ScanTensor tensor, const char* name, int64_t ranks,
                    int64_t channels, std::vector<int64_t> file,
                    const FillTerm& term) {
    const std::array<int64_t, 4> shape = {1, data_.problem.heads, ranks,
                                          channels};
    return Make(tensor, name, Lane::kF32, {shape, DenseStrides(shape)},
                std::move(file), term);
  }

  Status MakeWeights() {
    const Mamba3ScanProblem& p = data_.problem;
    const auto [h, r, n, c] =
        std::array{p.heads, p.ranks, p.state_dim, p.head_dim};
    const FillTerm near_one = Uniform(0.25, 1.75);
    Status status;
    const auto make = [&](bool wanted, auto&&... arguments) {
      if (wanted && status.ok()) status = MakeWeight(arguments...);
    };
    make(p.bias, ScanTensor::kBq, "bq", r, n, std::vector{h, r, n}, Normal(1));
    make(p.bias, ScanTensor::kBk, "bk", r, n, std::vector{h, r, n}, Normal(1));
    make(p.skip, ScanTensor::kD, "d", 1, 1, std::vector{h}, near_one);
    make(p.mimo(), ScanTensor::kPsi, "psi", r, c, std::vector{h, r, c},
         near_one);
    make(p.mimo() && p.gate, ScanTensor::kZeta, "zeta", r, c,
         std::vector{h, r, c}, near_one);
    make(p.reduce, ScanTensor::kPhi, "phi", r, c, std::vector{h, r, c},
         near_one);
    make(p.norm_epsilon.has_value(), ScanTensor::kNormWeight, "norm_weight", 1,
         c, std::vector{h, c}, near_one);
    return status;
  }

  Status MakeCarry() {
    const Mamba3ScanProblem& p = data_.problem;
    if (!p.carry_in) return {};
    const int64_t runs = CountRuns(scan_);
    Status status;
    const auto make = [&](ScanTensor tensor, const char* name,
                          std::vector<int64_t> file, const FillTerm& term) {
      if (!status.ok()) return;
      const auto shape = CarryShape(tensor, p, runs);
      status = Make(tensor, name, Lane::kF32, shape, std::move(file), term);
    };
    const auto [h, r, n, c] =
        std::array{p.heads, p.ranks, p.state_dim, p.head_dim};
    if (p.angles > 0) {
      make(ScanTensor::kCarryTheta, "init_theta", {runs, h, p.angles},
           Uniform(0, 1));
    }
    make(ScanTensor::kCarryH, "init_h", {runs, h, c, n}, Normal(1));
    if (scan_.ssd) return status;
    make(ScanTensor::kCarryK, "init_k", {runs, r, h, n}, Normal(1));
    make(ScanTensor::kCarryV, "init_v", {runs, h, c}, Normal(1));
    return status;
  }

  const MutableLaneView& View(ScanTensor tensor) const {
    return data_.at(tensor).tensor.view;
  }

  // The contract's own checks; y leads nowhere, it is never read.
  Status Check() {
    static char nothing = 0;
    const Mamba3ScanProblem& p = data_.problem;
    Mamba3ScanOutputs out;
    out.y.data = &nothing;
    out.y.lane = p.lane;
    out.y.shape = {p.batch, p.length, p.output_ranks(), p.heads, p.head_dim};
    out.y.strides = DenseStrides(out.y.shape);
    return Validate(p, data_.inputs, out);
  }

  const Mamba3ScanCase& scan_;
  const MaterialiseOptions& options_;
  CounterGenerator generator_;
  Mamba3ScanData data_;
};

}  // namespace

Result<Mamba3ScanData> MaterialiseMamba3Scan(
    const Case& c, const MaterialiseOptions& options) {
  RETURN_IF_ERROR(CheckRequest(c, options));
  return ScanMaterialiser(c, options).Run();
}

}  // namespace lockstep::verify
