// The laws of a scan: other inputs, made of a case's own, whose answers are
// known from its own answers. What each says: docs/verdicts.md, "Laws".
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "reference/runs.h"
#include "verify/case/case.h"
#include "verify/inputs/mamba3_scan_pick.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// What a law draws; each has a stream of its own.
enum class LawDraw : uint32_t {
  kCut,
  kRun,
  kRuns,
  kRows,
  kHeads,
  kGroups,
  kScale
};

// The laws of one trial; `salt`: of all that is drawn.
class ScanLaws {
 public:
  ScanLaws(const Mamba3ScanTrial& trial, uint64_t salt);

  // Whether a law says something.
  bool Causal() const { return p_.length > 1; }
  bool Several() const { return runs_.size() > 1; }
  bool Splits() const { return RunsOf(2) > 0; }
  bool Isolates() const;
  bool Encodes() const;
  bool HasHeads() const { return p_.heads > 1; }
  // The output norm has an epsilon, which is not scaled.
  bool Scales() const { return !p_.norm_epsilon; }

  // Errors: memory. Requires: it says something.
  Result<Law> Causality() const;
  Result<Law> Isolation() const;
  Result<Law> Encoding() const;
  Result<Law> Separate() const;
  Result<Law> Order() const;
  Result<Law> Split() const;
  Result<Law> Heads() const;
  Result<Law> Scale() const;

 private:
  int64_t Count() const { return static_cast<int64_t>(runs_.size()); }
  const reference::Run& At(int64_t run) const {
    return runs_[static_cast<size_t>(run)];
  }
  int64_t TokensOf(int64_t run) const { return At(run).end - At(run).first; }
  // How many have so many tokens at least.
  int64_t RunsOf(int64_t tokens) const;
  // A drawn run of so many at least. Requires: RunsOf(tokens) > 0.
  int64_t DrawRun(int64_t tokens) const;
  // 0 .. n - 1.
  int64_t Draw(LawDraw what, int64_t n) const;

  // Whether what a call exports behind that token is all that the next needs.
  bool CarryIsWhole(int64_t row, int64_t token) const;

  // A call on other inputs; nothing is kept yet.
  LawCall CallOn(const Case& request, Mamba3ScanData data) const;
  Result<LawCall> CallOn(const Case& request, const ScanPick& pick) const;
  // Tokens first .. end - 1 of the run as the only one, with its carry, or
  // with room for another.
  Result<LawCall> Alone(int64_t run, int64_t first, int64_t end,
                        bool another_carry) const;
  static Law OneCall(bool structural, LawCall call);
  std::vector<std::vector<int64_t>> Reordered() const;

  // Lines of output `t` of a row of the call are those of the case's row from
  // line `from` on.
  void KeepLines(size_t t, int64_t here, int64_t own, size_t from,
                 LawCall* call) const;
  // All outputs of a run are those of a run of the case.
  void KeepRun(int64_t here, int64_t own, LawCall* call) const;

  const Mamba3ScanTrial& trial_;
  const Mamba3ScanProblem& p_;
  const std::vector<reference::Run>& runs_;
  Case request_;  // of inputs that are as the case's
  uint64_t salt_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_
