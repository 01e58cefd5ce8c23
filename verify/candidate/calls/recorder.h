// A candidate that answers nothing and records the calls that the judge makes,
// for kernels that run elsewhere.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_CALLS_RECORDER_H_
#define LOCKSTEP_VERIFY_CANDIDATE_CALLS_RECORDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "verify/candidate/calls/call.h"
#include "verify/candidate/calls/index.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/kernels.h"

namespace lockstep::verify {

// One call that no call before has been, with everything there is to write.
struct RecordedCall {
  IndexedCall entry;
  const CaseRequest* request = nullptr;
  const KernelInputs* inputs = nullptr;
  std::vector<NamedOutput> outputs;  // CallOutputs; none for tables
  // The call whose outputs are the inputs request->taken; 0: none.
  int64_t after = 0;
  // One of the two: tensors are asked for, or tables.
  const Trial* trial = nullptr;
  const BlockPlanScene* scene = nullptr;
  // The reference's answer, on request.
  const OutputSet* answer = nullptr;
};

class CallRecorder final : public Candidate, public Planner {
 public:
  using Sink = std::function<Status(const RecordedCall&)>;

  // `answers`: has the reference answer every call for the sink.
  CallRecorder(Sink sink, bool answers);

  // The next calls are those of further draw n of the case, from 1.
  void BeginDraw(int64_t n);
  // The numbers of the calls since the last time, ascending; a case follows.
  std::vector<int64_t> TakeCalls();
  const std::vector<IndexedCall>& calls() const { return calls_; }
  // What the sink could not do.
  const Status& status() const { return status_; }

  std::string Spec(const Variation&) const override { return "files:"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial& trial) const override;
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override;
  RunOutcome Plan(const CaseRequest& request, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution* execution) override;
  RunOutcome Settle(const CaseRequest& request) override;

 private:
  // Notes the call; null: it is a known one. The sink has to be told then.
  RecordedCall* Note(const CaseRequest& request, const std::string& what,
                     const KernelInputs& inputs);
  void Tell(const RecordedCall& call);

  Sink sink_;
  bool answers_;
  Status status_;
  std::vector<IndexedCall> calls_;
  // By digest: the calls that are answers to it, and how many of them the case
  // has used.
  std::map<std::string, std::vector<int64_t>> known_;
  std::map<std::string, size_t> used_;
  std::vector<int64_t> taken_;    // by the case
  std::string own_ = "the case";  // what is judged: it, or a draw of it
  RecordedCall last_;
};

// What folders of answers can never show, and how the judge asks them for an
// answer again, apart from the second run.
std::vector<std::string> NotTriedByCalls();
std::vector<Variation> VariationsOfCalls();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CALLS_RECORDER_H_
