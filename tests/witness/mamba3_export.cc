// mamba3_export DIR: random scans and what the reference makes of them, one
// safetensors file each, for tests/witness/mamba3_witness.py. Two files of
// every regime are longer than the others; nothing depends on the machine.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "tests/support/mamba3_problem.h"
#include "tests/support/tensor_file.h"

namespace lockstep::test {
namespace {

constexpr int kSmall = 40;  // problems of each regime
constexpr int kLong = 2;
constexpr const char* kRegimeNames[] = {"typical", "short", "long", "decay"};

void AddCarry(const std::string& prefix, const Mamba3ScanProblem& p,
              int64_t runs, const Mamba3CarryData& carry, TensorFile& file) {
  file.Add(prefix + "theta", carry.theta, {runs, p.heads, p.angles});
  file.Add(prefix + "h", carry.h, {runs, p.heads, p.head_dim, p.state_dim});
  file.Add(prefix + "k", carry.k, {runs, p.ranks, p.heads, p.state_dim});
  file.Add(prefix + "v", carry.v, {runs, p.heads, p.head_dim});
}

void AddInputs(const Mamba3Instance& t, TensorFile& file) {
  const Mamba3ScanProblem& p = t.problem;
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
}

bool Export(Mamba3Instance& t, const std::string& path) {
  const Mamba3Result result = t.RunReference();
  TensorFile file;
  file.AddText("variant", t.problem.mimo() ? "mimo" : "siso");
  file.AddText("lane", LaneName(t.problem.lane));
  file.AddText("rotated_lane", LaneName(t.problem.rotated_lane));
  AddInputs(t, file);
  const int64_t runs = t.CountRuns();
  if (t.problem.carry_in) {
    AddCarry("carry_", t.problem, runs, t.carry, file);
  }
  file.Add("y", result.y, YShape(t.problem));
  AddCarry("y_carry_", t.problem, runs, result.carry, file);
  return file.Write(path);
}

bool ExportAll(const std::string& directory) {
  std::mt19937 rng(3);
  for (const Regime regime : kRegimes) {
    for (int i = 0; i < kSmall + kLong; ++i) {
      Mamba3Instance t = RandomMamba3(rng, regime);
      if (i >= kSmall) {
        t.problem.batch = 1;
        t.problem.length = 300;
        t.problem.state_dim = 24;
        t.problem.angles = i % 2 == 0 ? 6 : 12;
        t.problem.head_dim = 19;
        t.problem.runs = Mamba3ScanProblem::Runs::kRows;
        t.Fill(rng, regime);
      }
      const std::string path = directory + "/" +
                               kRegimeNames[static_cast<int>(regime)] + "_" +
                               std::to_string(i) + ".safetensors";
      if (!Export(t, path)) return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mamba3_export DIR\n");
    return 2;
  }
  return lockstep::test::ExportAll(argv[1]) ? 0 : 2;
}
