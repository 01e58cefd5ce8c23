#include "verify/candidate/calls/recorder.h"

#include <algorithm>
#include <utility>

#include "verify/candidate/wire/plan.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/backends.h"
#include "verify/ops/varlen/token_outputs.h"

namespace lockstep::verify {
namespace {

constexpr const char* kTheCase = "the case";

// What a call is for, in words; `own`: the case, or a draw of it.
std::string WhatOf(const CaseRequest& request, const Variation& how,
                   const std::string& own, bool again) {
  if (!request.probe.empty()) return "probe " + request.probe;
  if (!request.law.empty()) return "law " + request.law;
  if (request.once_more) return "a smaller case";
  if (how.check == "contents") return "again, after other contents";
  if (!again) return own;
  return own == kTheCase ? "again" : own + ", again";
}

}  // namespace

std::vector<std::string> NotTriedByCalls() {
  return {"alignment", "guard_zones", "inputs_unchanged", "written"};
}

std::vector<Variation> VariationsOfCalls() {
  Variation how;
  how.check = "contents";
  return {how};
}

std::vector<Variation> CallRecorder::Variations(const Trial&) const {
  return VariationsOfCalls();
}

CallRecorder::CallRecorder(Sink sink, bool answers)
    : Candidate({.backend = "files", .cannot_try = NotTriedByCalls()}),
      sink_(std::move(sink)),
      answers_(answers) {}

void CallRecorder::BeginDraw(int64_t n) { own_ = "draw " + std::to_string(n); }

std::vector<int64_t> CallRecorder::TakeCalls() {
  own_ = kTheCase;
  std::vector<int64_t> taken = std::move(taken_);
  taken_.clear();
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

RecordedCall* CallRecorder::Note(const CaseRequest& request,
                                 const std::string& what,
                                 const KernelInputs& inputs) {
  const bool chained = !request.taken.empty();
  const int64_t after = chained ? last_.entry.number : 0;
  const std::string digest = CallDigest(
      inputs, request.taken, chained ? last_.entry.digest : std::string());
  std::vector<int64_t>& known = known_[digest];
  const size_t nth = used_[digest]++;
  last_ = {};
  last_.entry = {0, digest, what};
  last_.request = &request;
  last_.inputs = &inputs;
  last_.after = after;
  const bool is_new = nth == known.size();
  if (is_new) {
    known.push_back(static_cast<int64_t>(calls_.size()) + 1);
    last_.entry.number = known.back();
    calls_.push_back(last_.entry);
  }
  last_.entry.number = known[nth];
  taken_.push_back(known[nth]);
  return is_new ? &last_ : nullptr;
}

void CallRecorder::Tell(const RecordedCall& call) {
  if (status_.ok()) status_ = sink_(call);
}

RunOutcome CallRecorder::Run(const CaseRequest& request, const Trial& trial,
                             const Variation& how, const OutputSet& outputs,
                             Execution* execution) {
  *execution = Execution{};
  execution->backend = traits().backend;
  const Result<KernelInputs> handed = CallInputs(request, trial);
  if (!handed.ok()) return Failed(handed.message());
  const KernelInputs& inputs = handed.value();
  if (how.check == "contents") {
    // The answers to these are not read.
    const KernelInputs other = TurnedInputs(inputs);
    RecordedCall* call = Note(request, "other contents", other);
    if (call != nullptr) {
      call->outputs = CallOutputs(FileOutputs::Specs(trial));
      call->trial = &trial;
      Tell(*call);
    }
  }
  // Names the call by its place among equal ones.
  const bool again =
      std::any_of(taken_.begin(), taken_.end(), [&](int64_t number) {
        return calls_[static_cast<size_t>(number) - 1].what == own_;
      });
  RecordedCall* call = Note(request, WhatOf(request, how, own_, again), inputs);
  if (answers_) trial.kernels().RunReference(outputs, execution);
  if (call != nullptr) {
    call->outputs = CallOutputs(FileOutputs::Specs(trial));
    call->trial = &trial;
    call->answer = answers_ ? &outputs : nullptr;
    Tell(*call);
  }
  return {};
}

RunOutcome CallRecorder::Plan(const CaseRequest& request,
                              const BlockPlanScene& scene, PlanTrace*,
                              Execution*) {
  const PlanCall plan(scene);
  RecordedCall* call = Note(request, kTheCase, plan.call().inputs);
  if (call != nullptr) {
    call->scene = &scene;
    Tell(*call);
  }
  return {RunOutcome::State::kUnsupported, "nothing is answered yet", ""};
}

RunOutcome CallRecorder::Settle(const CaseRequest&) {
  used_.clear();
  return {};
}

}  // namespace lockstep::verify
