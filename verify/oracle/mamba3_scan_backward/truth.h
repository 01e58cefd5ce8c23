// The truth of a scan's gradients in binary64, by the recurrence of
// docs/ops/mamba3_scan_backward.md, with the running error bound of
// docs/envelopes.md, "Gradients of scans".
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_TRUTH_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_TRUTH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan_backward.h"
#include "verify/oracle/mamba3_scan/truth.h"

namespace lockstep::oracle {

// In the order of the op's outputs.
enum class Gradient : uint8_t {
  kV,
  kQ,
  kK,
  kA,
  kDt,
  kTau,
  kVartheta,
  kZ,
  kBq,
  kBk,
  kD,
  kPsi,
  kZeta,
  kPhi,
  kNormWeight,
  kInitTheta,
  kInitH,
  kInitK,
  kInitV,
};
inline constexpr size_t kGradients = 19;

// How far a legal kernel's intermediate results can be from the truth, beyond
// what is so of the forward pass, which is made again.
struct GradientErrors {
  ScanErrors scan;
  double cotangent = 0;  // of do, relative
  double read = 0;       // of a sum over n or p with a state or its cotangent
  double enter = 0;      // of what enters the cotangent of the state
  double sum = 0;        // of additions to a sum over tokens, each
};

// Numbers with their bounds. `size`: the same sum with every term replaced by
// its magnitude, a turned pair by its modulus.
struct GradientValues {
  std::vector<double> value, size, error;

  void Resize(size_t n) {
    value.assign(n, 0);
    size.assign(n, 0);
    error.assign(n, 0);
  }
};

// One head of one run: [token of the run][...] in the order of the outputs'
// axes; of dq and dk the head's part, [token][rank][n]; of weights the run's.
// An element that depends on NaN or infinity, or may overflow f32, has an
// infinite error.
using HeadGradients = std::array<GradientValues, kGradients>;

//   Requires: Validate(problem, inputs, ...).ok(), place.first <= place.end.
HeadGradients ComputeScanGradients(const Mamba3ScanBackwardProblem& problem,
                                   const Mamba3ScanBackwardInputs& inputs,
                                   const ScanPlace& place,
                                   const GradientErrors& errors);

// Whether every cotangent of y in a run is finite.
bool FiniteCotangents(const Mamba3ScanBackwardInputs& in,
                      const Mamba3ScanProblem& p, const ScanPlace& at);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_TRUTH_H_
