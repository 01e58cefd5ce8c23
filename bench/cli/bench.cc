// lockstep bench
#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cli/cli.h"
#include "bench/cli/plan.h"
#include "bench/cli/ticker.h"
#include "bench/gate.h"
#include "bench/report.h"
#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/cli/watch.h"
#include "verify/registry/ops.h"
#include "verify/run/self_check.h"

namespace lockstep::bench::cli {
namespace {

using verify::cli::Fail;

constexpr double kApartFloor = 0.05;
constexpr size_t kMostBaseline = size_t{256} << 20;

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep bench 'attention_forward sq=1024 skv=1024 d=64 mask=causal'\n"
    "  lockstep bench 'attention_forward sq=1024 skv=1024 d=64' \\\n"
    "      --candidate builtin:optimized --candidate so:./kernel.so \\\n"
    "      --profile cpu-f32\n"
    "  lockstep bench 'attention_forward sq=1024 skv=1024 d=64' --sweep tile\n"
    "  lockstep bench --cases data/cases/targets.cases --json targets.json\n\n"
    "Exit codes: 0 every row was timed, 1 a wrong answer was not, 2 usage,\n"
    "3 a candidate broke, 130 interrupted (docs/benchmarking.md).";

std::string UtcNow() {
  const std::time_t now =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S+00:00", &utc);
  return text;
}

// Seconds that measuring may take: as typed, or so much a row.
Result<double> SecondsFor(const Arguments& a, size_t rows) {
  constexpr double kOfRow = 2, kMost = 60;
  if (a.budget.empty()) {
    return std::min(kMost, kOfRow * static_cast<double>(rows));
  }
  ASSIGN_OR_RETURN(const verify::Budget budget, verify::ParseBudget(a.budget));
  if (!budget.seconds) {
    return Status::Error("--budget '" + a.budget +
                         "': want seconds to spend, such as 20s");
  }
  return *budget.seconds;
}

int ExitCode(const Report& report) {
  int code = verify::kExitPass;
  for (const Row& row : report.table.rows) {
    if (row.refused().empty()) continue;
    const bool wrong = row.verdict() != "" && row.verdict() != "error";
    const int own = wrong ? verify::kExitFail : verify::kExitCandidate;
    code = std::max(code, own);
  }
  if (code != verify::kExitPass || !report.table.interrupted) return code;
  return verify::kExitInterrupted;
}

Status CheckFiles(const Arguments& a) {
  for (const std::string& path : {a.json, a.tune}) {
    if (path.empty()) continue;
    RETURN_IF_ERROR(verify::cli::CheckDeliverable(path));
  }
  return {};
}

// How rows have changed since a file was written. The two were not measured in
// turns, so only large changes count.
Result<std::string> AgainstText(const verify::Json& before,
                                const Report& report) {
  const Thresholds thresholds = {Thresholds{}.chance, kApartFloor};
  const auto shapes =
      CompareFiles(before, ReportJson(report), SameBy::kRow, thresholds);
  if (!shapes.ok()) return Status::Error("--baseline: " + shapes.message());
  std::string text = "\nagainst the baseline\n";
  for (const Shape& shape : shapes.value()) {
    text += "  " + shape.line + "\n    " +
            (shape.compared ? TimeText(shape.baseline_seconds) + " -> " +
                                  TimeText(shape.candidate_seconds) + ", " +
                                  PercentText(shape.told.change) + ": " +
                                  ClaimName(shape.told.claim)
                            : "not compared") +
            "\n";
  }
  return text;
}

// `before`: the baseline; null: none.
Status DeliverAll(const Arguments& a, const Report& report,
                  const verify::Json* before) {
  if (!a.json.empty()) {
    RETURN_IF_ERROR(verify::cli::Deliver(
        a.json, verify::DumpJson(ReportJson(report), 1) + "\n"));
  }
  const bool talks = a.json != "-";
  if (talks) std::cout << ReportText(report);
  if (talks && before != nullptr) {
    ASSIGN_OR_RETURN(const std::string changes, AgainstText(*before, report));
    std::cout << changes;
  }
  if (a.tune.empty()) return {};
  const auto entries = TuningOf(report.table, report.sweeps);
  RETURN_IF_ERROR(AddToTuning(a.tune, entries));
  if (talks) {
    std::cout << "\ntuning    " << entries.size()
              << (entries.size() == 1 ? " entry" : " entries") << " written to "
              << a.tune << "\n";
  }
  return {};
}

// The file of --baseline; nothing without it. Errors: it is no such result.
Result<std::optional<verify::Json>> ReadBaseline(const std::string& path) {
  std::optional<verify::Json> before;
  if (path.empty()) return before;
  ASSIGN_OR_RETURN(const auto bytes,
                   verify::ReadWholeFile(path, kMostBaseline));
  before = verify::ParseJson(std::string_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const Status sound = CheckResult(*before);
  if (sound.ok()) return before;
  return Status::Error("--baseline " + path + " " + sound.message());
}

// An interrupt met a call that takes too long to wait for. What was measured
// before stays.
[[noreturn]] void KeepMeasured(const Arguments& a, const verify::Json* before,
                               std::mutex* held, Report* report) {
  const std::lock_guard<std::mutex> lock(*held);
  for (Row& row : report->table.rows) row.SettleClock();
  const Status delivered = DeliverAll(a, *report, before);
  if (!delivered.ok()) std::cerr << "lockstep: " << delivered.message() << "\n";
  verify::cli::EndProcess(verify::kExitInterrupted);
}

// Measures, and draws every conclusion.
Report Measured(const Arguments& a, const verify::Json* before, Plan plan,
                double seconds) {
  Report report;
  std::mutex held;
  report.time = UtcNow();
  report.table.rows = std::move(plan.rows);
  TableOptions options;
  options.seconds = seconds;
  options.stop = verify::cli::WatchInterrupt();
  options.held = &held;
  {
    const verify::cli::Watch watch(
        options.stop, std::nullopt,
        {.tick = [] {},
         .on_interrupt = [&] { KeepMeasured(a, before, &held, &report); },
         .on_budget = [] {}});
    Ticker ticker("rows measured");
    options.progress = [&](int64_t done, int64_t total) {
      ticker.Show(done, total);
    };
    Measure(options, &report.table);
  }
  report.goals = CheckGoals(&report.table);
  CloseRows(&report.table);
  for (const Ask& ask : plan.planned) {
    report.goals.push_back(CheckPlanning(ask));
  }
  for (const Goal& goal : plan.alone) report.goals.push_back(CheckAlone(goal));
  report.sweeps = JudgeSweeps(report.table, plan.axes);
  return report;
}

int RunVerb(const Arguments& a) {
  Status status = verify::cli::LimitHosts(a.hosts, a.candidates);
  if (status.ok()) status = CheckFiles(a);
  if (!status.ok()) return Fail(status.message());
  const auto before = ReadBaseline(a.baseline);
  if (!before.ok()) return Fail(before.message());
  Result<Plan> plan = MakePlan(a);
  if (!plan.ok()) return Fail(plan.message());
  const Result<double> seconds = SecondsFor(a, plan->rows.size());
  if (!seconds.ok()) return Fail(seconds.message());
  // A file that cannot be added to is found before anything is measured.
  if (!a.tune.empty()) status = AddToTuning(a.tune, {});
  if (!status.ok()) return Fail(status.message());
  const Status sound = verify::SelfCheck(verify::Ops());
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), verify::kExitSelf);
  }
  const verify::Json* const known = before.value() ? &*before.value() : nullptr;
  const Report report =
      Measured(a, known, std::move(plan.value()), seconds.value());
  const Status delivered = DeliverAll(a, report, known);
  if (!delivered.ok()) return Fail(delivered.message());
  return ExitCode(report);
}

}  // namespace

