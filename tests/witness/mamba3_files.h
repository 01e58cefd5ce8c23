// A scan's tensors in a file, for the witnesses in Python.
#ifndef LOCKSTEP_TESTS_WITNESS_MAMBA3_FILES_H_
#define LOCKSTEP_TESTS_WITNESS_MAMBA3_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "tests/support/mamba3_problem.h"
#include "tests/support/tensor_file.h"

namespace lockstep::test {

inline void AddCarry(const std::string& prefix, const Mamba3ScanProblem& p,
                     int64_t runs, const Mamba3CarryData& carry,
                     TensorFile& file) {
  file.Add(prefix + "theta", carry.theta, {runs, p.heads, p.angles});
  file.Add(prefix + "h", carry.h, {runs, p.heads, p.head_dim, p.state_dim});
  file.Add(prefix + "k", carry.k, {runs, p.ranks, p.heads, p.state_dim});
  file.Add(prefix + "v", carry.v, {runs, p.heads, p.head_dim});
}

// What the op is called with, and the words that say which.
inline void AddInputs(const Mamba3Instance& t, TensorFile& file) {
  const Mamba3ScanProblem& p = t.problem;
  file.AddText("variant", p.mimo() ? "mimo" : "siso");
  file.AddText("lane", LaneName(p.lane));
  file.AddText("rotated_lane", LaneName(p.rotated_lane));
  const Shape time = {p.batch, p.heads, p.length};
  const Shape groups = {p.batch, p.length, p.ranks, p.groups, p.state_dim};
  const Shape channels = {p.batch, p.length, p.heads, p.head_dim};
  const Shape ranks = {p.heads, p.ranks, p.head_dim};
  file.Add("q", Seen(t.q, p.lane), groups);
  file.Add("k", Seen(t.k, p.lane), groups);
  file.Add("v", Seen(t.v, p.lane), channels);
  file.Add("a", t.a, time);
  file.Add("dt", t.dt, time);
  file.Add("tau", Seen(t.tau, p.lane), time);
  file.Add("vartheta", Seen(t.vartheta, p.lane),
           {p.batch, p.length, p.heads, p.angles});
  if (p.bias) file.Add("bq", t.bq, {p.heads, p.ranks, p.state_dim});
  if (p.bias) file.Add("bk", t.bk, {p.heads, p.ranks, p.state_dim});
  if (p.skip) file.Add("d", t.d, {p.heads});
  if (p.gate) file.Add("z", Seen(t.z, p.lane), channels);
  if (p.mimo()) file.Add("psi", t.psi, ranks);
  if (p.mimo() && p.gate) file.Add("zeta", t.zeta, ranks);
  if (p.reduce) file.Add("phi", t.phi, ranks);
  if (p.norm_epsilon) {
    file.Add("norm_weight", t.norm_weight, {p.heads, p.head_dim});
    file.AddText("norm_epsilon", std::to_string(*p.norm_epsilon));
  }
  if (p.runs == Mamba3ScanProblem::Runs::kSegments) {
    file.Add("segments", t.segments, {p.batch, p.length});
  }
  if (p.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    std::vector<int32_t> cu(t.cu_seqlens.begin(), t.cu_seqlens.end());
    file.Add("cu_seqlens", cu, {static_cast<int64_t>(cu.size())});
  }
  if (p.carry_in) AddCarry("carry_", p, t.CountRuns(), t.carry, file);
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_WITNESS_MAMBA3_FILES_H_
