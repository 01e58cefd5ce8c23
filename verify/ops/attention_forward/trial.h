// attention_forward before the judge: inputs, truth, candidates, null answers.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_TRIAL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/numbers.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/inputs/attention_forward/varlen.h"
#include "verify/ops/whole_trial.h"

namespace lockstep::optimized {
struct AttentionForwardExecution;  // optimized/attention_forward.h
struct Plan;                       // optimized/plan.h
}  // namespace lockstep::optimized

namespace lockstep::verify {

class AttentionFaults;

// Positions of one batch row where the id changes; none without segments.
std::vector<int64_t> SegmentStartsOf(const AttentionForwardProblem& problem,
                                     const TensorView<const int32_t, 2>& ids,
                                     int64_t batch);

// The outputs of an attention trial as the contract's views.
AttentionForwardOutputs AttentionViews(const OutputSet& outputs);

// What a host may want of masks and ids (docs/wire.md); what
// TrialWants::AddWanted returns.
std::string AddAttentionWanted(const AttentionForwardData& data,
                               const std::string& want, KernelInputs* inputs);

// Why the profile claims nothing about an op on these inputs; empty if it does.
std::string WhyUndeclaredAttention(const AttentionForwardProblem& problem,
                                   const AttentionForwardInputs& inputs,
                                   const NumericProfile& profile,
                                   const char* op);

// Outputs: o [b, h, i, c] in the problem's lane, lse [b, h, i] in f32.
class AttentionForwardTrial final : public WholeTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of Materialise.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);

  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  AttentionForwardTrial(const Case& request, AttentionForwardData data);

  const AttentionForwardData& data() const { return data_; }
  const Case& request() const { return case_; }
  // Where keys lie, of a case with pages; made when it is first asked for.
  // Errors: memory.  Requires: data().pages.
  const Result<KeyPool>& pool() const;
  // The same for a ragged batch.  Requires: data().varlen.
  const Result<TokenTensors>& tokens() const;
  // data(), with keys and values in fp8 replaced by their values in f32.
  const AttentionForwardData& numbers() const {
    return numbers_ ? numbers_->data : data_;
  }
  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::string AddWanted(const std::string& want,
                        KernelInputs* inputs) const override;
  std::vector<std::string> NeededWants() const override;
  std::optional<TokenRows> RowsEndToEnd(
      const std::string& output) const override;
  std::string InputDigest() const override { return data_.InputDigest(); }
  std::string StorageDigest() const override;
  std::vector<Fact> Facts() const override;
  // 2 (d + dv) flop for each visible pair of query and key.
  std::optional<Work> CountWork() const override;
  // Rows are the lines of o; with layout=varlen, those that exist.
  int64_t rows() const override;
  std::vector<int64_t> Lines(size_t output, int64_t row) const override {
    (void)output;
    return {LineOf(row)};
  }
  int64_t LineOf(int64_t row) const {
    return lines_.empty() ? row : lines_[static_cast<size_t>(row)];
  }
  std::vector<int64_t> LinesOf(std::vector<int64_t> rows) const;
  void ReferenceRow(int64_t row, RowBits* bits) const override;
  int64_t RowCost() const override;
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
  // Kinds: key, lse, mask, channel, q_head, q_row, k_row, v_row, kv_head,
  // batch, sink.
  std::vector<PlantedFault> PlantFaults(uint64_t salt) const override;
  Result<std::unique_ptr<Trial>> AskedAs(const Case& other) const override;
  std::string WhyUndeclared(const NumericProfile& profile) const override;
  std::unique_ptr<AllowedResults> Envelope(const NumericProfile& profile,
                                           std::vector<int64_t> rows,
                                           int threads) const override;
  std::vector<ValueSet> Ranges(const NumericProfile& profile) const override;
  std::unique_ptr<FirstWitness> Witness(const NumericProfile& profile,
                                        int threads) const override;
  std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const override;
  std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const override;
  KeyErrors ErrorByKey(size_t output, const std::array<int64_t, 4>& at,
                       std::span<const double> error,
                       std::span<const double> truth) const override;
  void RunBaseline(const OutputSet& outputs) const override;
  const char* CorrectKernel() const override { return "variant:exact"; }
  std::span<const char* const> Canaries() const override;

 private:
  friend class AttentionFaults;

  Status RunPlan(const optimized::Plan& plan, const OutputSet& outputs,
                 optimized::AttentionForwardExecution* counts) const;
  std::vector<int64_t> TellingTokens() const;
  Status RunTokens(const optimized::Plan& plan, const OutputSet& outputs,
                   optimized::AttentionForwardExecution* counts) const;
  // Row `row` of the reference on another problem with the same shapes.
  void RowOf(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs, int64_t row,
             RowBits* bits) const;
  void MeanOfValues(int64_t row, RowBits* bits) const;

  Case case_;
  AttentionForwardData data_;
  std::optional<KeyNumbers> numbers_;
  mutable std::once_flag pool_made_;
  mutable std::optional<Result<KeyPool>> pool_;
  mutable std::once_flag tokens_made_;
  mutable std::optional<Result<TokenTensors>> tokens_;
  std::vector<int64_t> lines_;  // of rows; empty: each line is a row
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_TRIAL_H_
