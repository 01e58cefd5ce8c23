// lockstep fuzz
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "fuzz/campaign.h"
#include "fuzz/cli/cli.h"
#include "fuzz/corpus.h"
#include "fuzz/run.h"
#include "fuzz/shard_writer.h"
#include "fuzz/text.h"
#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/cli/process.h"
#include "verify/cli/watch.h"
#include "verify/registry/ops.h"
#include "verify/report/report.h"
#include "verify/run/self_check.h"
#include "verify/run/shard.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kFuzzFooter =
    "Examples:\n"
    "  lockstep fuzz --budget 60s\n"
    "  lockstep fuzz mamba3_scan --budget 10m\n"
    "  lockstep fuzz --where 'mask=causal d=64|128 hkv=hq sinklogit=none'\n"
    "  lockstep fuzz --candidate mutant:plan.diagonal_full\n"
    "  lockstep fuzz --candidate variant:flash --budget 10000cases --seed 7\n\n"
    "Exit codes: 0 nothing found, 1 found, 3 the candidate broke, 5 nothing\n"
    "proved, 130 interrupted before anything was found (docs/verdicts.md).";

const std::string kDefaultOp = "attention_forward";

struct FuzzArguments {
  std::string op;  // empty: the candidate's, or attention_forward
  std::string candidate = "builtin:optimized,threads=1";
  std::string profile;
  bool allow_auto = false;
  std::string budget = "60s";
  std::string seed = "0";
  std::string json;
  std::string fail_on;
  std::string where;
  std::string guards;  // empty: some for our own kernels, none for others
  bool in_shards = false;
  std::string orders;  // empty: all for our own kernels, amx for others
  std::vector<int64_t> tile;
  int64_t findings = 1;
  int64_t plans = 2;
  double shrink = 60;
  std::vector<std::string> corpus;
  std::string out;
  std::string shard;
  verify::cli::HostArguments hosts;
};

// What people and programs are told. On a terminal the progress is one line
// that is written over; elsewhere one comes now and then.
class Screen : public Observer {
 public:
  // `writer` may be null.
  Screen(const FuzzArguments& arguments, const Plan& plan, const Target& target,
         ShardWriter* writer)
      : json_(arguments.json),
        to_stdout_(arguments.json == "-"),
        plan_(plan),
        target_(target),
        writer_(writer) {}

  Status OnCase(const Tried& tried, const Report& report) override {
    if (writer_ != nullptr && tried.drawn) {
      RETURN_IF_ERROR(writer_->Write(RecordLine(RecordOf(tried), true),
                                     tried.outcome->Found()));
    }
    ShowProgress(report);
    return {};
  }
  // Of the caller: a report that does not change meanwhile.
  void ShowProgress(const Report& report) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? kOnTerminal : kElsewhere)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string line = ProgressText(report, seconds, plan_.budget);
    std::cerr << (terminal_ ? "\r\x1b[K" + line : line + "\n") << std::flush;
  }

  void Say(const std::string& line) { Text() << line << "\n" << std::flush; }

  void OnFault(const Fault& fault) override {
    Clear();
    Text() << FaultText(fault) << std::flush;
    Emit(FaultEvent(fault, target_));
  }

  // Says and delivers everything; the process's exit code.
  int Finish(const Report& report, int exit_code) {
    Status status;
    if (writer_ != nullptr) status = writer_->Close();
    Summary(report, exit_code);
    if (!json_.empty() && !to_stdout_) {
      const Status delivered = verify::cli::Deliver(json_, events_);
      if (status.ok()) status = delivered;
    }
    if (status.ok()) return exit_code;
    return Fail(status.message(), exit_code == verify::kExitPass
                                      ? verify::kExitUsage
                                      : exit_code);
  }

  // From a thread of its own: ends the process inside a case, or inside
  // shrinking that took its time, with what is known by then.
  void EndInside(Progress* progress, bool interrupted) {
    const std::lock_guard<std::mutex> lock(progress->mutex);
    if (progress->judging == nullptr && !progress->shrinking) return;
    Report report = ReportSoFar(*progress);
    if (progress->shrinking) {
      // Shrinking has a time of its own, past the budget.
      const Fault& fault = report.faults.back();
      const double most = plan_.shrink_seconds + kPatience;
      if (!interrupted && fault.shrunk.seconds < most) return;
      OnFault(fault);
    }
    report.interrupted = interrupted;
    verify::cli::EndProcess(Finish(report, ExitCode(report, target_)));
  }

 private:
  static constexpr std::chrono::milliseconds kOnTerminal{100};
  static constexpr std::chrono::milliseconds kElsewhere{30000};
  static constexpr double kPatience = 1;  // seconds, of a case being shrunk

  void Summary(const Report& report, int exit_code) {
    Clear();
    const verify::Domain& domain = *plan_.domain;
    const std::string_view op = domain.op;
    if (op != "block_plan") {  // a planner has no instruction set
      Text() << verify::NotRunLine(verify::TargetsNotRun(
          target_.candidate, op == "attention_forward", false));
    }
    Text() << SummaryText(report, domain, exit_code) << std::flush;
    Emit(SummaryEvent(report, domain, exit_code));
  }

  // Where stdout belongs to a program, people read stderr.
  std::ostream& Text() { return to_stdout_ ? std::cerr : std::cout; }
  void Clear() {
    if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }
  void Emit(const std::string& line) {
    events_ += line;
    if (to_stdout_) std::cout << line << std::flush;
  }

  const std::string json_;
  const bool to_stdout_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const Plan& plan_;
  const Target& target_;
  ShardWriter* const writer_;
  std::string events_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

