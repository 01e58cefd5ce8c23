// attention_backward before the judge: inputs, truth, candidates, null answers.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_TRIAL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/inputs/attention_backward/varlen.h"
#include "verify/ops/whole_trial.h"

namespace lockstep::optimized {
struct AttentionBackwardExecution;  // optimized/attention_backward.h
struct Plan;                        // optimized/plan.h
}  // namespace lockstep::optimized

namespace lockstep::verify {

// One row of the truth: the gradient of one sink, over all batch rows; or dq of
// one query, and its own o and lse; or dk and dv of one key. In this order.
struct BackwardRow {
  enum class Kind : uint8_t { kSink, kQuery, kKey };
  Kind kind = Kind::kKey;
  int64_t b = 0;
  int64_t head = 0;  // of keys: a key head
  int64_t position = 0;
};

// Outputs: dv [b, hkv, j, c], dk, dq [b, h, i, c] in the gradients' lane, and
// with a sink dsink [h] in f32. dv comes first because no problem with a
// visible pair makes it vanish. Where a query sees one key only, dq and dk are
// zero. Behind them, as MaterialiseOptions::own says, own_o [b, h, i, c] and
// own_lse [b, h, i]: the o and lse that the kernel's gradients are of. By right
// these are the forward op's.
class AttentionBackwardTrial final : public WholeTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of MaterialiseAttentionBackward.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  AttentionBackwardTrial(const Case& request, AttentionBackwardData data);

  const AttentionBackwardData& data() const { return data_; }
  const Case& request() const { return case_; }
  // Places in outputs() of what the kernel hands back of its forward pass; as
  // many as there are outputs: it does not.
  size_t PlaceOfOwnO() const;
  size_t PlaceOfOwnLse() const;
  // Outputs as the contract's views; null: not there.
  AttentionBackwardOutputs Gradients(const OutputSet& outputs) const;
  AttentionForwardOutputs Own(const OutputSet& outputs) const;
  // What a kernel that uses the o and lse it is given hands back.
  void HandBackGiven(const OutputSet& outputs) const;
  // The tensors of a ragged batch; made at the first request. Errors: memory.
  // Requires: data().forward.varlen.
  const Result<GradientTokens>& tokens() const;
  // Whether the query, or the key, exists: with layout=varlen only positions
  // within the valid counts do.
  bool HasQuery(int64_t b, int64_t i) const;
  bool HasKey(int64_t b, int64_t j) const;
  BackwardRow RowAt(int64_t row) const;
  int64_t RowOf(const BackwardRow& row) const;
  // The truth of a row for other problems or tensors of the same shapes.
  void RowWith(const AttentionBackwardProblem& problem,
               const AttentionBackwardInputs& inputs, int64_t row,
               RowBits* bits) const;

  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::string AddWanted(const std::string& want,
                        KernelInputs* inputs) const override;
  std::vector<std::string> NeededWants() const override;
  std::optional<TokenRows> RowsEndToEnd(
      const std::string& output) const override;
  std::string StorageDigest() const override;
  std::vector<Fact> Facts() const override;
  // 6 d + 4 dv flop for each visible pair: five products.
  std::optional<Work> CountWork() const override;
  void ReferenceRow(int64_t row, RowBits* bits) const override;
  int64_t RowCost() const override;
  int64_t rows() const override;
  std::vector<int64_t> Lines(size_t output, int64_t row) const override;
  std::vector<int64_t> TellingRows() const override;
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override;
  RunOutcome RunOptimized(const Variation& how, const OutputSet& outputs,
                          Execution* execution) const override;
  std::vector<Variation> OptimizedVariations(
      const Variation& fixed) const override;
  std::vector<std::string> LawNames() const override;
  Result<Law> MakeLaw(const std::string& name, uint64_t salt) const override;
  Result<Shards> MakeShards(const ShardsAsked& asked) const override;
  std::vector<NullCandidate> Nulls() const override;
  // Kinds: key, query, mask, channel, do, batch, sink, dlse, own_o.
  std::vector<PlantedFault> PlantFaults(uint64_t salt) const override;
  // With the o and lse that this trial's case has.
  Result<std::unique_ptr<Trial>> AskedAs(const Case& other) const override;
  std::string WhyUndeclared(const NumericProfile& profile) const override;
  std::unique_ptr<AllowedResults> Envelope(const NumericProfile& profile,
                                           std::vector<int64_t> rows,
                                           int threads) const override;
  std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const override;
  // What NaN and infinity behind a mask reach.
  std::vector<int64_t> OpenLines(const NumericProfile& profile,
                                 size_t output) const override;
  std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const override;
  void RunBaseline(const OutputSet& outputs) const override;
  const char* CorrectKernel() const override { return "variant:grad-exact"; }
  std::span<const char* const> Canaries() const override;

 private:
  int64_t Sinks() const;
  int64_t Queries() const;
  int64_t Keys() const;
  Status RunPlan(const optimized::Plan& plan, const OutputSet& outputs,
                 optimized::AttentionBackwardExecution* ran) const;
  // Of a query's row: the o and lse of these inputs, as what was handed back.
  void OwnBits(const AttentionBackwardInputs& inputs, const BackwardRow& query,
               RowBits* bits) const;

  Case case_;
  AttentionBackwardData data_;
  mutable std::once_flag tokens_made_;
  mutable std::optional<Result<GradientTokens>> tokens_;
  // With layout=varlen: the lines of dq, and of dv, that exist.
  std::vector<int64_t> query_lines_, key_lines_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_TRIAL_H_
