// A kernel of attention as the probes see it: they ask with designed inputs and
// read scores from the answers.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_KERNEL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/candidate/candidate.h"
#include "verify/case/attention_forward/case.h"
#include "verify/identify/asker.h"
#include "verify/identify/attention_forward/lse_bits.h"
#include "verify/identify/attention_forward/rows.h"

namespace lockstep::verify {

// A scale whose roundings show.
inline constexpr double kOddScale = 0.1372;

inline constexpr double kTanhCap = 50;

// One call: one head, one batch row. Elements are numbers of the lane.
struct AttentionQuestion {
  Rows q;  // [queries][channels]
  Rows k;  // [keys][channels]
  Rows v;  // [keys][channels]
  double scale = 1;
  std::optional<double> cap;
  bool causal_to_the_end = false;  // mask=causal align=br
  int64_t padding = 0;             // keys behind valid_kv
  // Keys and values are in e4m3, and values have these scales.
  std::optional<ScaleSpec> v_scale{};
};

// The question with so many keys behind it that weigh less than f32 can hold,
// by a channel more.
AttentionQuestion WithLightKeys(AttentionQuestion question, int64_t count);

struct AttentionAnswer {
  Rows o;                  // [queries][channels]
  std::vector<float> lse;  // [queries]; empty: the kernel has none
};

// Scores of a single key: row i asks for the sum of q[i][c] k[c] over c.
struct ScoreQuestion {
  Rows q;
  std::vector<float> k;
  // Of the key whose weight the first one's is divided by; empty: zeros.
  std::vector<float> beside;
  double scale = 1;
  std::optional<double> cap;
};

// How a score is read.
enum class ReadBy : uint8_t {
  kLse,      // it is lse, in f32
  kWeights,  // log of the ratio of two weights, which are o
};

// The built-in profile that a kernel of this lane starts from.
const char* AttentionBase(Lane lane);

class AttentionKernel : public Asker {
 public:
  AttentionKernel(Candidate& candidate, Lane lane)
      : Asker(candidate, lane, AttentionBase(lane)) {}

  // Errors: why there is no answer, one line.
  Result<AttentionAnswer> Ask(const AttentionQuestion& question);

  // Natural scores, as `reading` has them. Errors: as Ask.
  Result<std::vector<double>> Scores(const ScoreQuestion& question);
  virtual Result<std::vector<double>> ScoresBy(ReadBy by,
                                               const ScoreQuestion& question);
  // How far a reading of this score may be off where the kernel is right, f32
  // and accurate functions supposed.
  double Noise(double score) const { return NoiseBy(reading, score); }
  double NoiseBy(ReadBy by, double score) const;
  // What scores of sums are multiplied with so that coarse weights show them.
  virtual double ScoreGain() const { return 1; }
  // Whether weights are read in f32, where they are not rounded.
  virtual bool FineWeights() const { return lane() == Lane::kF32; }
  // The cap of scores that show tanh. It is no power of two, and the range in
  // which its weights are read contains them.
  virtual double TanhCap() const { return kTanhCap; }
  // What o may be off by where it is the sum, rounded.
  double OutputNoise(double o) const;
  // Whether scores are read by weights of few bits and few exponents.
  virtual bool ReadsHalves() const {
    return lane() == Lane::kF16 && reading == ReadBy::kWeights;
  }
  // What the weights that are read are rounded to, and the key that says so.
  virtual const char* WeightKey() const { return "p"; }
  virtual NumberType WeightType() const { return profile.p; }

  // Keys that stand behind those of a question and weigh less than f32 can
  // hold: public code takes other paths at other lengths. A question with a cap
  // or a mask has none.
  int64_t light_keys = 0;

  // What the first probes find out.
  ReadBy reading = ReadBy::kWeights;
  double lse_unit = 1;    // lse of the kernel is this times the natural one
  double lse_offset = 0;  // plus this, before it is
  bool lse_bf16 = false;  // and rounded to bf16
  // Weights that are rounded show scores no better than this.
  double weight_noise = 0;
  std::optional<LseForm> form;  // of the exponent, where lse shows it
  bool score_read = true;       // false: no reading of scores can be trusted
  // What weights become in the numerator; null: they are not seen to be rounded
  // before the division.
  std::function<double(double)> weight_rounding;
  double weight_unit = 0;    // its unit roundoff
  double weight_margin = 0;  // relative error of a weight before it is rounded

  // Whether lse is the score to the last bit.
  bool ReadsBits() const {
    return reading == ReadBy::kLse && !lse_bf16 && lse_offset == 0;
  }
  // Whether weights of equal scores are 1, or a power of two.
  bool unit_weights() const { return lse_offset == 0; }

 protected:
  // The answer without light keys. Of kernels that have no o: any multiple of
  // a row's weights, times v.
  virtual Result<AttentionAnswer> AskAsItStands(
      const AttentionQuestion& question);
};

// One probe: a row of the table.
struct AttentionProbe {
  const char* fields;  // that it says something about, joined by blanks
  const char* asks;    // what it asks, for people
  void (*ask)(AttentionKernel*);
};
const std::vector<AttentionProbe>& AttentionProbes();
// Those that need weights alone.
const std::vector<AttentionProbe>& WeightProbes();

// Takes over the place of the scale that weights of tied keys show. Returns
// whether there is one.
bool TakeScaleOfTies(AttentionKernel* kernel);
// Assumes a place that covers the others, as far as there is one.
void AssumeScale(AttentionKernel* kernel, const std::string& why);

// The probes, by file.
void AskLse(AttentionKernel* kernel);
void AskScoreType(AttentionKernel* kernel);
void AskScoreSteps(AttentionKernel* kernel);
void AskOperandsQk(AttentionKernel* kernel);
void AskScale(AttentionKernel* kernel);
void AskSumsQk(AttentionKernel* kernel);
void AskTanh(AttentionKernel* kernel);
void AskCapDivision(AttentionKernel* kernel);
void AskOperandsV(AttentionKernel* kernel);
void AskWeights(AttentionKernel* kernel);
void AskValueScale(AttentionKernel* kernel);
void AskExp(AttentionKernel* kernel);
void AskSumsPv(AttentionKernel* kernel);
void AskEqualKeys(AttentionKernel* kernel);
void AskDivision(AttentionKernel* kernel);
void AskSubnormals(AttentionKernel* kernel);
void AskEmptyRows(AttentionKernel* kernel);
void AskNan(AttentionKernel* kernel);
void AskRepeat(AttentionKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_KERNEL_H_