// By default some for kernels that have guards, which know all orders, too.
//   Requires: the plan has its domain.
Status ResolveGuards(const FuzzArguments& a, const Target& target, Plan* plan) {
  using Guards = verify::DomainOptions::Guards;
  plan->draw.gpu_orders = a.orders.empty() ? target.guarded : a.orders == "all";
  plan->draw.in_shards = a.in_shards;
  plan->draw.guards = target.guarded ? Guards::kSome : Guards::kNone;
  if (a.guards.empty()) return {};
  plan->draw.guards = *verify::GuardsByName(a.guards);
  if (plan->draw.guards != Guards::kOnly ||
      plan->domain->draw_guards != nullptr) {
    return {};
  }
  return Status::Error(std::string("--guards only: no fast path of ") +
                       plan->domain->op + " has a guard");
}

Status Resolve(const FuzzArguments& a, Plan* plan, Target* target) {
  ASSIGN_OR_RETURN(Target opened, Target::Open(a.candidate, a.profile, a.op,
                                               false, a.allow_auto));
  *target = std::move(opened);
  const std::string& op = !a.op.empty()              ? a.op
                          : target->usual_op.empty() ? kDefaultOp
                                                     : target->usual_op;
  ASSIGN_OR_RETURN(plan->domain, verify::FindDomain(op));
  ASSIGN_OR_RETURN(plan->budget, verify::ParseBudget(a.budget));
  ASSIGN_OR_RETURN(plan->seed, verify::cli::ParseSeed(a.seed));
  plan->max_signatures = a.findings;
  plan->shrink_seconds = a.shrink;
  target->variations = a.plans - 1;
  target->suspicious = a.fail_on == "suspicious";
  plan->draw.lane = target->lane;
  if (a.tile.size() == 2) {
    plan->draw.tile_q = a.tile[0];
    plan->draw.tile_kv = a.tile[1];
  }
  const Status guards = ResolveGuards(a, *target, plan);
  if (!guards.ok() || a.where.empty()) return guards;
  ASSIGN_OR_RETURN(plan->where, ParseWhere(a.where));
  return CheckWhere(plan->where, *plan->domain, plan->draw);
}

// The shard, and for a campaign what a record of it has to depend on.
Status ResolveCampaign(const FuzzArguments& a, Plan* plan) {
  if (!a.shard.empty()) {
    ASSIGN_OR_RETURN(plan->shard, verify::ResolveShard(a.shard));
  }
  plan->learn = a.out.empty() && a.shard.empty();
  if (a.out.empty()) return {};
  if (!a.where.empty()) {
    return Status::Error(
        "--out records a campaign, whose cases follow from their numbers "
        "alone: leave out --where");
  }
  if (!plan->budget.cases) {
    return Status::Error(
        "--out records a campaign, which is a number of cases: give --budget "
        "as such, for instance 100000cases");
  }
  plan->max_signatures = 0;
  return {};
}

Result<Corpus> GatherCorpus(const FuzzArguments& a, const Plan& plan) {
  Corpus corpus;
  for (const std::string& path : a.corpus) {
    ASSIGN_OR_RETURN(Corpus read, ReadCorpus(path, plan.domain->op));
    corpus.Add(std::move(read));
  }
  return corpus;
}

Result<Report> RunWatched(const Plan& plan, const Target& target,
                          Screen* screen) {
  Progress progress;
  const auto tick = [&] {
    const std::lock_guard<std::mutex> lock(progress.mutex);
    screen->ShowProgress(progress.report);
  };
  const verify::cli::Watch watch(
      verify::cli::WatchInterrupt(), plan.budget.seconds,
      {.tick = tick,
       .on_interrupt = [&] { screen->EndInside(&progress, true); },
       .on_budget = [&] { screen->EndInside(&progress, false); }});
  return RunPlan(plan, target, screen, &progress);
}

