#include "verify/inputs/mamba3_scan_backward.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;

// A probe's cotangent: +-1 in one channel of every token, rank and head.
void FillImpulses(uint64_t seed, const LaneTensor& x) {
  const auto channels = static_cast<uint64_t>(x.view.shape[3]);
  ForElements(x.view.shape, [&](const At& at) {
    uint64_t word = Mix(seed + 77);
    word = Mix(word ^ static_cast<uint64_t>(at[0]));
    word = Mix(word ^ static_cast<uint64_t>(at[1]));
    word = Mix(word ^ static_cast<uint64_t>(at[2]));
    const bool hit = static_cast<uint64_t>(at[3]) == (word >> 8) % channels;
    const double sign = (word >> 40 & 1) != 0 ? -1 : 1;
    SetElement(x.view, at, BitsOf(x.view.lane, hit ? sign : 0.0));
  });
}

class Cotangents {
 public:
  Cotangents(const Case& c, const MaterialiseOptions& options,
             Mamba3ScanData* data)
      : scan_(c.Get<Mamba3ScanBackwardCase>()),
        options_(options),
        generator_(c.gen, c.seed),
        data_(*data) {}

  Status Run() {
    const Mamba3ScanProblem& p = data_.problem;
    const ScanShape y =
        TokenShape(scan_, p.heads, p.output_ranks(), p.head_dim);
    Status status = Make(
        T::kDy, "dy", p.lane, y,
        {p.batch, p.length, p.output_ranks(), p.heads, p.head_dim}, scan_.dy);
    if (status.ok() && ProbeOf(scan_)) {
      FillImpulses(generator_.seed(), data_.at(T::kDy).tensor);
    }
    if (!scan_.dcarry) return status;
    const FillTerm normal = {.kind = FillKind::kNormal, .a = {1.0}};
    const FillTerm zero = {.kind = FillKind::kConst};
    const FillTerm& term = ProbeOf(scan_) ? zero : normal;
    const int64_t runs = CountRuns(scan_);
    const auto make = [&](T tensor, const char* name,
                          std::vector<int64_t> file) {
      if (!status.ok()) return;
      status = Make(tensor, name, Lane::kF32, CarryShape(tensor, p, runs),
                    std::move(file), {&term, 1});
    };
    if (p.angles > 0) {
      make(T::kDTheta, "dcarry_theta", {runs, p.heads, p.angles});
    }
    make(T::kDH, "dcarry_h", {runs, p.heads, p.head_dim, p.state_dim});
    make(T::kDK, "dcarry_k", {runs, p.ranks, p.heads, p.state_dim});
    make(T::kDV, "dcarry_v", {runs, p.heads, p.head_dim});
    return status;
  }

 private:
  Status Make(T tensor, const char* name, Lane lane, const ScanShape& shape,
              std::vector<int64_t> file_shape,
              std::span<const FillTerm> terms) {
    ASSIGN_OR_RETURN(auto allocated,
                     AllocateLaneTensor(lane, shape.shape, shape.strides,
                                        options_.alignment_shift));
    ScanStorage& to = data_.storage[static_cast<size_t>(tensor)];
    to.name = name;
    to.file_shape = std::move(file_shape);
    to.tensor = std::move(allocated);
    FillPlan plan;
    plan.stream = StreamOf(tensor);
    plan.terms = terms;
    FillTensor(generator_, plan, to.tensor.view);
    return {};
  }

  const Mamba3ScanBackwardCase& scan_;
  const MaterialiseOptions& options_;
  CounterGenerator generator_;
  Mamba3ScanData& data_;
};

}  // namespace

Result<Mamba3ScanData> MaterialiseMamba3ScanBackward(
    const Case& c, const MaterialiseOptions& options) {
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(c, options);
  if (!data.ok()) return data;
  RETURN_IF_ERROR(Cotangents(c, options, &data.value()).Run());
  const auto& poison = c.Get<Mamba3ScanCase>().poison;
  if (poison) {
    PoisonScanRun(CounterGenerator(c.gen, c.seed), *poison, &data.value());
  }
  return data;
}

Mamba3ScanBackwardInputs BackwardInputsOf(const Mamba3ScanData& data) {
  const Mamba3ScanProblem& p = data.problem;
  Mamba3ScanBackwardInputs in;
  in.forward = data.inputs;
  in.dy = RankedTokens(data.at(T::kDy), p.output_ranks());
  if (!data.at(T::kDH).there()) return in;
  in.dcarry = CarryViews(data, T::kDTheta);
  return in;
}

KernelInputs NameInputs(const Mamba3ScanBackwardProblem& problem,
                        const Mamba3ScanBackwardInputs& inputs) {
  KernelInputs named = NameInputs(problem.forward, inputs.forward);
  named.op = "mamba3_scan_backward";
  named.scalars.emplace_back("grad", std::string(LaneName(problem.grad_lane)));
  named.scalars.emplace_back("carry_grad", problem.carry_grad);
  named.Add("dy", inputs.dy);
  if (!problem.carry_grad) return named;
  const auto& dcarry = inputs.dcarry;
  if (problem.forward.angles > 0) {
    named.Add("dcarry_theta", ElementType::kF32, dcarry.theta);
  }
  named.Add("dcarry_h", ElementType::kF32, dcarry.h);
  named.Add("dcarry_k", ElementType::kF32, dcarry.k);
  named.Add("dcarry_v", ElementType::kF32, dcarry.v);
  return named;
}

}  // namespace lockstep::verify
