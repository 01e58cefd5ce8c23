#include "verify/candidate/wire/candidate.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/wide_output.h"
#include "verify/candidate/wire/host_caller.h"
#include "verify/candidate/wire/plan.h"
#include "verify/candidate/wire/receipt.h"
#include "verify/candidate/wire/wants.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

// What every pair of a small case sees, where tiles are told of.
void AddMask(const Trial& trial, const KernelInputs& inputs,
             KernelInputs* mask) {
  const NamedTensor* q = inputs.Find("q");
  const NamedTensor* k = inputs.Find("k");
  if (inputs.op != "attention_forward" || q == nullptr || k == nullptr) return;
  if (q->shape.size() != 4) return;  // tokens have no grid [sq, skv]
  const int64_t rows =
      ElementCount(q->shape) / std::max<int64_t>(q->shape.back(), 1);
  const int64_t keys = k->shape[k->shape.size() - 2];
  if (rows > kCountedPairs / std::max<int64_t>(keys, 1)) return;
  // That it could not be had is no fault of the kernel.
  const std::string why = trial.wants().AddWanted("mask.dense", mask);
  if (!why.empty()) mask->Drop("mask.dense");
}

class WireCandidate final : public Candidate, public Planner {
 public:
  explicit WireCandidate(WireLaunch launch)
      : Candidate({.backend = launch.door, .apart = true}),
        launch_(std::move(launch)),
        host_(launch_.arguments) {}

  std::string Spec(const Variation&) const override { return launch_.spec; }
  Introduction Introduce() const override;
  std::vector<std::string> Claims() const {
    std::vector<std::string> claims = host_.hello().wants;
    for (const std::string& feature : host_.hello().features) {
      // What a host does with outputs says nothing of cases.
      if (feature != "reset" && feature != "pages") claims.push_back(feature);
    }
    return claims;
  }

  Status Start() override {
    const Status started = host_.Start();
    if (started.ok()) return {};
    return Status::Error("candidate '" + launch_.spec +
                         "': " + started.message());
  }
  Status Prepare(const CaseRequest&) override { return Start(); }
  std::vector<Variation> Variations(const Trial& trial) const override;
  void Begin(const CaseRequest& request, const Trial& trial,
             const Variation& how, const OutputSet& outputs) override;
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override;
  RunOutcome Plan(const CaseRequest& request, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution* execution) override;
  RunOutcome Settle(const CaseRequest& request) override {
    return host_.Settle(request.last);
  }

 private:
  // What all calls of a run are made with.
  struct Asked {
    const CaseRequest* request = nullptr;
    const Trial* trial = nullptr;
    const Variation* how = nullptr;
    const PoisonOf* poison = nullptr;
  };

  RunOutcome RunCalls(const CaseRequest& request, const Trial& trial,
                      const Variation& how, const OutputSet& outputs,
                      Execution* execution);
  std::string WhyNot(const std::string& op, const char* lane) const;
  // A call that Begin() has asked for, with what it points to.
  struct Begun {
    PoisonOf poison;
    WantedCall wanted;
  };

  static PoisonOf PoisonFor(const CaseRequest& request, const KernelCall& call);
  RunOutcome RunCall(const Asked& asked, KernelCall call, Execution* execution);
  void Ask(const Asked& asked, const KernelCall& call, Place place);
  // Takes the answer to the call that was asked.
  RunOutcome Take(const Asked& asked, const WantedCall& wanted,
                  Execution* execution);
  void TakeReceipt(const Asked& asked, const KernelCall& call,
                   const HostAnswer& answer, Execution* execution);

  WireLaunch launch_;
  HostCaller host_;
  std::unique_ptr<Begun> begun_;
  std::string kept_;  // inputs that the kernel was seen to hold
};

Introduction WireCandidate::Introduce() const {
  const HostHello& hello = host_.hello();
  Introduction told = {.usual_op = hello.ops.size() == 1 ? hello.ops[0] : "",
                       .profile = hello.profile,
                       .lacks = hello.lacks,
                       .splits = hello.splits};
  if (hello.name.empty()) return told;
  std::string lacks;
  for (const std::string& output : hello.lacks) {
    lacks += (lacks.empty() ? "" : " ") + output;
  }
  told.identity = {{"name", hello.name},       {"version", hello.version},
                   {"commit", hello.commit},   {"wire", hello.wire},
                   {"lacks", lacks},           {"isolation", hello.isolation},
                   {"guards", host_.guards()}, {"peeking", Peeking()}};
  if (!kept_.empty()) told.identity.push_back({"kept", kept_});
  return told;
}

