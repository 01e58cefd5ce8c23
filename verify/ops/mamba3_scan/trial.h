// mamba3_scan and mamba3_step before the judge: inputs, truth, candidates, null
// answers.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optimized/mamba3_scan.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/runs.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// What the optimized path is to be called with.
optimized::Mamba3ScanCaps ScanCaps(const Variation& how);
// And what it says of the call.
void NoteScan(const Variation& how, const optimized::Mamba3ScanExecution& ran,
              Execution* execution);

// Outputs: y [b, t * output_ranks, h, p] in the problem's lane, then the carry
// of every run in f32: carry_theta [run, h, 1, s] if there are angles, carry_h
// [run, h, p, n], carry_k [run, r, h, n], carry_v [run, h, 1, p]. A row is one
// head of one run: run * heads + head.
class Mamba3ScanTrial : public Trial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of MaterialiseMamba3Scan.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  Mamba3ScanTrial(const Case& request, Mamba3ScanData data)
      : Mamba3ScanTrial(request, std::move(data), Outputs(request)) {}

  const Case& request() const { return case_; }
  const Mamba3ScanData& data() const { return data_; }
  const std::vector<reference::Run>& runs() const { return runs_; }
  // The outputs of the trial as the contract's views; of a carry those parts
  // that the trial has.
  Mamba3ScanOutputs Views(const OutputSet& outputs) const;

  const std::vector<OutputSpec>& outputs() const override { return outputs_; }
  Result<OutputSet> Allocate(int64_t shift) const override;
  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::string AddWanted(const std::string& want,
                        KernelInputs* inputs) const override;
  std::string InputDigest() const override { return data_.InputDigest(); }
  std::string StorageDigest() const override { return data_.StorageDigest(); }
  std::vector<Fact> Facts() const override;
  // 1 + 6 r flop for each state element and token, with r ranks: decay, two
  // updates and one read-out a rank.
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
  // Those of laws.h.
  std::vector<std::string> Laws() const override;
  Result<Law> MakeLaw(const std::string& name, uint64_t salt) const override;
  // The same op with other inputs.
  virtual std::unique_ptr<Trial> MakeAnother(const Case& request,
                                             Mamba3ScanData data) const;
  // The carry that a call has left becomes the initial one. Requires: as many
  // runs and heads.
  void TakeCarry(const OutputSet& done);
  std::vector<NullCandidate> Nulls() const override;
  std::vector<PlantedFault> Faults(uint64_t salt) const override;
  // The truth of a row on other data of the same shapes, and that of a run
  // which goes on from the start of its batch row. A run without tokens has a
  // row, too.
  void RowWith(const Mamba3ScanData& data, int64_t row, RowBits* bits) const;
  void JoinedRow(int64_t row, RowBits* bits) const;
  std::string WhyUndeclared(const NumericProfile& profile) const override;
  std::unique_ptr<AllowedResults> Envelope(const NumericProfile& profile,
                                           std::vector<int64_t> rows,
                                           int threads) const override;
  std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const override;
  std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const override;
  void RunBaseline(const OutputSet& outputs) const override;
  const char* CorrectKernel() const override;
  std::span<const char* const> Canaries() const override;

 protected:
  // `outputs`: as Outputs(), or without a carry's k and v.
  Mamba3ScanTrial(const Case& request, Mamba3ScanData data,
                  std::vector<OutputSpec> outputs);
  bool HasOutput(const std::string& name) const;

  // What the ops of this recurrence differ in: how a whole problem is computed.
  virtual void ComputeByReference(const Mamba3ScanOutputs& outputs) const;
  virtual Status ComputeOptimized(const Variation& how,
                                  const Mamba3ScanOutputs& outputs,
                                  Execution* execution) const;

 private:
  // One head of a run by the reference, from token `first` of its row on; the
  // outputs are those of the run's own tokens.
  void RowOf(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
             int64_t run, int64_t head, int64_t first, RowBits* bits) const;
  void EmptyRow(const Mamba3ScanInputs& inputs, int64_t run, int64_t head,
                RowBits* bits) const;

  Case case_;
  Mamba3ScanCase request_;
  Mamba3ScanData data_;
  std::vector<reference::Run> runs_;
  std::vector<OutputSpec> outputs_;
};

// The same, token by token from carry to carry: a chain of steps.
class Mamba3StepTrial final : public Mamba3ScanTrial {
 public:
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  using Mamba3ScanTrial::Mamba3ScanTrial;

  // One token each.
  int64_t Calls() const override { return data().problem.length; }
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  std::string AddWanted(const std::string& want,
                        KernelInputs* inputs) const override;
  std::unique_ptr<Trial> MakeAnother(const Case& request,
                                     Mamba3ScanData data) const override;

 protected:
  void ComputeByReference(const Mamba3ScanOutputs& outputs) const override;
  Status ComputeOptimized(const Variation& how,
                          const Mamba3ScanOutputs& outputs,
                          Execution* execution) const override;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_TRIAL_H_
