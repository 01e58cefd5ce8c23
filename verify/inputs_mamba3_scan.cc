#include "verify/inputs_mamba3_scan.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "reference/runs.h"
#include "verify/case_mamba3_scan.h"
#include "verify/emulator/numbers.h"
#include "verify/inputs_fill.h"
#include "verify/scan_probes.h"

namespace lockstep::verify {
namespace {

// Streams 0, 1, 2 as in inputs_fill.h; 3 is attention's sink.
uint32_t StreamOf(ScanTensor tensor) {
  const auto n = static_cast<uint32_t>(tensor);
  return n < 3 ? n : n + 1;
}

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
      return {Uniform(0.2, 0.5), Uniform(-0.01, 0), Uniform(-2, 2)};
    case ScanRegime::kStrong:
      break;
  }
  return {Uniform(0.05, 0.15), Uniform(-8, -3), Uniform(-2, 2)};
}

// Typical step sizes are log-uniform in [1e-3, 0.5).
constexpr double kLeastStep = 1e-3;
constexpr double kLog2StepRange = 8.965784284662087;  // log2(500)

template <size_t kRank>
std::array<int64_t, kRank> Pick(const std::array<int64_t, 4>& from,
                                const std::array<int, kRank>& axes) {
  std::array<int64_t, kRank> picked{};
  for (size_t i = 0; i < kRank; ++i) {
    picked[i] = from[static_cast<size_t>(axes[i])];
  }
  return picked;
}

class Materialiser {
 public:
  Materialiser(const Case& c, const MaterialiseOptions& options)
      : scan_(c.scan()), options_(options), generator_(c.gen, c.seed) {}

  Result<Mamba3ScanData> Run() {
    data_.problem = ToProblem(scan_);
    Status status = MakeRuns();
    if (status.ok()) status = MakeActivations();
    if (status.ok()) status = MakeTimes();
    if (status.ok()) status = MakeWeights();
    if (status.ok()) status = MakeCarry();
    if (!status.ok()) return status;
    View();
    PoisonRun();
    if (const auto probe = ProbeOf(scan_)) {
      FillScanProbe(*probe, generator_.seed(), &data_);
    }
    status = Check();
    if (!status.ok()) return status;
    return std::move(data_);
  }

 private:
  Status MakeRuns() {
    data_.inputs.cu_seqlens = scan_.cu;
    if (data_.problem.runs != Mamba3ScanProblem::Runs::kSegments) return {};
    const int64_t rows = data_.problem.batch;
    const int64_t length = data_.problem.length;
    const int64_t shift = (options_.alignment_shift % 16 + 16) % 16 * 4;
    auto buffer = GuardedBuffer::Allocate(rows * length * 4, shift);
    if (!buffer.ok()) return buffer.status();
    data_.segments = std::move(buffer.value());
    auto* ids = reinterpret_cast<int32_t*>(data_.segments.data());
    data_.inputs.segments = {ids, {rows, length}, {length, 1}};
    for (int64_t b = 0; b < rows; ++b) {
      const auto& runs =
          scan_.seg
              .rows[scan_.seg.rows.size() == 1 ? 0 : static_cast<size_t>(b)];
      for (const SegmentRun& run : runs) {
        ids = std::fill_n(ids, run.length, run.id);
      }
    }
    return {};
  }

  // Allocates, and fills with the terms that name the tensor.
  Status Make(ScanTensor tensor, const char* name, Lane lane,
              const ScanShape& shape, std::vector<int64_t> file_shape,
              std::span<const FillTerm> terms, uint8_t bit = kFillAll) {
    if (ProbeOf(scan_)) terms = {};  // filled at the end
    auto allocated = AllocateLaneTensor(lane, shape.shape, shape.strides,
                                        options_.alignment_shift);
    if (!allocated.ok()) return allocated.status();
    ScanStorage& to = data_.storage[static_cast<size_t>(tensor)];
    to.name = name;
    to.file_shape = std::move(file_shape);
    to.tensor = std::move(allocated.value());
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
    if (status.ok()) {
      status = Make(ScanTensor::kTau, "tau", p.lane, time, file,
                    scan_.tau.value_or(regime.tau));
    }
    if (!status.ok()) return status;
    if (scan_.regime == ScanRegime::kTypical) DrawTypical();
    if (p.angles == 0) return {};
    return Make(ScanTensor::kRate, "vartheta", p.lane,
                TokenShape(scan_, p.heads, 1, p.angles),
                {p.batch, p.length, p.heads, p.angles},
                scan_.rate.value_or(Normal(1)));
  }

