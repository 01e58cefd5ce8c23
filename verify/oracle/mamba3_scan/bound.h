// The first witness of a scan with its running bound, one token at a time.
// Implemented in mamba3_scan.cc (states) and scan_readout.cc (outputs).
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BOUND_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BOUND_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "verify/oracle/mamba3_scan/head.h"
#include "verify/oracle/mamba3_scan/truth.h"

namespace lockstep::oracle {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kTwoPi = 6.283185307179586476925286766559;
// Errors of this witness per operation, summed generously.
inline constexpr double kOwn = 0x1p-46;

inline size_t Z(int64_t n) { return static_cast<size_t>(n); }
// f32's squares are far from binary64's ends.
inline double Modulus(double x, double y) { return std::sqrt(x * x + y * y); }

// An operand over the modes: moduli; those of |x| + |bias|, which is what a
// rounded bias is off by parts of; and the perturbed moduli as y sees them
// (angles relative to other tokens') and as the carry does (absolute angles).
struct Moduli {
  Vector plain, wide, seen, absolute;
};

class RecordedScan;

class BoundedScan {
 public:
  BoundedScan(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
              const ScanPlace& place, const ScanErrors& errors)
      : p_(problem),
        e_(errors),
        head_(problem, inputs, place),
        modes_(ModesOf(problem, errors.other_pairing)),
        bq_(head_.Bias(true)),
        bk_(head_.Bias(false)),
        psi_(head_.Psi()),
        zeta_(head_.Zeta()),
        phi_(head_.Phi()),
        norm_(head_.NormWeight()) {
    Start();
  }

  void Step(int64_t t);
  ScanTruth Finish();

  // Keeps what this computes on the way, for the walk back over the tokens.
  friend class RecordedScan;

 private:
  using Rows = std::vector<Vector>;

  void Start();
  void Turn(const ScanToken& token, double dt);
  Rows Rotated(const Rows& x, const Rows& bias) const;
  Moduli ModuliOf(const Vector& x, const Vector& bias, double roundings,
                  bool of_key) const;
  void Update(const ScanToken& token, double own, double before, double alpha);
  void ReadOut(const ScanToken& token, const Rows& q,
               const std::vector<Moduli>& moduli);
  // An output of one rank: its value, bound, companion and range by channel.
  struct Sums {
    explicit Sums(size_t channels)
        : o(channels), error(o), companion(o), range(o) {}
    Vector o, error, companion, range;
  };
  void Normalise(Sums* sums) const;
  void Gate(const ScanToken& token, size_t r, Sums* sums) const;
  void Store(const std::vector<Sums>& ranks);
  double Window(const Vector& sums, int64_t chunk) const;
  // Largest error of angle s behind the token, whatever the chunks, but for
  // that of its rates.
  double AngleError(size_t s) const;
  // Largest moduli of keys so far, by mode: what a score may be made of.
  void Remember(const std::vector<Moduli>& keys, double dt);
  // What a channel of x may grow to on its way into the state.
  double Added(double x) const;
  // Whether a score, what a query reads of an earlier state, or a sum in front
  // of norm and gate may overflow.
  bool MayOverflow(const Moduli& q, const Vector& sums) const;

  const Mamba3ScanProblem& p_;
  const ScanErrors& e_;
  ScanHead head_;
  std::vector<Mode> modes_;
  Rows bq_, bk_, psi_, zeta_, phi_;
  Vector norm_;

  Vector theta_;                     // turns
  Vector angle_error_;               // radians, since the run's start
  Vector angle_size_;                // unreduced magnitude, radians
  Vector rate_error_;                // of the rates, since the run's start
  std::vector<Vector> angle_steps_;  // AngleError behind each token, by angle
  Vector step_angle_, local_angle_;  // of this token
  std::vector<Vector> rate_sums_;    // cumulative |rate| by angle
  Vector decay_sums_ = {0};          // cumulative |a|
  Rows h_;                           // [n][p]
  Rows size_, wide_;                 // [mode][p]: companions of the moduli
  Rows seen_, absolute_;             // and of the perturbed ones
  // What absolute_ would be had nothing decayed: a chunk's decay that
  // underflows, or what is multiplied by it, is wrong by so many times the
  // smallest number.
  Rows whole_;
  Rows k_, x_;  // of the last token
  std::vector<Moduli> moduli_;
  Rows k_now_, x_now_, q_now_;
  std::vector<Moduli> moduli_now_, of_q_;
  std::vector<Sums> read_;  // of the token, before norm and gate
  Vector v_;
  Vector peak_;          // [mode]
  Rows high_;            // [mode][p]: the largest state so far, seen_'s
  double longest_ = 0;   // largest step size
  bool broken_ = false;  // something was not finite
  ScanTruth truth_;
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BOUND_H_
