// Mamba-3 problems that own their tensors, for tests of the scan.
#ifndef LOCKSTEP_TESTS_SUPPORT_MAMBA3_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_MAMBA3_PROBLEM_H_

#include <cstdint>
#include <random>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "tests/support/lane_elements.h"

namespace lockstep::test {

// Step sizes, decays and mixing weights that make other terms count: each hides
// defects that another shows.
enum class Regime {
  kTypical,  // dt log-uniform in 1e-3..0.5, a = -dt U(0.5, 2.5), tau N(0, 1)
  kShortMemory,  // a in -1.5..-0.3, lambda about 0.08..0.38
  kLongMemory,   // a in -0.01..0
  kStrongDecay,  // a in -8..-3
};
inline constexpr Regime kRegimes[] = {Regime::kTypical, Regime::kShortMemory,
                                      Regime::kLongMemory,
                                      Regime::kStrongDecay};

// Dense storage of a carry.
struct Mamba3CarryData {
  std::vector<float> theta, h, k, v;

  void Resize(const Mamba3ScanProblem& problem, int64_t runs, float fill);
  Mamba3Carry<float> View(const Mamba3ScanProblem& problem, int64_t runs);
  friend bool operator==(const Mamba3CarryData&,
                         const Mamba3CarryData&) = default;
};

// What a scan returned; y is widened to f32. Equality is that of bits for all
// numbers but NaN: compare Bits().
struct Mamba3Result {
  std::vector<float> y;  // [b, t, output_ranks, h, p]
  Mamba3CarryData carry;

  std::vector<uint32_t> Bits() const;  // y, theta, h, k, v
};

// A problem and its tensors. Change `problem` and the runs first, then call
// Fill; change single elements after.
struct Mamba3Instance {
  Mamba3ScanProblem problem;
  // Values before rounding to the lane, each of the shape in the contract.
  std::vector<float> q, k, v, tau, vartheta, z;
  std::vector<float> a, dt, bq, bk, d, psi, zeta, phi, norm_weight;
  Mamba3CarryData carry;
  std::vector<int32_t> segments;
  std::vector<int64_t> cu_seqlens;

  void Fill(std::mt19937& rng, Regime regime);
  int64_t CountRuns() const;
  // Views into this object (tensors of 16 bits are made here; see Halves).
  Mamba3ScanInputs Inputs();

  // By Mamba3Scan; expects Validate() to agree.
  Mamba3Result RunReference();

  // Tokens first .. end - 1 of every row as a problem of its own: one run a
  // row, from `start` if that is given, from zeros otherwise.
  Mamba3Instance Tokens(int64_t first, int64_t end,
                        const Mamba3CarryData* start = nullptr) const;
  // One row as a problem of its own; its runs and carries are not taken along.
  Mamba3Instance Row(int64_t row) const;
  // Heads in another order, which must keep each head's group.
  Mamba3Instance PermuteHeads(const std::vector<int64_t>& order) const;

 private:
  std::vector<uint16_t> halves_[6];
};

// Poisoned outputs of a problem.
struct Mamba3Outputs {
  Mamba3Outputs(const Mamba3ScanProblem& problem, int64_t runs);
  Mamba3ScanOutputs View();
  Mamba3Result Result() const;

  Mamba3ScanProblem problem;
  int64_t runs;
  std::vector<uint32_t> y;  // storage for any lane
  Mamba3CarryData carry;
};

using Shape = std::vector<int64_t>;

// x along one axis at the given places, dense; axes behind it may be left out
// of the shape.
std::vector<float> Take(const std::vector<float>& x, const Shape& shape,
                        size_t axis, const std::vector<int64_t>& places);
// Its tensors in f16, and q and k rotated in f16 where they were in bf16.
void MakeF16(Mamba3Instance& instance);
// first .. end - 1
std::vector<int64_t> Range(int64_t first, int64_t end);
Shape YShape(const Mamba3ScanProblem& problem);
// One run of a carry of several.
Mamba3CarryData TakeRun(const Mamba3CarryData& carry,
                        const Mamba3ScanProblem& problem, int64_t runs,
                        int64_t run);

// Small, every feature of the contract by chance.
Mamba3Instance RandomMamba3(std::mt19937& rng, Regime regime);

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_MAMBA3_PROBLEM_H_