int RunFuzz(const FuzzArguments& a) {
  Plan plan;
  Target target;
  Status status = verify::cli::LimitHosts(a.hosts, {a.candidate});
  if (status.ok() && !a.json.empty()) {
    status = verify::cli::CheckDeliverable(a.json);
  }
  if (status.ok()) status = Resolve(a, &plan, &target);
  if (status.ok()) status = ResolveCampaign(a, &plan);
  if (!status.ok()) return Fail(status.message());
  Result<Corpus> corpus = GatherCorpus(a, plan);
  if (!corpus.ok()) return Fail(corpus.message());
  const Status room = verify::cli::CheckThreads(target.threads);
  if (!room.ok()) return Fail(room.message());
  const Status sound = verify::SelfCheck(verify::Ops());
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), verify::kExitSelf);
  }
  verify::WatchThreads();
  target.stop = verify::cli::WatchInterrupt();
  ShardWriter writer;
  if (!a.out.empty()) {
    status = writer.Open(a.out, DescribeCampaign(plan, target), &plan);
    if (!status.ok()) return Fail(status.message());
  }
  // No gate reads yesterday's findings where this run does not come to its end.
  if (!a.json.empty() && a.json != "-" && !verify::IsStream(a.json)) {
    std::remove(verify::WhereWritten(a.json).c_str());
  }
  Screen screen(a, plan, target, a.out.empty() ? nullptr : &writer);
  if (!a.corpus.empty()) screen.Say("corpus    " + corpus->Text());
  plan.corpus = std::move(corpus->sequences);
  Result<Report> report = RunWatched(plan, target, &screen);
  if (!report.ok()) return Fail(report.message());
  // A candidate in our process may have changed what everything rests on.
  const Status still_sound = verify::SelfCheck(verify::Ops());
  if (!still_sound.ok()) ++report->counts.self_errors;
  const int code =
      screen.Finish(report.value(), ExitCode(report.value(), target));
  if (still_sound.ok()) return code;
  return Fail(
      "self-check failed after judging, so no verdict of this run "
      "counts: " +
          still_sound.message(),
      verify::kExitSelf);
}

}  // namespace

void AddFuzz(Parser* program) {
  Verb* verb = program->Add("fuzz", "Draw cases until one fails, and shrink it",
                            kFuzzFooter);
  auto a = std::make_shared<FuzzArguments>();
  verb->Value("OP", &a->op,
              "What to draw: attention_forward, attention_backward,\n"
              "attention_merge, block_plan, mamba3_scan, mamba3_scan_backward, "
              "mamba3_step or ssd_scan\n"
              "(default: what the candidate computes, or attention_forward)");
  verb->Value("--candidate", &a->candidate,
              "What is judged (default builtin:optimized,threads=1)")
      .Type("SPEC");
  verb->Value("--profile", &a->profile,
              "Numeric contract the candidate claims; auto: what `lockstep "
              "identify` sees")
      .Type("NAME|FILE|auto");
  verb->Flag("--allow-auto", &a->allow_auto, verify::cli::kAllowAutoHelp);
  verb->Value("--budget", &a->budget,
              "Stop after 60s, 5m, 2h or 1000cases (default 60s)")
      .Type("BUDGET");
  verb->Value("--seed", &a->seed, "Seed of the campaign (default 0)").Type("N");
  verb->Value("--findings", &a->findings,
              "Stop after so many different findings; 0: never (default 1)")
      .NonNegative();
  verb->Value("--plans", &a->plans,
              "Ways to run each case, the first included (default 2)")
      .Range(1, kMostPlans);
  verb->Value("--guards", &a->guards,
              "Cases at the guards of our fast paths: none, some (one of\n"
              "four; the default for builtin:optimized) or only")
      .OneOf({"none", "some", "only"});
  verb->Value("--orders", &a->orders,
              "Orders of products beside the chain: amx, or all, with those "
              "of\nGPUs (the default for builtin:optimized)")
      .OneOf({"amx", "all"});
  verb->Flag("--in-shards", &a->in_shards,
             "Also ask in shards for every drawn case that can be "
             "cut\n(docs/shards.md)");
  verb->Value("--where", &a->where,
              "Condition that every drawn case meets: 'mask=causal d=64|128 "
              "hkv=hq'")
      .Type("KEY=VALUE|...");
  verb->Value("--tile", &a->tile,
              "Edges that lengths gather around: queries, keys "
              "(default 4 4)")
      .Words(2, 2)
      .Range(kLeastTile, kMostTile);
  verb->Value("--shrink", &a->shrink,
              "Seconds to shrink a finding; 0: as found (default 60)")
      .NonNegative();
  verb->Value("--corpus", &a->corpus,
              "Case file or folder of them, judged first; may be repeated")
      .Repeated()
      .Type("PATH");
  verb->Value("--shard", &a->shard,
              "Only cases n with n mod N = i; auto: the scheduler's")
      .Type("i/N|auto");
  verb->Value("--out", &a->out,
              "Append a record per case to DIR/shard-i-of-N.ndjson, or "
              "continue that file; report all findings")
      .Type("DIR");
  verb->Value("--fail-on", &a->fail_on,
              "'suspicious': a suspicion is a finding")
      .OneOf({"suspicious"});
  verb->Value("--json", &a->json, "Findings and summary as NDJSON")
      .Type("FILE|-");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->run = [a] { return verify::cli::AfterHosts(RunFuzz(*a)); };
}

}  // namespace lockstep::fuzz::cli
