// A kernel of attention's gradients as the probes see it.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_KERNEL_H_

#include <optional>
#include <vector>

#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/models.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {

// Queries, keys or channels of a question that shows as many numbers.
inline constexpr size_t kGradWide = 64;

// One call: one key head and batch row. Elements are numbers of the lane.
struct GradQuestion {
  AttentionQuestion forward;  // its q: of the first head
  Rows d_o;                   // [queries][channels], of the first head
  // Of the other heads of the group; empty: there are none.
  std::vector<Rows> more_q, more_d_o;
  // What the kernel is given, [queries]; empty: 0 everywhere. A kernel whose
  // forward pass is its own has no use for them.
  Rows o;
  std::vector<float> lse;
};

struct GradAnswer {
  Rows dq, dk, dv;  // dq: of the first head
  Rows own_o;       // of a forward pass of the kernel's own
  std::vector<float> own_lse;
};

// Two keys, of values v and -v and of scores 0: o is 0, and so is D. dS of the
// first is unit() times do v.
AttentionQuestion Mirrored(Rows q, std::vector<float> v);

class GradKernel : public AttentionKernel {
 public:
  // `grads`: the lane of the gradients; `own`: what it hands back besides.
  GradKernel(Candidate& candidate, Lane lane, Lane grads, OwnForward own)
      : AttentionKernel(candidate, lane), grads_(grads), own_(own) {}

  Lane grads() const { return grads_; }
  bool own() const { return own_.o; }
  // Errors: why there is no answer, one line. Light keys, and queries whose do
  // is 0, stand behind those of the question.
  Result<GradAnswer> AskGrad(const GradQuestion& question);

  // P of a key whose score is 0, as all n that a query sees are: 1 of a kernel
  // that is given an lse of 0.
  double unit(int n) const { return own() ? 1.0 / n : 1.0; }
  // P of key j of these scores.
  double Weight(const std::vector<double>& scores, size_t j) const;
  // What the lane of the gradients may round a number by, relative to it.
  double OutRounding() const {
    return grads_ == Lane::kF32 ? 0x1p-22 : LaneRowOf(grads_).roundoff;
  }
  // The absolute error besides, because small numbers of f16 have fewer bits.
  double OutSpacing() const {
    return grads_ == Lane::kF16 ? LaneRowOf(grads_).smallest / 2 : 0;
  }

  double ScoreGain() const override {
    const bool coarse =
        lane() != Lane::kF32 || profile.grad->p != NumberType::kF32;
    if (own() || !coarse) return 1;
    return lane() == Lane::kF16 ? 0x1p7 : 0x1p10;
  }
  // For f16 tensors a kernel gets the expected score as its lse. Then P is near
  // 1, and shows the error of the score.
  Result<std::vector<double>> ScoresBy(ReadBy by,
                                       const ScoreQuestion& question) override;
  // Scores may be large if the lse is the expected score.
  double TanhCap() const override {
    return ReadsBesideLse() ? 16 * kTanhCap : kTanhCap;
  }
  bool ReadsHalves() const override {
    return own() && AttentionKernel::ReadsHalves();
  }
  bool FineWeights() const override {
    return own() ? lane() == Lane::kF32 : grads_ == Lane::kF32;
  }
  const char* WeightKey() const override { return own() ? "p" : "grad.p"; }
  NumberType WeightType() const override {
    return own() ? profile.p : profile.grad->p;
  }

  // What dS was seen to be rounded to; null: that is not known.
  const RoundingModel* ds = nullptr;

 protected:
  Result<AttentionAnswer> AskAsItStands(
      const AttentionQuestion& question) override;

 private:
  Result<GradAnswer> AskGradAsItStands(const GradQuestion& question);
  Result<AttentionAnswer> AskOwn(const AttentionQuestion& question);
  bool ReadsBesideLse() const { return !own() && lane() == Lane::kF16; }
  Result<std::vector<double>> ScoresBesideLse(const ScoreQuestion& question,
                                              const std::vector<float>& k);
  Result<AttentionAnswer> AskWeightsByDv(const AttentionQuestion& question);

  Lane grads_;
  OwnForward own_;
};

// One probe: a row of the table.
struct GradProbe {
  const char* fields;
  const char* asks;
  void (*ask)(GradKernel*);
};
const std::vector<GradProbe>& GradProbes();

// The probes, by file.
void AskGradOperands(GradKernel* kernel);
void AskGradWeights(GradKernel* kernel);
void AskDs(GradKernel* kernel);
void AskDsFrom(GradKernel* kernel);
void AskDelta(GradKernel* kernel);
void AskWeightsOfGiven(GradKernel* kernel);
void AskExponent(GradKernel* kernel);
void AskSumsDp(GradKernel* kernel);
void AskSumsDq(GradKernel* kernel);
void AskSumsDkv(GradKernel* kernel);
void AskDqScale(GradKernel* kernel);
void AskDkScale(GradKernel* kernel);
void AskGradSubnormals(GradKernel* kernel);
void AskGradEmptyRows(GradKernel* kernel);
void AskGradNan(GradKernel* kernel);
void AskGradRepeat(GradKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_KERNEL_H_
