#include "verify/candidate/calls/answers.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/io/npy.h"
#include "verify/base/printable.h"
#include "verify/candidate/answer_file.h"
#include "verify/candidate/calls/call.h"
#include "verify/candidate/calls/index.h"
#include "verify/candidate/calls/recorder.h"
#include "verify/candidate/wire/plan.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/backends.h"
#include "verify/tables/files.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

// Of unsupported.txt.
constexpr size_t kMostReason = 1024;

RunOutcome Broken(const std::string& message) {
  return {RunOutcome::State::kError, "candidate files: " + message, "",
          "answer"};
}

class CallAnswers final : public Candidate, public Planner {
 public:
  explicit CallAnswers(std::string folder)
      : Candidate({.backend = "files",
                   .computes = false,
                   .cannot_try = NotTriedByCalls()}),
        folder_(std::move(folder)) {}

  std::string Spec(const Variation&) const override {
    return "files:" + folder_;
  }
  std::vector<Variation> Variations(const Trial&) const override {
    return VariationsOfCalls();
  }

  Status Start() override {
    if (started_) return {};
    Result<CallIndex> index = ReadCallIndex(folder_);
    if (!index.ok())
      return Status::Error("candidate files: " + index.message());
    profile_ = std::move(index->profile);
    mutable_traits().draws = index->draws;
    for (IndexedCall& call : index->calls) {
      known_[std::move(call.digest)].push_back(call.number);
    }
    started_ = true;
    return {};
  }
  Status Prepare(const CaseRequest&) override { return Start(); }
  void Reset() override { used_.clear(); }
  RunOutcome Settle(const CaseRequest&) override {
    used_.clear();
    return {};
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override;
  RunOutcome Plan(const CaseRequest& request, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution* execution) override;

 private:
  // The answer to one call: where it lies, and what is in it.
  struct Found {
    RunOutcome outcome;
    std::string path;
    SafetensorsFile file;
  };
  Found Find(const CaseRequest& request, const KernelInputs& inputs);
  RunOutcome Absent(const std::string& what) const {
    return {RunOutcome::State::kAbsent, what, ""};
  }

  std::string folder_;
  bool started_ = false;
  std::string profile_;  // that the calls were chosen for
  std::map<std::string, std::vector<int64_t>> known_;  // calls by digest
  std::map<std::string, size_t> used_;                 // of them, by the case
  std::string last_;                                   // digest
};

CallAnswers::Found CallAnswers::Find(const CaseRequest& request,
                                     const KernelInputs& inputs) {
  const std::string digest = CallDigest(inputs, request.taken, last_);
  last_ = digest;
  const auto known = known_.find(digest);
  size_t nth = used_[digest]++;
  Found found;
  if (request.once_more && known != known_.end()) {
    nth = std::min(nth, known->second.size() - 1);
  }
  if (known == known_.end() || nth >= known->second.size()) {
    found.outcome =
        Absent("no such call in " + IndexFile(folder_) +
               (profile_.empty() ? ", which is of other cases"
                                 : ", which is of other cases, or of another "
                                   "profile than " +
                                       Printable(profile_)));
    return found;
  }
  const std::string name = CallFolder(known->second[nth]);
  const std::string place = folder_ + "/" + name;
  const auto why = ReadWholeFile(place + "/unsupported.txt", kMostReason);
  if (why.ok()) {
    found.outcome = {RunOutcome::State::kUnsupported,
                     Printable(std::string(why->begin(), why->end())), ""};
    return found;
  }
  const Result<std::string> path = FindAnswer(place);
  if (!path.ok()) {
    found.outcome = Absent(path.message());
    return found;
  }
  found.path = path.value();
  Result<SafetensorsFile> file = ReadTensors(found.path, request.max_bytes);
  if (!file.ok()) {
    found.outcome = Broken(file.message());
    return found;
  }
  found.file = std::move(file.value());
  const auto& metadata = found.file.metadata();
  const auto of = metadata.find("digest");
  if (of != metadata.end() && of->second != digest) {
    found.outcome = Broken(found.path + " is the answer to another call");
  }
  return found;
}

RunOutcome CallAnswers::Run(const CaseRequest& request, const Trial& trial,
                            const Variation& how, const OutputSet& outputs,
                            Execution* execution) {
  *execution = Execution{};
  execution->backend = traits().backend;
  const Result<KernelInputs> handed = CallInputs(request, trial);
  if (!handed.ok()) return Failed(handed.message());
  const KernelInputs& inputs = handed.value();
  if (how.check == "contents") {
    const Found other = Find(request, TurnedInputs(inputs));
    if (other.outcome.state != RunOutcome::State::kRan) return other.outcome;
  }
  const Found found = Find(request, inputs);
  if (found.outcome.state != RunOutcome::State::kRan) return found.outcome;
  return TakeAnswer({found.path, &found.file}, request, trial, outputs);
}

RunOutcome CallAnswers::Plan(const CaseRequest& request,
                             const BlockPlanScene& scene, PlanTrace* trace,
                             Execution*) {
  const PlanCall plan(scene);
  const Found found = Find(request, plan.call().inputs);
  if (found.outcome.state == RunOutcome::State::kAbsent) {
    return Broken(found.outcome.message);
  }
  if (found.outcome.state != RunOutcome::State::kRan) return found.outcome;
  Result<PlanTrace> read = ReadTables(scene.asked, found.file);
  if (!read.ok()) {
    return {RunOutcome::State::kMismatch, read.message(), "tables"};
  }
  *trace = std::move(read.value());
  return {RunOutcome::State::kRan, WhoseAnswer(found.path, request.max_bytes),
          ""};
}

}  // namespace

bool HasCallIndex(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(IndexFile(folder), error);
}

std::unique_ptr<Candidate> MakeCallAnswers(std::string folder) {
  return std::make_unique<CallAnswers>(std::move(folder));
}

}  // namespace lockstep::verify
