// lockstep identify: a profile that the author does not have to write.
#include "verify/identify/identify.h"

#include <memory>
#include <optional>
#include <utility>

#include "verify/cli/cli.h"
#include "verify/cli/watch.h"
#include "verify/report/identify/json.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kIdentifyFooter =
    "Examples:\n"
    "  lockstep identify py:kernel.py:attend --out mine.profile\n"
    "  lockstep verify CASE --candidate py:kernel.py:attend --profile "
    "mine.profile\n"
    "Exit 1: an answer that no legal value of a field explains (cannot tell). "
    "Exit 3:\nthe kernel gave no answer (docs/identify.md).";

struct IdentifyArguments {
  std::string candidate;
  std::string op;
  std::string lane;
  std::string out;
  std::string json;
  HostArguments hosts;
};

void AddIdentifyOptions(Verb* verb, IdentifyArguments* a) {
  verb->Value("candidate,--candidate", &a->candidate,
              "The kernel: so:, py:, cmd:, variant: ...")
      .Required()
      .Type("SPEC");
  verb->Value("--op", &a->op,
              "The op that it computes (default: what it says, else the first)")
      .OneOf(IdentifiableOps());
  verb->Value("--lane", &a->lane,
              "Lane of its tensors (default: the first in which it answers)")
      .OneOf({kLaneRows[0].name, kLaneRows[1].name, kLaneRows[2].name});
  verb->Value("--out", &a->out, "The profile (default: to stdout)")
      .Type("FILE|-");
  verb->Value("--json", &a->json,
              "Profile and evidence as one line of JSON, in place of the text")
      .Type("FILE|-");
  AddHostArguments(verb, &a->hosts);
}

std::string OpOf(const IdentifyArguments& a, const Candidate& candidate) {
  if (!a.op.empty()) return a.op;
  const std::string usual = candidate.Introduce().usual_op;
  return usual.empty() ? IdentifiableOps().front() : usual;
}

// The op, and the lane that is asked in first.
IdentifyRequest RequestOf(const IdentifyArguments& a,
                          const Candidate& candidate) {
  IdentifyRequest request;
  request.op = OpOf(a, candidate);
  request.lane = LanesToAsk(candidate).front();
  for (size_t n = 0; n < kWideLanes; ++n) {
    if (a.lane == kLaneRows[n].name) request.lane = static_cast<Lane>(n);
  }
  return request;
}

Result<Identified> Ask(const IdentifyArguments& a, Candidate& candidate) {
  // A call may last: it is not waited for.
  const Watch watch(WatchInterrupt(), std::nullopt,
                    {.tick = [] {},
                     .on_interrupt = [] { EndProcess(kExitInterrupted); },
                     .on_budget = [] {}});
  if (a.lane.empty()) {
    return IdentifyInItsLane(a.op, WatchInterrupt(), candidate);
  }
  IdentifyRequest request = RequestOf(a, candidate);
  request.stop = WatchInterrupt();
  return Identify(request, candidate);
}

// Words of a summary: "18 fields: 15 seen, 2 assumed, 1 reported".
std::string SummaryOf(const Identified& found) {
  std::string text = std::to_string(found.fields.size()) + " answers:";
  const char* before = " ";
  for (const Word word :
       {Word::kSeen, Word::kReported, Word::kAssumed, Word::kCannotTell}) {
    int count = 0;
    for (const FieldEvidence& field : found.fields) {
      count += field.word == word ? 1 : 0;
    }
    if (count == 0) continue;
    text += before + std::to_string(count) + " " + WordName(word);
    before = ", ";
  }
  return text;
}

int Deliver(const IdentifyArguments& a, const Identified& found) {
  Status status;
  if (!a.json.empty()) status = cli::Deliver(a.json, IdentifiedEvent(found));
  const std::string out = a.out.empty() && a.json.empty() ? "-" : a.out;
  if (status.ok() && !out.empty()) {
    status = cli::Deliver(out, IdentifiedText(found));
  }
  if (!status.ok()) return Fail(status.message());
  if (out != "-" && !out.empty()) Note(out + ": " + SummaryOf(found));
  return found.CannotTell() ? kExitFail : kExitPass;
}

int AskKernel(const IdentifyArguments& a) {
  const Status out =
      CheckDeliverables({{"--out", a.out}, {"--json", a.json}}, {});
  if (!out.ok()) return Fail(out.message());
  const Status limited = LimitHosts(a.hosts, {a.candidate});
  if (!limited.ok()) return Fail(limited.message());
  auto candidate = ParseCandidate(a.candidate);
  if (!candidate.ok()) return Fail(candidate.message());
  const Status started = candidate.value()->Start();
  if (!started.ok()) return Fail(started.message(), kExitCandidate);
  const Status may =
      MayAsk(RequestOf(a, *candidate.value()), *candidate.value());
  if (!may.ok()) return Fail(may.message());
  const Result<Identified> found = Ask(a, *candidate.value());
  if (*WatchInterrupt()) return Fail("interrupted", kExitInterrupted);
  if (!found.ok()) return Fail(found.message(), kExitCandidate);
  return Deliver(a, found.value());
}

}  // namespace

void AddIdentify(Parser* program) {
  Verb* verb = program->Add("identify",
                            "Ask a kernel for its arithmetic: a profile with "
                            "the evidence for each field",
                            kIdentifyFooter);
  auto arguments = std::make_shared<IdentifyArguments>();
  AddIdentifyOptions(verb, arguments.get());
  verb->run = [arguments] { return AfterHosts(AskKernel(*arguments)); };
}

}  // namespace lockstep::verify::cli