  // dt log-uniform, a = -dt times uniform in [0.5, 2.5).
  void DrawTypical() {
    const MutableLaneView& dt = View(ScanTensor::kDt);
    const MutableLaneView& a = View(ScanTensor::kA);
    int64_t element = 0;
    for (int64_t b = 0; b < dt.shape[0]; ++b) {
      for (int64_t h = 0; h < dt.shape[1]; ++h) {
        for (int64_t t = 0; t < dt.shape[2]; ++t, ++element) {
          const auto uniform = [&](ScanTensor tensor) {
            return static_cast<double>(
                       generator_.Draw(StreamOf(tensor), element)[0] >> 8) *
                   0x1p-24;
          };
          float& step = dt.As<float>()(b, h, t, 0);
          if (!scan_.dt) {
            step = static_cast<float>(
                kLeastStep *
                Exp2Double(kLog2StepRange * uniform(ScanTensor::kDt)));
          }
          if (scan_.a) continue;
          a.As<float>()(b, h, t, 0) = static_cast<float>(
              -double{step} * (0.5 + 2 * uniform(ScanTensor::kA)));
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
                          const std::array<int64_t, 4>& shape,
                          std::vector<int64_t> file, const FillTerm& term) {
      if (!status.ok()) return;
      status = Make(tensor, name, Lane::kF32, {shape, DenseStrides(shape)},
                    std::move(file), term);
    };
    const auto [h, r, n, c] =
        std::array{p.heads, p.ranks, p.state_dim, p.head_dim};
    if (p.angles > 0) {
      make(ScanTensor::kCarryTheta, "init_theta", {runs, h, 1, p.angles},
           {runs, h, p.angles}, Uniform(0, 1));
    }
    make(ScanTensor::kCarryH, "init_h", {runs, h, c, n}, {runs, h, c, n},
         Normal(1));
    make(ScanTensor::kCarryK, "init_k", {runs, r, h, n}, {runs, r, h, n},
         Normal(1));
    make(ScanTensor::kCarryV, "init_v", {runs, h, 1, c}, {runs, h, c},
         Normal(1));
    return status;
  }

  const MutableLaneView& View(ScanTensor tensor) const {
    return data_.at(tensor).tensor.view;
  }

  // As the contract's view, whose axes are those of the storage in this order.
  template <size_t kRank>
  TensorView<const float, kRank> Floats(ScanTensor tensor,
                                        const std::array<int, kRank>& axes) {
    const MutableLaneView& from = View(tensor);
    return {static_cast<const float*>(from.data), Pick(from.shape, axes),
            Pick(from.strides, axes)};
  }
  // [b, t, h, c] from [b, h, t, c].
  LaneView Tokens(ScanTensor tensor) {
    const MutableLaneView& from = View(tensor);
    return {from.data, from.lane, Pick<4>(from.shape, {0, 2, 1, 3}),
            Pick<4>(from.strides, {0, 2, 1, 3})};
  }
  // [b, t, r, g, n] from [b, g, t * r, n].
  BasicLaneView<const void, 5> RankedTokens(ScanTensor tensor) {
    const MutableLaneView& from = View(tensor);
    const auto& n = from.shape;
    const auto& s = from.strides;
    const int64_t ranks = data_.problem.ranks;
    return {from.data,
            from.lane,
            {n[0], n[2] / ranks, ranks, n[1], n[3]},
            {s[0], s[2] * ranks, s[2], s[1], s[3]}};
  }

  void View() {
    Mamba3ScanInputs& in = data_.inputs;
    using T = ScanTensor;
    in.q = RankedTokens(T::kQ);
    in.k = RankedTokens(T::kK);
    in.v = Tokens(T::kV);
    in.a = Floats<3>(T::kA, {0, 1, 2});
    in.dt = Floats<3>(T::kDt, {0, 1, 2});
    const MutableLaneView& tau = View(T::kTau);
    in.tau = {tau.data, tau.lane, Pick<3>(tau.shape, {0, 1, 2}),
              Pick<3>(tau.strides, {0, 1, 2})};
    if (data_.at(T::kRate).there()) in.vartheta = Tokens(T::kRate);
    if (data_.at(T::kZ).there()) in.z = Tokens(T::kZ);
    in.bq = Floats<3>(T::kBq, {1, 2, 3});
    in.bk = Floats<3>(T::kBk, {1, 2, 3});
    in.d = Floats<1>(T::kD, {1});
    in.psi = Floats<3>(T::kPsi, {1, 2, 3});
    in.zeta = Floats<3>(T::kZeta, {1, 2, 3});
    in.phi = Floats<3>(T::kPhi, {1, 2, 3});
    in.norm_weight = Floats<2>(T::kNormWeight, {1, 3});
    in.carry = {Floats<3>(T::kCarryTheta, {0, 1, 3}),
                Floats<4>(T::kCarryH, {0, 1, 2, 3}),
                Floats<4>(T::kCarryK, {0, 1, 2, 3}),
                Floats<3>(T::kCarryV, {0, 1, 3})};
    // A theta without angles is no tensor, but has its shape.
    const Mamba3ScanProblem& p = data_.problem;
    if (p.carry_in && p.angles == 0) {
      in.carry.theta.shape = {CountRuns(scan_), p.heads, 0};
    }
  }

  // NaN and infinities in q, k, v and z of one run.
  void PoisonRun() {
    if (!scan_.poison) return;
    const Mamba3ScanProblem& p = data_.problem;
    const auto runs = reference::ListRuns(p, data_.inputs);
    const reference::Run& run = runs[static_cast<size_t>(*scan_.poison)];
    for (const ScanTensor tensor :
         {ScanTensor::kQ, ScanTensor::kK, ScanTensor::kV, ScanTensor::kZ}) {
      if (!data_.at(tensor).there()) continue;
      const MutableLaneView& view = View(tensor);
      const int64_t ranks = view.shape[2] / p.length;
      for (int64_t h = 0; h < view.shape[1]; ++h) {
        for (int64_t t = run.first * ranks; t < run.end * ranks; ++t) {
          PoisonRow(generator_, StreamOf(tensor), view, {run.row, h, t});
        }
      }
    }
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
  const Status status = ValidateCase(c);
  if (!status.ok()) return status;
  const int64_t bytes = EstimateBytes(c);
  if (bytes > options.max_bytes) {
    return Status::Error("the case needs " + std::to_string(bytes) +
                         " bytes; the budget is " +
                         std::to_string(options.max_bytes));
  }
  return Materialiser(c, options).Run();
}

}  // namespace lockstep::verify
