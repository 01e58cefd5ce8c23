// mamba3_backward_export DIR: random backward scans and what the reference
// makes of them, one safetensors file each, for
// tests/witness/mamba3_backward_witness.py. Nothing depends on the machine.
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "reference/contract/mamba3_scan.h"
#include "tests/support/mamba3_backward_problem.h"
#include "tests/support/tensor_file.h"
#include "tests/witness/mamba3_files.h"

namespace lockstep::test {
namespace {

constexpr uint32_t kProblems = 400;

bool Export(uint32_t seed, const std::string& directory) {
  std::mt19937 rng(seed);
  Mamba3BackwardInstance t = RandomMamba3Backward(rng, kRegimes[seed % 4]);
  Mamba3ScanProblem& p = t.forward.problem;
  // Lanes of 16 bits hide most of what a witness could see: a quarter of the
  // problems, and half of the bf16 ones again in f16.
  if (seed % 16 >= 4) {
    p.lane = p.rotated_lane = t.grad_lane = Lane::kF32;
  }
  if (seed % 32 >= 16 && p.lane == Lane::kBf16) {
    MakeF16(t);
  }
  TensorFile file;
  AddInputs(t.forward, file);
  file.AddText("grad", LaneName(t.grad_lane));
  file.Add("dy", Seen(t.dy, p.lane), YShape(p));
  if (t.carry_grad) {
    AddCarry("dcarry_", p, t.forward.CountRuns(), t.dcarry, file);
  }
  const Mamba3Gradients gradients = t.RunReference();
  for (const auto& part : gradients.parts()) {
    // "dq" is "grad_q" there, beside the cotangents' names.
    if (part.wanted) {
      file.Add("grad_" + part.name.substr(1), part.Values(), part.shape);
    }
  }
  return file.Write(directory + "/" + std::to_string(seed) + ".safetensors");
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mamba3_backward_export DIR\n");
    return 2;
  }
  for (uint32_t seed = 0; seed < lockstep::test::kProblems; ++seed) {
    if (!lockstep::test::Export(seed, argv[1])) return 2;
  }
  return 0;
}
