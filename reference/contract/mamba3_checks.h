// What Validate() of every op on scans checks, and the shapes of its tensors.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_CHECKS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_CHECKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/checks.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::checks {

template <size_t kRank>
using Shape = std::array<int64_t, kRank>;

// Validate(problem), and that the inputs agree with it: presence, shapes,
// lanes, strides >= 0, runs, signs. The carry is there if the problem has one.
Status CheckScanInputs(const Mamba3ScanProblem& problem,
                       const Mamba3ScanInputs& inputs);

// Shapes of the large tensors.
inline Shape<5> QShape(const Mamba3ScanProblem& p) {
  return {p.batch, p.length, p.ranks, p.groups, p.state_dim};
}
inline Shape<4> VShape(const Mamba3ScanProblem& p) {
  return {p.batch, p.length, p.heads, p.head_dim};
}
inline Shape<4> AngleShape(const Mamba3ScanProblem& p) {
  return {p.batch, p.length, p.heads, p.angles};
}
inline Shape<3> TimeShape(const Mamba3ScanProblem& p) {
  return {p.batch, p.heads, p.length};
}
inline Shape<5> YShape(const Mamba3ScanProblem& p) {
  return {p.batch, p.length, p.output_ranks(), p.heads, p.head_dim};
}

// A tensor that the problem asks for, or must not be there.
template <typename View, size_t kRank>
Status CheckOptional(const char* name, const View& view, bool wanted,
                     const Shape<kRank>& shape, const char* reason) {
  if (wanted) return CheckTensor(name, view, shape);
  if (view.data == nullptr) return Status();
  return Status::Error(std::string(name) + " given without " + reason);
}

// All four parts of a carry, or none. theta may be null with s = 0.
template <typename T>
Status CheckCarry(const char* name, const Mamba3ScanProblem& p, int64_t runs,
                  const Mamba3Carry<T>& carry) {
  const bool theta = carry.theta.data != nullptr;
  const bool k = carry.k.data != nullptr;
  const bool v = carry.v.data != nullptr;
  if (k != carry.given() || v != carry.given() ||
      (theta != carry.given() && (theta || p.angles > 0))) {
    const auto word = [](bool given) { return given ? "given" : "missing"; };
    return Status::Error(std::string(name) + " is partial: theta " +
                         word(theta) + ", h " + word(carry.given()) + ", k " +
                         word(k) + ", v " + word(v));
  }
  if (!carry.given()) return Status();
  const std::string prefix = std::string(name) + " ";
  const auto check = [&](const char* part, const auto& view,
                         const auto& shape) {
    Status status = CheckTensorSize((prefix + part).c_str(), shape);
    if (!status.ok()) return status;
    return CheckTensor((prefix + part).c_str(), view, shape);
  };
  return FirstError({
      check("h", carry.h, Shape<4>{runs, p.heads, p.head_dim, p.state_dim}),
      check("theta", carry.theta, Shape<3>{runs, p.heads, p.angles}),
      check("k", carry.k, Shape<4>{runs, p.ranks, p.heads, p.state_dim}),
      check("v", carry.v, Shape<3>{runs, p.heads, p.head_dim}),
  });
}

// No two elements of a carry that is written share memory.
inline Status CheckCarryOverlap(const char* name,
                                const Mamba3Carry<float>& carry) {
  if (!carry.given()) return Status();
  const auto check = [&](const char* part, const auto& view) {
    return CheckNoOverlap((std::string(name) + " " + part).c_str(), view.shape,
                          view.strides);
  };
  return FirstError({check("theta", carry.theta), check("h", carry.h),
                     check("k", carry.k), check("v", carry.v)});
}

}  // namespace lockstep::checks

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_CHECKS_H_