void AddBench(Parser* program) {
  Verb* verb = program->Add(
      "bench", "Time kernels, as fractions of what the machine can do",
      kFooter);
  auto a = std::make_shared<Arguments>();
  verify::cli::AddCaseArguments(verb, &a->cases);
  verb->Value("--candidate", &a->candidates,
              "What is timed (default builtin:optimized); may be repeated")
      .Repeated()
      .Type("SPEC");
  verb->Value("--profile", &a->profile,
              "Numeric contract that foreign candidates claim")
      .Type("NAME|FILE");
  verb->Value("--tile", &a->tiles,
              "Also with this tile of rows x keys; may be repeated")
      .Repeated()
      .Type("QxK");
  verb->Value("--sweep", &a->sweeps,
              "Also with every plan of an axis; may be repeated")
      .Repeated()
      .Type("AXIS")
      .OneOf({kAxisNames, kAxisNames + std::size(kAxisNames)});
  verb->Value("--tune", &a->tune,
              "Add the tiles that won a sweep to this file, for "
              "LOCKSTEP_TUNING")
      .Type("FILE");
  verb->Value(
          "--budget", &a->budget,
          "Time to measure, such as 20s (default 2 s per row, at most 60 s)")
      .Type("TIME");
  verb->Value("--baseline", &a->baseline,
              "Also say what has changed since this result of --json")
      .Type("FILE");
  verb->Value("--json", &a->json, "In Google Benchmark's format")
      .Type("FILE|-");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->run = [a] { return verify::cli::AfterHosts(RunVerb(*a)); };
}

}  // namespace lockstep::bench::cli
