// attention_merge before the judge: inputs, truth, candidates, null answers.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_MERGE_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_MERGE_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "verify/inputs/attention_merge.h"
#include "verify/ops/whole_trial.h"

namespace lockstep::verify {

// Outputs: o [1, h, n, c] in the problem's out_lane, lse [1, h, n, 1] in f32.
class AttentionMergeTrial final : public WholeTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of MaterialiseMerge. In base 2 where options.binary_lse says
  // so.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  AttentionMergeTrial(const Case& request, AttentionMergeData data);

  const AttentionMergeData& data() const { return data_; }
  const Case& request() const { return case_; }
  // Outputs as the contract's views.
  static AttentionMergeOutputs Views(const OutputSet& outputs);
  // The truth of a row for other parts of the same rows.
  void RowOf(const AttentionMergeProblem& problem,
             const AttentionMergeInputs& inputs, int64_t row,
             RowBits* bits) const;

  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::string StorageDigest() const override { return data_.StorageDigest(); }
  std::vector<Fact> Facts() const override;
  // A multiply-add for each part and channel.
  std::optional<Work> CountWork() const override;
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
  std::vector<NullCandidate> Nulls() const override;
  // Kinds: part, part_twice, weight, channel, row, head.
  std::vector<PlantedFault> PlantFaults(uint64_t salt) const override;
  Result<std::unique_ptr<Trial>> AskedAs(const Case& other) const override;
  std::string WhyUndeclared(const NumericProfile& profile) const override;
  std::unique_ptr<AllowedResults> Envelope(const NumericProfile& profile,
                                           std::vector<int64_t> rows,
                                           int threads) const override;
  std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const override;
  // Rows in which no part saw a key, and rows with a NaN, as the profile says.
  std::vector<int64_t> OpenLines(const NumericProfile& profile,
                                 size_t output) const override;
  void RunBaseline(const OutputSet& outputs) const override;
  const char* CorrectKernel() const override { return "variant:merge"; }
  std::span<const char* const> Canaries() const override;

 private:
  Case case_;
  AttentionMergeData data_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_MERGE_TRIAL_H_
