// The rounding points of an attention kernel, one function each, numbered r1 to
// r18 in the order in which they occur, with the faults that sit on them.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ARITHMETIC_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ARITHMETIC_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/block_sum.h"
#include "verify/emulator/matrix_unit.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

class AttentionArithmetic {
 public:
  // `stale_cap`: the cap of an earlier call, for the fault that keeps it.
  AttentionArithmetic(const AttentionForwardProblem& problem,
                      const AttentionVariant& variant, const FaultDial& dial,
                      std::optional<double> stale_cap);

  // True where the contract's own arithmetic is followed (N7 to N13).
  bool contract() const { return contract_; }
  // N20, N21: products in blocks or steps; weights of the final maximum.
  bool grouped() const {
    return contract_ && problem_.order != ProductOrder::kChain;
  }
  bool blocks() const {
    return contract_ && problem_.order == ProductOrder::kAmx;
  }
  BlockRules block_rules() const;
  // The unit that forms the products, N21's or the variant's.
  std::optional<UnitRules> unit_rules() const;
  // N9: the cap bounds every score, no maximum is needed.
  bool BoundedByCap() const;
  bool capped() const { return cap_.has_value(); }

  // What a faulty kernel takes for the elements of q, k or v.
  enum class Input : uint8_t { kQ, kK, kV };
  void Misread(Input input, std::vector<float>* x) const;
  void FlushInputs(std::vector<float>* x) const;  // subnormals, if ftz
  void Prescale(Input input, std::vector<float>* x) const;  // r1
  void RoundOperandsQk(std::vector<float>* x) const;        // of q.k
  void RoundOperandsV(std::vector<float>* x) const;         // of P.V
  float Dot(const float* q, const float* k) const;          // r2
  // The same of several rows of K.
  void Dots(const float* q, std::span<const float* const> k, float* dots) const;
  float Score(float dot, bool partial_tile) const;  // r3-r7
  float SinkScore(float sink) const;
  float MaskedScore(float score) const;                   // r8
  float NextMax(float m, float top) const;                // r9
  float Weight(float score, float m, float shift) const;  // r10-11
  // The same for key `key`: with an inexact exp(0) some keys have an exact one,
  // as those behind the last whole vector.
  float WeightOfKey(float score, float m, float shift, int64_t key) const;
  float AddWeight(float l, float p) const;  // r12
  float RoundWeight(float p) const;         // r13
  float SummedWeight(float p) const;        // r12-13
  // A sum of rounded weights times values, or of the weights, without p_scale.
  float Unscaled(float sum) const;
  // r14: acc + a tile's weights times a column of V, and by what.
  float AddProducts(const Chain& tile, float acc) const;
  Accumulator ValueAccumulator() const;
  float StateBetweenTiles(float acc) const;              // r15
  float Divide(float x, float l) const;                  // r16
  float Output(float x) const;                           // r17
  float LogSumExp(float l, float m, float shift) const;  // r18
  float StoredLse(float lse) const;  // in the type and base of the profile
  // x, which a faulty kernel keeps in f16.
  float HalfBy(Fault fault, float x) const {
    return dial_.Is(fault) ? RoundTo(x, NumberType::kF16) : x;
  }

 private:
  float CapArgument(float dot) const;
  float Step(float x) const;
  float CapResult(float t, float dot) const;
  float Tanh(float x) const;
  float Exponential(float score, float m, float shift) const;
  void RoundOperands(NumberType type, std::vector<float>* x) const;
  float InUnits(float natural) const;
  int64_t ChannelsMultiplied() const;

  const AttentionForwardProblem& problem_;
  const NumericProfile& numeric_;
  const AttentionVariant& variant_;
  const FaultDial dial_;
  bool contract_;
  std::optional<double> cap_;
  double scale_;
  NumberType p_;
  double factor_ = 1;  // exponent = score * factor_, in exp_base's units
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ARITHMETIC_H_
