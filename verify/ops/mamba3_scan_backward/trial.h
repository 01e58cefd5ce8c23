// mamba3_scan_backward before the judge: inputs, truth, candidates, null
// answers.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/mamba3_scan_backward.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/ops/mamba3_scan/runs_trial.h"
#include "verify/ops/mamba3_scan_backward/gradients.h"

namespace lockstep::verify {

// Outputs: gradients.h. The first rows are a group of a run each, with all
// outputs that have a value for each token or run. Where the problem has
// weights, a row for each head follows. It has the weights' gradients, which
// are sums over all runs.
class Mamba3ScanBackwardTrial final : public RunsTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of MaterialiseMamba3ScanBackward.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  Mamba3ScanBackwardTrial(const Case& request, Mamba3ScanData data);

  const Mamba3ScanBackwardProblem& problem() const { return problem_; }
  Mamba3ScanBackwardInputs inputs() const;
  Mamba3ScanBackwardOutputs Views(const OutputSet& outputs) const;
  // Whether a row holds the gradients of a head's weights.
  bool OfWeights(int64_t row) const { return row >= RunRows(); }
  // The heads that a row is computed from.
  std::pair<int64_t, int64_t> HeadsOf(int64_t row) const;
  // The gradients of the initial carry that a call has left become the
  // cotangents of the carry. Requires: as many runs and heads.
  void TakeCarry(const OutputSet& done);

  int64_t RowsPerRun() const override { return data().problem.groups; }
  std::unique_ptr<Trial> MakeAnother(const Case& request,
                                     Mamba3ScanData data) const override;
  void RowBy(const RowInputs& from, int64_t row, RowBits* bits) const override;

  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::vector<Fact> Facts() const override;
  // For each state element and token 4 + 16 r flop, with r ranks. These are the
  // decays of the state and of its cotangent, and their product. Then come two
  // updates of the state, one of the cotangent, and five products with one of
  // them. 2 r more where the output has to be made again, for its norm or gate.
  std::optional<Work> CountWork() const override;
  int64_t RowCost() const override;
  int64_t rows() const override;
  std::vector<int64_t> Lines(size_t output, int64_t row) const override;
  std::vector<int64_t> TellingRows() const override;
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override;
  RunOutcome RunOptimized(const Variation& how, const OutputSet& outputs,
                          Execution* execution) const override;
  std::vector<std::string> LawNames() const override;
  Result<Law> MakeLaw(const std::string& name, uint64_t salt) const override;
  std::vector<NullCandidate> Nulls() const override;
  std::unique_ptr<AllowedResults> Envelope(const NumericProfile& profile,
                                           std::vector<int64_t> rows,
                                           int threads) const override;
  std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const override;
  void RunBaseline(const OutputSet& outputs) const override;
  const char* CorrectKernel() const override;
  std::span<const char* const> Canaries() const override;

 protected:
  std::vector<int64_t> ReachedLines(const NumericProfile& profile,
                                    size_t output, int64_t row) const override;

 private:
  int64_t RunRows() const {
    return static_cast<int64_t>(runs().size()) * RowsPerRun();
  }
  // Flop of one token of one head for each element of the state.
  int64_t FlopPerElement() const;
  void EmptyRow(const RowInputs& from, int64_t row, RowBits* bits) const;

  Mamba3ScanBackwardProblem problem_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_TRIAL_H_