std::vector<Variation> WireCandidate::Variations(const Trial&) const {
  std::vector<Variation> variations;
  for (const char* check : {"addresses", "contents"}) {
    Variation how = traits().fixed;
    how.check = check;
    variations.push_back(std::move(how));
  }
  for (const int threads : host_.hello().threads) {
    Variation how = traits().fixed;
    how.check = "threads";
    how.threads = threads;
    variations.push_back(std::move(how));
  }
  return variations;
}

// Why the kernel does not do this case, by what it has said of itself.
std::string WireCandidate::WhyNot(const std::string& op,
                                  const char* lane) const {
  const HostHello& hello = host_.hello();
  const auto has = [](const std::vector<std::string>& list,
                      const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  if (!has(hello.ops, op)) return hello.name + " does not compute " + op;
  // A host that says nothing may be older than f16.
  const bool computes =
      lane == nullptr || (hello.lanes.empty() ? std::string_view(lane) != "f16"
                                              : has(hello.lanes, lane));
  if (!computes) {
    return hello.name + " does not compute in lane " + lane;
  }
  return "";
}

PoisonOf WireCandidate::PoisonFor(const CaseRequest& request,
                                  const KernelCall& call) {
  PoisonOf poison = ReadPoison(call.outputs);
  for (const NamedOutput& output : call.outputs) {
    if (!request.WideOut() || !IsNarrow(output.type)) continue;
    // Rounded to the lane again, it is the poison that it was.
    uint32_t& bits = poison[output.name];
    bits = WideBits(LaneOf(output.type), bits);
  }
  return poison;
}

void WireCandidate::Begin(const CaseRequest& request, const Trial& trial,
                          const Variation& how, const OutputSet& outputs) {
  // Later calls of a chain take what those before them have answered.
  if (trial.Calls() != 1 || !Start().ok()) return;
  KernelCall call = trial.Call(0, outputs);
  PoisonOf poison = PoisonFor(request, call);
  Result<WantedCall> wanted = WantedCall::Make(
      trial, host_.hello(), request.WideOut(), std::move(call));
  if (!wanted.ok()) return;
  begun_.reset(new Begun{std::move(poison), std::move(wanted.value())});
  Ask({&request, &trial, &how, &begun_->poison}, begun_->wanted.call(),
      Place::kNext);
}

RunOutcome WireCandidate::Run(const CaseRequest& request, const Trial& trial,
                              const Variation& how, const OutputSet& outputs,
                              Execution* execution) {
  const std::vector<std::string> before = host_.hello().lacks;
  RunOutcome outcome = RunCalls(request, trial, how, outputs, execution);
  if (outcome.check != "outputs" || request.claims == nullptr) return outcome;
  // It answered without outputs that its profile does not have either.
  for (const OutputSpec& output : trial.outputs()) {
    if (!HasOutput(*request.claims, output.name)) host_.AddLacks(output.name);
  }
  const std::vector<std::string>& lacks = host_.hello().lacks;
  const bool unclaimed =
      std::all_of(lacks.begin(), lacks.end(), [&](const std::string& output) {
        return !HasOutput(*request.claims, output);
      });
  if (lacks == before || !unclaimed) return outcome;
  return RunCalls(request, trial, how, outputs, execution);
}

RunOutcome WireCandidate::RunCalls(const CaseRequest& request,
                                   const Trial& trial, const Variation& how,
                                   const OutputSet& outputs,
                                   Execution* execution) {
  if (const std::unique_ptr<Begun> begun = std::move(begun_)) {
    return Take({&request, &trial, &how, &begun->poison}, begun->wanted,
                execution);
  }
  const Status started = Start();
  if (!started.ok()) return BrokenBy({"start", started.message()});
  KernelCall call = trial.Call(0, outputs);
  const ElementType type = call.outputs[0].type;
  const std::string why =
      WhyNot(call.inputs.op, IsReal(type) ? ElementTypeName(type) : nullptr);
  if (!why.empty()) return Unsupported(why);
  if (trial.Calls() > 1 && !host_.hello().lacks.empty()) {
    return Unsupported(host_.hello().name + " lacks " + host_.hello().lacks[0] +
                       ", and the next call of a chain goes on from outputs");
  }
  const PoisonOf poison = PoisonFor(request, call);
  const Asked asked = {&request, &trial, &how, &poison};
  // Of all calls; a host that does not say it of one says nothing.
  std::optional<double> seconds = 0, processor = 0, waited = 0;
  const auto add = [](const std::optional<double>& one,
                      std::optional<double>* all) {
    if (!one) all->reset();
    if (*all) **all += *one;
  };
  const auto run = [&](KernelCall one) {
    RunOutcome outcome = RunCall(asked, std::move(one), execution);
    add(execution->seconds, &seconds);
    add(execution->processor_seconds, &processor);
    add(execution->call_seconds, &waited);
    return outcome;
  };
  RunOutcome outcome = run(std::move(call));
  for (int64_t n = 1; n < trial.Calls(); ++n) {
    if (outcome.state != RunOutcome::State::kRan) return outcome;
    outcome = run(trial.Call(n, outputs));
  }
  if (outcome.state == RunOutcome::State::kRan) {
    execution->seconds = seconds;
    execution->processor_seconds = processor;
    execution->call_seconds = waited;
  }
  return outcome;
}

RunOutcome WireCandidate::RunCall(const Asked& asked, KernelCall call,
                                  Execution* execution) {
  Result<WantedCall> wanted = WantedCall::Make(
      *asked.trial, host_.hello(), asked.request->WideOut(), std::move(call));
  if (!wanted.ok()) return Unsupported(wanted.message());
  Place place =
      asked.how->check == "addresses" ? Place::kElsewhere : Place::kNext;
  if (asked.how->check == "contents") {
    // The same addresses first hold something else. A kernel that goes by
    // addresses answers with that.
    KernelCall other;
    other.inputs = TurnedInputs(wanted->call().inputs);
    other.outputs = wanted->call().outputs;
    Ask(asked, other, Place::kNext);
    RunOutcome outcome = host_.Take().outcome;
    if (outcome.state != RunOutcome::State::kRan) return outcome;
    place = Place::kSame;
  }
  Ask(asked, wanted->call(), place);
  return Take(asked, wanted.value(), execution);
}

void WireCandidate::Ask(const Asked& asked, const KernelCall& call,
                        Place place) {
  host_.Ask({.case_line = asked.request->line,
             .call = &call,
             .poison = asked.poison,
             .threads = asked.how->threads,
             .splits = asked.how->splits,
             .shift = asked.how->shift,
             .place = place,
             .tables = false});
}

RunOutcome WireCandidate::Take(const Asked& asked, const WantedCall& wanted,
                               Execution* execution) {
  const HostAnswer answer = host_.Take();
  if (answer.outcome.state != RunOutcome::State::kRan) return answer.outcome;
  answer.placed->CopyBack();
  const std::string outside = wanted.Return();
  if (!outside.empty()) {
    return BrokenBy({"guard_zones", "wrote outside its outputs: " + outside});
  }
  TakeReceipt(asked, wanted.call(), answer, execution);
  return {};
}

void WireCandidate::TakeReceipt(const Asked& asked, const KernelCall& call,
                                const HostAnswer& answer,
                                Execution* execution) {
  const WireReceipt& receipt = answer.reply.receipt;
  const CallFacts facts = {launch_.door, host_.hello().name, asked.how->threads,
                           answer.seconds, asked.trial->outputs()[0].shape[1]};
  KernelInputs mask;
  if (receipt.tile) AddMask(*asked.trial, call.inputs, &mask);
  if (!receipt.kept.empty()) kept_ = receipt.kept;
  *execution = ToExecution(receipt, facts);
  execution->untrue = WhyUntrue(receipt, facts, mask.Find("mask.dense"));
}

RunOutcome WireCandidate::Plan(const CaseRequest& request,
                               const BlockPlanScene& scene, PlanTrace* trace,
                               Execution* execution) {
  const Status started = Start();
  if (!started.ok()) return BrokenBy({"start", started.message()});
  const std::string why = WhyNot("block_plan", nullptr);
  if (!why.empty()) return Unsupported(why);
  const PlanCall plan(scene);
  const PoisonOf poison;
  const HostAnswer answer = host_.Call({.case_line = request.line,
                                        .call = &plan.call(),
                                        .poison = &poison,
                                        .threads = std::nullopt,
                                        .splits = std::nullopt,
                                        .shift = 0,
                                        .place = Place::kNext,
                                        .tables = true});
  if (answer.outcome.state != RunOutcome::State::kRan) return answer.outcome;
  const CallFacts facts = {launch_.door, host_.hello().name, std::nullopt,
                           answer.seconds, 1};
  *execution = ToExecution(answer.reply.receipt, facts);
  execution->untrue = WhyUntrue(answer.reply.receipt, facts, nullptr);
  return plan.Read(answer.reply.tables, answer.placed->outputs()[0],
                   host_.out(), trace);
}

}  // namespace

std::vector<std::string> ClaimsOf(const Candidate& candidate) {
  const auto* wire = dynamic_cast<const WireCandidate*>(&candidate);
  return wire == nullptr ? std::vector<std::string>() : wire->Claims();
}

std::unique_ptr<Candidate> MakeWireCandidate(WireLaunch launch) {
  return std::make_unique<WireCandidate>(std::move(launch));
}

}  // namespace lockstep::verify
