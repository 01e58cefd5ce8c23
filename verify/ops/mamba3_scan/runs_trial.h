// What trials of runs have in common: mamba3_scan, its steps, ssd_scan and the
// gradients of mamba3_scan.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_RUNS_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_RUNS_TRIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/runs.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/ops/whole_trial.h"

namespace lockstep::verify {

// The name of an axis of an output; empty where it has none.
inline std::string_view AxisOf(const OutputSpec& spec, size_t axis) {
  return spec.axes[axis] != nullptr ? spec.axes[axis] : "";
}

// What a row is computed from; of gradients, the cotangents are those of
// `data`. `joined`: a run goes on from the start of its batch row.
struct RowInputs {
  const Mamba3ScanProblem& problem;
  const Mamba3ScanInputs& inputs;
  const Mamba3ScanData& data;
  bool joined = false;
};

// The case with the inputs of each probe for which `of_use` returns true.
std::vector<Case> ScanProbeCases(const Case& c,
                                 const std::function<bool(ProbeKind)>& of_use);

// Rows of a run lie side by side: RowsPerRun() of them, in the order of their
// heads. An op may have more rows behind those of all runs.
class RunsTrial : public WholeTrial {
 public:
  const Case& request() const { return case_; }
  const Mamba3ScanData& data() const { return data_; }
  const std::vector<reference::Run>& runs() const { return runs_; }

  virtual int64_t RowsPerRun() const = 0;
  int64_t RowOf(int64_t run, int64_t head) const {
    return run * RowsPerRun() + head * RowsPerRun() / data_.problem.heads;
  }
  // The same op with other inputs.
  virtual std::unique_ptr<Trial> MakeAnother(const Case& request,
                                             Mamba3ScanData data) const = 0;
  // The truth of a row on other inputs of the same shapes, which may leave a
  // feature out. A run without tokens has rows, too.
  virtual void RowBy(const RowInputs& from, int64_t row,
                     RowBits* bits) const = 0;

  std::string AddWanted(const std::string& want,
                        KernelInputs* inputs) const override;
  std::string InputDigest() const override { return data_.InputDigest(); }
  std::string StorageDigest() const override { return data_.StorageDigest(); }
  std::vector<Fact> Facts() const override;
  void ReferenceRow(int64_t row, RowBits* bits) const override;
  std::vector<int64_t> TellingRows() const override;
  // Of targets, threads, and both together.
  std::vector<Variation> OptimizedVariations(
      const Variation& fixed) const override;
  std::vector<NullCandidate> Nulls() const override;
  std::vector<PlantedFault> PlantFaults(uint64_t salt) const override;
  std::string WhyUndeclared(const NumericProfile& profile) const override;
  // Of runs without tokens where they may export anything, and what NaN of a
  // later token may reach.
  std::vector<int64_t> OpenLines(const NumericProfile& profile,
                                 size_t output) const override;
  std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const override;

 protected:
  // Lines of a row that NaN of another token may reach where a mask multiplies.
  virtual std::vector<int64_t> ReachedLines(const NumericProfile& profile,
                                            size_t output,
                                            int64_t row) const = 0;
  RunsTrial(const Case& request, Mamba3ScanData data,
            std::vector<OutputSpec> outputs);
  bool HasOutput(const std::string& name) const;
  // Tokens of the longest run; 1 at least.
  int64_t LongestRun() const;
  const Mamba3ScanCase& scan() const { return request_; }

 private:
  Case case_;
  Mamba3ScanCase request_;
  Mamba3ScanData data_;
  std::vector<reference::Run> runs_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_RUNS_TRIAL_H_
