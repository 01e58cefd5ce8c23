// The laws of a scan: other inputs, made of a case's own, whose answers are
// known from its own answers. What each says: docs/verdicts.md, "Laws".
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
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
  kScale,
  kIds,
  kGate
};

// Those that every trial of runs has; `salt`: of all that is drawn.
class ScanLaws {
 public:
  ScanLaws(const RunsTrial& trial, uint64_t salt);

  // Whether a law says something.
  bool Causal() const { return p_.length > 1; }
  bool Several() const { return runs_.size() > 1; }
  bool Splits() const { return RunsOf(2) > 0; }
  bool Isolates() const;
  bool Encodes() const;
  bool HasHeads() const { return p_.heads > 1; }
  bool HasIds() const {
    return p_.runs == Mamba3ScanProblem::Runs::kSegments && Several();
  }

  // Errors: memory. Requires: it says something.
  Result<Law> Isolation() const;
  Result<Law> Encoding() const;
  Result<Law> Relabel() const;
  Result<Law> Separate() const;
  Result<Law> Order() const;

 protected:
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

  // The inputs of a call that goes on from the carry of another.
  std::vector<TakenInput> TakenCarries() const;
  // As a law's. Mamba-2 carries no k and v: the call behind a cut has no beta
  // term, which is zero, but may turn a -0 of the state into +0. y never holds
  // a -0.
  std::vector<bool> ZerosAlike() const;

  // A call on other inputs; nothing is kept yet.
  LawCall CallOn(const Case& request, Mamba3ScanData data) const;
  Result<LawCall> CallOn(const Case& request, const ScanPick& pick) const;
  // Tokens `at` of the run as the only one. `request`: what is asked, with its
  // carries, or with room for others.
  Result<LawCall> Alone(int64_t run, const reference::Run& at,
                        Case request) const;
  static Law OneCall(bool structural, LawCall call);
  std::vector<std::vector<int64_t>> Reordered() const;
  // Groups, and the heads of a group, in other places, as they may be.
  ScanPick MovedHeads() const;

  // Lines of output `t` of a row of the call are those of the case's row from
  // line `from` on.
  void KeepLines(size_t t, int64_t here, int64_t own, size_t from,
                 LawCall* call) const;
  // All outputs of a run are those of a run of the case.
  void KeepRun(int64_t here, int64_t own, LawCall* call) const;

  const RunsTrial& trial() const { return trial_; }
  const Mamba3ScanProblem& problem() const { return p_; }
  const std::vector<reference::Run>& runs() const { return runs_; }
  const Case& request() const { return request_; }

 private:
  const RunsTrial& trial_;
  const Mamba3ScanProblem& p_;
  const std::vector<reference::Run>& runs_;
  Case request_;  // of inputs that are as the case's
  uint64_t salt_;
};

// And those of mamba3_scan, its steps and ssd_scan.
class ForwardLaws : public ScanLaws {
 public:
  using ScanLaws::ScanLaws;

  // The output norm has an epsilon, which is not scaled.
  bool Scales() const { return !problem().norm_epsilon; }
  bool HasGate() const { return problem().gate; }

  Result<Law> Causality() const;
  Result<Law> Split() const;
  Result<Law> Heads() const;
  Result<Law> Scale() const;
  Result<Law> Gate() const;
};

// One law of a table; tables are in the order in which laws are tried.
template <typename Laws>
struct LawRow {
  const char* name;
  bool (Laws::*holds)() const;
  Result<Law> (Laws::*make)() const;
};
template <typename Laws, size_t kRows>
std::vector<std::string> NamesOfLaws(const LawRow<Laws> (&rows)[kRows],
                                     const Laws& laws) {
  std::vector<std::string> names;
  for (const LawRow<Laws>& row : rows) {
    if ((laws.*row.holds)()) names.push_back(row.name);
  }
  return names;
}
template <typename Laws, size_t kRows>
Result<Law> MakeLawOf(const LawRow<Laws> (&rows)[kRows], const Laws& laws,
                      const std::string& name) {
  for (const LawRow<Laws>& row : rows) {
    if (name != row.name || !(laws.*row.holds)()) continue;
    Result<Law> law = (laws.*row.make)();
    if (law.ok()) law->name = name;
    return law;
  }
  return Status::Error("there is no law '" + name + "'");
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_LAWS_H_
