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
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/ops/mamba3_scan/runs_trial.h"

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
class Mamba3ScanTrial : public RunsTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  // Errors: those of MaterialiseMamba3Scan.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case& c,
                                      const NumericProfile& profile);

  Mamba3ScanTrial(const Case& request, Mamba3ScanData data)
      : Mamba3ScanTrial(request, std::move(data), Outputs(request)) {}

  // The outputs of the trial as the contract's views; of a carry those parts
  // that the trial has.
  Mamba3ScanOutputs Views(const OutputSet& outputs) const;

  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  // 1 + 6 r flop for each state element and token, with r ranks: decay, two
  // updates and one read-out a rank.
  std::optional<Work> CountWork() const override;
  int64_t RowsPerRun() const override { return data().problem.heads; }
  void RowBy(const RowInputs& from, int64_t row, RowBits* bits) const override;
  int64_t RowCost() const override;
  int64_t rows() const override;
  std::vector<int64_t> Lines(size_t output, int64_t row) const override;
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override;
  RunOutcome RunOptimized(const Variation& how, const OutputSet& outputs,
                          Execution* execution) const override;
  // Those of laws.h.
  std::vector<std::string> LawNames() const override;
  Result<Law> MakeLaw(const std::string& name, uint64_t salt) const override;
  Result<Shards> MakeShards(const ShardsAsked& asked) const override;
  std::unique_ptr<Trial> MakeAnother(const Case& request,
                                     Mamba3ScanData data) const override;
  // The carry that a call has left becomes the initial one. Requires: as many
  // runs and heads.
  void TakeCarry(const OutputSet& done);
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
  // `outputs`: as Outputs(), or without a carry's k and v.
  Mamba3ScanTrial(const Case& request, Mamba3ScanData data,
                  std::vector<OutputSpec> outputs);

  // What the ops of this recurrence differ in: how a whole problem is computed.
  virtual void ComputeByReference(const Mamba3ScanOutputs& outputs) const;
  virtual Status ComputeOptimized(const Variation& how,
                                  const Mamba3ScanOutputs& outputs,
                                  Execution* execution) const;

 private:
  void EmptyRow(const Mamba3ScanInputs& inputs, int64_t run, int64_t head,
                RowBits* bits) const;
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
