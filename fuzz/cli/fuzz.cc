// lockstep fuzz
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include "fuzz/campaign.h"
#include "fuzz/cli/cli.h"
#include "fuzz/corpus.h"
#include "fuzz/run.h"
#include "fuzz/shard_writer.h"
#include "fuzz/text.h"
#include "verify/files.h"
#include "verify/self_check.h"
#include "verify/shard.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep fuzz --budget 60s\n"
    "  lockstep fuzz block_plan --candidate mutant:plan.diagonal_full\n"
    "  lockstep fuzz --candidate variant:flash --budget 10000cases --seed 7\n\n"
    "Exit codes: 0 nothing found, 1 found, 3 the candidate broke, 5 nothing\n"
    "proved, 130 interrupted before anything was found (docs/verdicts.md).";

struct Arguments {
  std::string op = "attention_forward";
  std::string candidate = "builtin:optimized,threads=1";
  std::string profile;
  std::string budget = "60s";
  std::string seed = "0";
  std::string json;
  std::string fail_on;
  std::vector<int64_t> tile;
  int64_t findings = 1;
  int64_t plans = 2;
  double shrink = 60;
  std::vector<std::string> corpus;
  std::string out;
  std::string shard;
};

// A line on the terminal that is written over; nothing in a pipe.
class Screen : public Observer {
 public:
  // `writer` may be null.
  Screen(const Arguments& arguments, const verify::Budget& budget,
         ShardWriter* writer)
      : to_stdout_(arguments.json == "-"), budget_(budget), writer_(writer) {}

  Status OnCase(const Tried& tried, const Report& report) override {
    if (writer_ != nullptr && tried.drawn) {
      const Status status = writer_->Write(RecordLine(RecordOf(tried), true),
                                           tried.outcome->Found());
      if (!status.ok()) return status;
    }
    if (!terminal_) return {};
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return {};
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::cerr << "\r\x1b[K" << ProgressText(report, seconds, budget_)
              << std::flush;
    return {};
  }

  void Say(const std::string& line) { Text() << line << "\n" << std::flush; }

  void OnFault(const Fault& fault) override {
    Clear();
    Text() << FaultText(fault) << std::flush;
    Emit(FaultEvent(fault));
  }

  void Summary(const Report& report, const verify::Domain& domain,
               int exit_code) {
    Clear();
    Text() << SummaryText(report, domain, exit_code) << std::flush;
    Emit(SummaryEvent(report, domain, exit_code));
  }

  const std::string& events() const { return events_; }

 private:
  // Where stdout belongs to a program, people read stderr.
  std::ostream& Text() { return to_stdout_ ? std::cerr : std::cout; }
  void Clear() {
    if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }
  void Emit(const std::string& line) {
    events_ += line;
    if (to_stdout_) std::cout << line << std::flush;
  }

