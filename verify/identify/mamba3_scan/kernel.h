// A scan kernel as the probes see it: one group, one rank, few heads.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "verify/case/case.h"
#include "verify/identify/attention_forward/rows.h"
#include "verify/identify/mamba3_scan/scan_asker.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {

// One call. What is not set is 0; dt is 1, and tau so large that lambda is 1.
struct ScanQuestion {
  using Of = ScanElement;
  int64_t tokens = 1;
  int64_t heads = 1;
  Of q, k;  // by token and coordinate; head is 0
  Of v, a, dt, tau, rate;
  Of z;     // set: the output is gated
  Of bias;  // by head, rank and coordinate; set: k has it, q has 0
  // By head, rank and channel. If set, the kernel is MIMO and adds up two
  // ranks. q and k are then by token times 2 plus rank, and psi and zeta are 1.
  Of phi;
  // By head, channel and coordinate; set: the run starts from a carry.
  Of carry_h;
};

struct ScanAnswer {
  std::vector<Rows> y;  // [head][token][channel]
  std::vector<Rows> h;  // [head][channel][coordinate]
  Rows theta;           // [head][angle], in turns
  Rows k;               // [head][coordinate]
};

// An op whose kernels are scans.
struct ScanOp {
  const CaseRow* text;
  // Whether the op has angles, mixing weights and the last k.
  bool mamba3;
  std::unique_ptr<Mamba3ScanTrial> (*open)(const Case&, Mamba3ScanData);
};

class ScanKernel : public ScanAsker {
 public:
  ScanKernel(Candidate& candidate, const ScanOp& op, Lane lane)
      : ScanAsker(candidate, lane), op_{.text = *op.text}, scan_op_(op) {}

  // Errors: why there is no answer, one line.
  Result<ScanAnswer> Ask(const ScanQuestion& question);
  bool mamba3() const { return scan_op_.mamba3; }
  double OutRounding() const {
    return lane() == Lane::kF32 ? 0x1p-22 : LaneRowOf(lane()).roundoff;
  }

  // What the first probes find out.
  bool angles_read = false;                 // theta is exported in f32
  const RoundingModel* exported = nullptr;  // the type of exported theta
  const RoundingModel* scaled = nullptr;    // null: unknown
  // Whether a state shows the weight of its token.
  bool FineWeights() const {
    return scaled != nullptr && scaled->type == NumberType::kF32;
  }

 private:
  Case CaseOf(const ScanQuestion& question) const;

  OpRow op_;
  const ScanOp& scan_op_;
};

// One probe: a row of the table.
struct ScanProbe {
  const char* fields;
  const char* asks;
  void (*ask)(ScanKernel*);
  bool mamba3 = false;  // whether Mamba-2 has nothing of it
};
const std::vector<ScanProbe>& ScanProbes();

// The probes, by file.
void AskPairing(ScanKernel* kernel);
void AskRates(ScanKernel* kernel);
void AskRotation(ScanKernel* kernel);
void AskAngleForm(ScanKernel* kernel);
void AskScaled(ScanKernel* kernel);
void AskWeight(ScanKernel* kernel);
void AskStep(ScanKernel* kernel);
void AskSigmoid(ScanKernel* kernel);
void AskDecay(ScanKernel* kernel);
void AskDecayed(ScanKernel* kernel);
void AskDecayForm(ScanKernel* kernel);
void AskChunk(ScanKernel* kernel);
void AskState(ScanKernel* kernel);
void AskQuery(ScanKernel* kernel);
void AskNarrowWeights(ScanKernel* kernel);
// Whether the weights of tokens are products with steps rounded to this type,
// and not products that are rounded themselves.
bool WeightsAreOfSteps(ScanKernel* kernel, const RoundingModel& step);
void AskBias(ScanKernel* kernel);
void AskGate(ScanKernel* kernel);
void AskNarrowDiagonal(ScanKernel* kernel);
void AskRankSum(ScanKernel* kernel);
void AskScore(ScanKernel* kernel);
void AskDiagonal(ScanKernel* kernel);
void AskLaterNan(ScanKernel* kernel);
void AskScanRepeat(ScanKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_
