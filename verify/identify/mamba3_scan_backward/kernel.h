// A kernel of a scan's gradients as the probes see it: one rank, few heads.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_KERNEL_H_

#include <cstdint>
#include <vector>

#include "verify/identify/attention_forward/rows.h"
#include "verify/identify/mamba3_scan/scan_asker.h"

namespace lockstep::verify {

// One call. What is not set is 0; dt is 1, and tau so large that lambda is 1.
struct ScanGradQuestion {
  using Of = ScanElement;
  int64_t tokens = 1;
  int64_t heads = 1;
  bool one_group = false;  // the heads share q and k; else each has its own
  Of q, k;                 // by group, token and coordinate
  Of v, a, dt, tau, rate;
  Of z;   // set: the output is gated
  Of dy;  // by head, token and channel
  // By head, and t is 0; set, any of them: the run starts from a carry.
  Of carry_theta, carry_v;
  Of carry_h;  // by head, channel and coordinate
  // Cotangents of the carry that the run leaves, of the same axes.
  Of dcarry_theta, dcarry_h;
  bool from_carry = false;  // a carry of zeros, for its gradient
};

// By head (group of dq and dk), and then as said.
struct ScanGradAnswer {
  std::vector<Rows> dq, dk, dv;  // [token][coordinate or channel]
  Rows da, ddt;                  // [token]
  // Where the run starts from a carry.
  Rows dinit_theta;           // [angle]
  std::vector<Rows> dinit_h;  // [channel][coordinate]
  Rows dinit_k;               // [coordinate]
};

class ScanGradKernel : public ScanAsker {
 public:
  // `grads`: what gradients are handed over in.
  ScanGradKernel(Candidate& candidate, Lane lane, Lane grads)
      : ScanAsker(candidate, lane), grads_(grads) {}

  // Errors: why there is no answer, one line.
  Result<ScanGradAnswer> Ask(const ScanGradQuestion& question);
  // Of dv, and of dq and dk, which a group's heads may round, too.
  double OutRounding() const {
    return grads_ == Lane::kF32 ? 0x1p-22 : LaneRowOf(grads_).roundoff;
  }
  double GroupRounding() const { return coarse_heads ? 0x1p-8 : OutRounding(); }

  // What the first probes find out. The state's cotangent is made of a rotated
  // q, which is rounded to `read` as an operand.
  const RoundingModel* read = nullptr;  // null: unknown
  bool coarse_heads = true;             // whether dq of a head may be rounded

 private:
  Case CaseOf(const ScanGradQuestion& question) const;

  Lane grads_;
};

// Why nothing is said of a q whose turning cannot be told.
inline constexpr const char* kBehindAngles =
    "no angle explains a turned q, and what it is rounded to shows behind one";

// Reports f16 of cotangents and of a head's sums where no operand of their
// products is in f16. No matrix unit rounds one operand alone, and f16 loses
// small cotangents. For all other tensors than f16 it does nothing.
void ReportLoneF16(ScanGradKernel* kernel);

// One probe: a row of the table.
struct ScanGradProbe {
  const char* fields;
  const char* asks;
  void (*ask)(ScanGradKernel*);
};
const std::vector<ScanGradProbe>& ScanGradProbes();

// The probes, by file.
void AskGradPairing(ScanGradKernel* kernel);
void AskGradTanh(ScanGradKernel* kernel);
void AskGradRotation(ScanGradKernel* kernel);
void AskGradAngleForm(ScanGradKernel* kernel);
void AskGradSigmoid(ScanGradKernel* kernel);
void AskGradDecay(ScanGradKernel* kernel);
void AskGradStep(ScanGradKernel* kernel);
void AskGradScaled(ScanGradKernel* kernel);
void AskGradQuery(ScanGradKernel* kernel);
void AskGradDecayed(ScanGradKernel* kernel);
void AskGradChunk(ScanGradKernel* kernel);
void AskGradKey(ScanGradKernel* kernel);
void AskGradState(ScanGradKernel* kernel);
void AskGradStateCotangent(ScanGradKernel* kernel);
void AskGradOutput(ScanGradKernel* kernel);
void AskGradPartial(ScanGradKernel* kernel);
void AskGradScore(ScanGradKernel* kernel);
void AskGradRepeat(ScanGradKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_KERNEL_H_