  const bool to_stdout_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const verify::Budget budget_;
  ShardWriter* const writer_;
  std::string events_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

Status Resolve(const Arguments& a, Plan* plan, Target* target) {
  const Result<const verify::Domain*> domain = verify::FindDomain(a.op);
  if (!domain.ok()) return domain.status();
  plan->domain = domain.value();
  const Result<verify::Budget> budget = verify::ParseBudget(a.budget);
  if (!budget.ok()) return budget.status();
  plan->budget = budget.value();
  const Result<uint64_t> seed = verify::cli::ParseSeed(a.seed);
  if (!seed.ok()) return seed.status();
  plan->seed = seed.value();
  plan->max_signatures = a.findings;
  plan->shrink_seconds = a.shrink;
  Result<Target> opened = Target::Open(a.candidate, a.profile);
  if (!opened.ok()) return opened.status();
  *target = std::move(opened.value());
  target->variations = a.plans - 1;
  target->suspicious = a.fail_on == "suspicious";
  plan->draw.lane = target->lane;
  if (a.tile.size() == 2) {
    plan->draw.tile_q = a.tile[0];
    plan->draw.tile_kv = a.tile[1];
  }
  return {};
}

// The shard, and for a campaign what a record of it has to depend on.
Status ResolveCampaign(const Arguments& a, Plan* plan) {
  if (!a.shard.empty()) {
    const Result<verify::Shard> shard = verify::ResolveShard(a.shard);
    if (!shard.ok()) return shard.status();
    plan->shard = shard.value();
  }
  if (a.out.empty()) return {};
  if (!plan->budget.cases) {
    return Status::Error(
        "--out records a campaign, which is a number of cases: give --budget "
        "as such, for instance 100000cases");
  }
  plan->max_signatures = 0;
  return {};
}

Result<Corpus> GatherCorpus(const Arguments& a, const Plan& plan) {
  Corpus corpus;
  for (const std::string& path : a.corpus) {
    Result<Corpus> read = ReadCorpus(path, plan.domain->op);
    if (!read.ok()) return read.status();
    corpus.Add(std::move(read.value()));
  }
  return corpus;
}

int RunVerb(const Arguments& a) {
  Plan plan;
  Target target;
  Status status = Resolve(a, &plan, &target);
  if (status.ok()) status = ResolveCampaign(a, &plan);
  if (!status.ok()) return Fail(status.message());
  Result<Corpus> corpus = GatherCorpus(a, plan);
  if (!corpus.ok()) return Fail(corpus.message());
  if (!a.json.empty()) {
    const Status writable = verify::cli::CheckDeliverable(a.json);
    if (!writable.ok()) return Fail(writable.message());
  }
  const Status sound = verify::SelfCheck();
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), verify::kExitSelf);
  }
  target.stop = verify::cli::WatchInterrupt();
  ShardWriter writer;
  if (!a.out.empty()) {
    status = writer.Open(a.out, DescribeCampaign(plan, target), &plan);
    if (!status.ok()) return Fail(status.message());
  }
  Screen screen(a, plan.budget, a.out.empty() ? nullptr : &writer);
  if (!a.corpus.empty()) screen.Say("corpus    " + corpus->Text());
  plan.corpus = std::move(corpus->sequences);
  const Result<Report> report = RunPlan(plan, target, &screen);
  if (!report.ok()) return Fail(report.message());
  const int exit_code = ExitCode(report.value(), target);
  screen.Summary(report.value(), *plan.domain, exit_code);
  if (a.json.empty() || a.json == "-") return exit_code;
  const Status delivered = verify::cli::Deliver(a.json, screen.events());
  if (delivered.ok()) return exit_code;
  return Fail(delivered.message(),
              exit_code == verify::kExitPass ? verify::kExitUsage : exit_code);
}

}  // namespace

void AddFuzz(Parser* program) {
  Verb* verb = program->Add("fuzz", "Draw cases until one fails, and shrink it",
                            kFooter);
  auto a = std::make_shared<Arguments>();
  verb->Value("OP", &a->op,
              "What to draw: attention_forward (default), block_plan,\n"
              "mamba3_scan or mamba3_step");
  verb->Value("--candidate", &a->candidate,
              "What is judged (default builtin:optimized,threads=1)")
      .Type("SPEC");
  verb->Value("--profile", &a->profile, "Numeric contract the candidate claims")
      .Type("NAME|FILE");
  verb->Value("--budget", &a->budget,
              "Stop after 60s, 5m, 2h or 1000cases (default 60s)")
      .Type("BUDGET");
  verb->Value("--seed", &a->seed, "Of the campaign (default 0)").Type("N");
  verb->Value("--findings", &a->findings,
              "Stop at so many different findings; 0: go on (default 1)")
      .NonNegative();
  verb->Value("--plans", &a->plans,
              "Ways to run each case, the first included (default 2)")
      .Range(1, 100);
  verb->Value("--tile", &a->tile,
              "Edges that lengths gather around: queries, keys "
              "(default 4 4)")
      .Words(2, 2)
      .Range(1, 4096);
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
              "take up what is there; all findings")
      .Type("DIR");
  verb->Value("--fail-on", &a->fail_on,
              "'suspicious': a suspicion is a finding")
      .OneOf({"suspicious"});
  verb->Value("--json", &a->json, "Findings and summary as NDJSON")
      .Type("FILE|-");
  verb->run = [a] { return RunVerb(*a); };
}

}  // namespace lockstep::fuzz::cli
