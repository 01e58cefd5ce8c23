// What one head of one run reads, widened to binary64: indexing only.
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_HEAD_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_HEAD_H_

#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "verify/oracle/mamba3_scan/truth.h"

namespace lockstep::oracle {

// Coordinates that one angle turns; second < 0: a coordinate by itself.
struct Mode {
  int64_t first = 0;
  int64_t second = -1;
};
// `other_pairing`: halves for SISO, neighbours for MIMO.
std::vector<Mode> ModesOf(const Mamba3ScanProblem& problem, bool other_pairing);

using Vector = std::vector<double>;

// One token.
struct ScanToken {
  double a = 0, dt = 0, tau = 0;
  std::vector<Vector> q, k;  // [r][n]
  Vector v, z, rate;         // rate: before tanh
  bool finite = true;        // all of them
  // What a chunk multiplies with its mask: k, v, the rates, tau.
  bool adds_finite = true;
};

struct ScanCarry {
  Vector theta;           // turns
  std::vector<Vector> h;  // [n][p]
  std::vector<Vector> k;  // [r][n]
  Vector v;
};

class ScanHead {
 public:
  ScanHead(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
           const ScanPlace& place)
      : p_(problem), in_(inputs), at_(place) {}

  ScanToken Token(int64_t t) const;
  double LogDecay(int64_t t) const {
    return static_cast<double>(in_.a(at_.row, at_.head, t));
  }
  const ScanPlace& place() const { return at_; }
  ScanCarry Carry() const;  // zeros if none is given
  // [r][n] and [r][p]; zeros, or ones for psi, zeta and phi, where absent.
  std::vector<Vector> Bias(bool of_query) const;
  std::vector<Vector> Psi() const;
  std::vector<Vector> Zeta() const;
  std::vector<Vector> Phi() const;
  Vector NormWeight() const;
  double Skip() const;  // 0 where absent

 private:
  std::vector<Vector> Ranked(const TensorView<const float, 3>& x,
                             int64_t channels, double absent) const;

  const Mamba3ScanProblem& p_;
  const Mamba3ScanInputs& in_;
  ScanPlace at_;
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_HEAD_H_
