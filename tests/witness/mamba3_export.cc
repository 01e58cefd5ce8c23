// mamba3_export DIR: random scans and what the reference makes of them, one
// safetensors file each, for tests/witness/mamba3_witness.py. Two files of
// every regime are longer than the others; nothing depends on the machine.
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "reference/contract/mamba3_scan.h"
#include "tests/support/mamba3_problem.h"
#include "tests/support/tensor_file.h"
#include "tests/witness/mamba3_files.h"

namespace lockstep::test {
namespace {

constexpr int kSmall = 40;  // problems of each regime
constexpr int kLong = 2;
constexpr int kHalves = 10;  // and of each regime in f16
constexpr const char* kRegimeNames[] = {"typical", "short", "long", "decay"};

bool Export(Mamba3Instance& t, const std::string& path) {
  const Mamba3Result result = t.RunReference();
  TensorFile file;
  AddInputs(t, file);
  const int64_t runs = t.CountRuns();
  file.Add("y", result.y, YShape(t.problem));
  AddCarry("y_carry_", t.problem, runs, result.carry, file);
  return file.Write(path);
}

std::string PathOf(const std::string& directory, Regime regime,
                   const std::string& name) {
  return directory + "/" + kRegimeNames[static_cast<int>(regime)] + "_" + name +
         ".safetensors";
}

bool ExportHalves(const std::string& directory) {
  std::mt19937 rng(4);
  for (const Regime regime : kRegimes) {
    for (int i = 0; i < kHalves; ++i) {
      Mamba3Instance t = RandomMamba3(rng, regime);
      MakeF16(t);
      const std::string name = "f16_" + std::to_string(i);
      if (!Export(t, PathOf(directory, regime, name))) return false;
    }
  }
  return true;
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
      if (!Export(t, PathOf(directory, regime, std::to_string(i)))) {
        return false;
      }
    }
  }
  return ExportHalves(directory);
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
