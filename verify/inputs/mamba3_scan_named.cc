#include <cstdint>
#include <string>
#include <vector>

#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {
namespace {

const char* RunsName(Mamba3ScanProblem::Runs runs) {
  switch (runs) {
    case Mamba3ScanProblem::Runs::kSegments:
      return "segments";
    case Mamba3ScanProblem::Runs::kCuSeqlens:
      return "cu_seqlens";
    case Mamba3ScanProblem::Runs::kRows:
      break;
  }
  return "rows";
}

}  // namespace

KernelInputs NameInputs(const Mamba3ScanProblem& problem,
                        const Mamba3ScanInputs& inputs) {
  const Mamba3ScanProblem& p = problem;
  const Mamba3ScanInputs& in = inputs;
  KernelInputs named;
  named.op = "mamba3_scan";
  named.scalars = {
      {"b", p.batch},
      {"t", p.length},
      {"h", p.heads},
      {"g", p.groups},
      {"r", p.ranks},
      {"n", p.state_dim},
      {"p", p.head_dim},
      {"s", p.angles},
      {"lane", std::string(LaneName(p.lane))},
      {"rotated", std::string(LaneName(p.rotated_lane))},
      {"variant", std::string(p.mimo() ? "mimo" : "siso")},
      {"runs", std::string(RunsName(p.runs))},
      {"run_count", CountRuns(p, in)},
      {"output_ranks", p.output_ranks()},
      {"bias", p.bias},
      {"skip", p.skip},
      {"gate", p.gate},
      {"reduce", p.reduce},
      {"carry_in", p.carry_in},
      {"norm_epsilon", p.norm_epsilon ? ScalarValue(*p.norm_epsilon)
                                      : ScalarValue(std::monostate())}};
  named.Add("q", in.q);
  named.Add("k", in.k);
  named.Add("v", in.v);
  named.Add("z", in.z);
  named.Add("dt", ElementType::kF32, in.dt);
  named.Add("a", ElementType::kF32, in.a);
  named.Add("tau", in.tau);
  if (p.angles > 0) named.Add("vartheta", in.vartheta);
  named.Add("bq", ElementType::kF32, in.bq);
  named.Add("bk", ElementType::kF32, in.bk);
  named.Add("d", ElementType::kF32, in.d);
  named.Add("psi", ElementType::kF32, in.psi);
  named.Add("zeta", ElementType::kF32, in.zeta);
  named.Add("phi", ElementType::kF32, in.phi);
  named.Add("norm_weight", ElementType::kF32, in.norm_weight);
  if (p.carry_in) {
    if (p.angles > 0)
      named.Add("init_theta", ElementType::kF32, in.carry.theta);
    named.Add("init_h", ElementType::kF32, in.carry.h);
    named.Add("init_k", ElementType::kF32, in.carry.k);
    named.Add("init_v", ElementType::kF32, in.carry.v);
  }
  named.Add("segments", ElementType::kI32, in.segments);
  if (!in.cu_seqlens.empty()) {
    // Positions of a row, whose length case lines keep below 2^26.
    named.AddIntegers("cu_seqlens",
                      {static_cast<int64_t>(in.cu_seqlens.size())},
                      {in.cu_seqlens.begin(), in.cu_seqlens.end()});
  }
  return named;
}

std::vector<NamedOutput> NameOutputs(const Mamba3ScanOutputs& outputs) {
  std::vector<NamedOutput> named;
  named.push_back(NameOutput("y", outputs.y));
  if (!outputs.carry.given()) return named;
  if (outputs.carry.theta.shape[2] > 0) {
    named.push_back(NameOutput("carry_theta", outputs.carry.theta));
  }
  named.push_back(NameOutput("carry_h", outputs.carry.h));
  named.push_back(NameOutput("carry_k", outputs.carry.k));
  named.push_back(NameOutput("carry_v", outputs.carry.v));
  return named;
}

}  // namespace lockstep::verify
