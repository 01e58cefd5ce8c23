// lockstep check
#include <iostream>
#include <memory>

#include "fuzz/check/check.h"
#include "fuzz/check/keep.h"
#include "fuzz/cli/cli.h"
#include "verify/base/status_macros.h"
#include "verify/cli/process.h"
#include "verify/cli/watch.h"
#include "verify/registry/ops.h"
#include "verify/run/self_check.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kCheckFooter =
    "Examples:\n"
    "  lockstep check attention.py:attend\n"
    "  lockstep check attention.py:attend --is 'causal window=128 softcap=50'\n"
    "  lockstep check ./kernel.so --is causal\n\n"
    "Without --is nothing says what the kernel should compute: the last line "
    "is\nCONSISTENT with what it was seen to compute, not PASS.\n"
    "Exit codes: 0 pass or consistent, 1 fail, 2 usage, 3 the kernel broke, 5 "
    "too\nlittle was judged, or --require-stated without --is, 6 self-check "
    "failed,\n130 interrupted (docs/verdicts.md).";

struct CheckArguments {
  check::Request request;
  std::string budget = "60s";
  bool is_long = false;
  bool write = false;
  verify::cli::HostArguments hosts;
};

constexpr double kLong = 600;  // seconds

// Ends the run from outside where a call lasts beyond the budget.
Result<check::Outcome> CheckWatched(const check::Request& request) {
  check::Screen screen(&std::cout);
  const auto& seconds = request.budget.seconds;
  // A step that began in time may end; a kernel that hangs does not.
  const std::optional<double> most =
      seconds ? std::optional<double>(*seconds * 2 + 60) : std::nullopt;
  const verify::cli::Watch watch(
      verify::cli::WatchInterrupt(), most,
      {.tick = [] {},
       .on_interrupt =
           [] { verify::cli::EndProcess(verify::kExitInterrupted); },
       .on_budget =
           [] {
             std::cout << "THIN      the budget was over long ago, inside a "
                          "call\n";
             verify::cli::EndProcess(verify::kExitVacuous);
           }});
  return check::Check(request, &screen).Run();
}

int RunCheck(CheckArguments* a) {
  if (!a->hosts.device.empty()) {
    return Fail(
        "--device: check asks kernels in memory of the CPU; verify and "
        "fuzz take it (docs/gpu.md)");
  }
  const Status limited =
      verify::cli::LimitHosts(a->hosts, {"py:" + a->request.kernel});
  if (!limited.ok()) return Fail(limited.message());
  a->request.keeps = a->write;
  if (a->write) {
    const Status free = check::CheckFree(a->request.kernel);
    if (!free.ok()) return Fail(free.message());
  }
  const Result<verify::Budget> budget = verify::ParseBudget(a->budget);
  if (!budget.ok()) return Fail(budget.message());
  a->request.budget = budget.value();
  if (a->is_long) a->request.budget = {kLong, std::nullopt};
  const Status sound = verify::SelfCheck(verify::Ops());
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), verify::kExitSelf);
  }
  verify::WatchThreads();
  a->request.stop = verify::cli::WatchInterrupt();
  const Result<check::Outcome> outcome = CheckWatched(a->request);
  if (*a->request.stop) return Fail("interrupted", verify::kExitInterrupted);
  if (!outcome.ok()) return Fail(outcome.message());
  if (!a->write) return outcome->exit_code;
  const Status kept = check::Keep(a->request.kernel, outcome.value());
  if (!kept.ok()) return Fail(kept.message());
  std::string names;
  for (const std::string& file : check::FilesOf(a->request.kernel)) {
    names += (names.empty() ? "" : ", ") + file;
  }
  verify::cli::Note("wrote " + names);
  return outcome->exit_code;
}

}  // namespace

void AddCheck(Parser* program) {
  Verb* verb = program->Add(
      "check", "Tell what a kernel computes, and whether it does so everywhere",
      kCheckFooter);
  auto a = std::make_shared<CheckArguments>();
  verb->Value("kernel", &a->request.kernel,
              "FILE.py:FUNCTION, KERNEL.so, \"cmd:...\", or a candidate's spec")
      .Required()
      .Type("KERNEL");
  verb->Value("--is", &a->request.is,
              "What it should compute: 'causal window=128 softcap=50'; "
              "anything else is a FAIL")
      .Type("READING");
  verb->Flag("--require-stated", &a->request.require_stated,
             "Exit 5 without --is");
  verb->Value("--budget", &a->budget,
              "Time of all steps together, or cases that are drawn (default "
              "60s)")
      .Type("BUDGET");
  verb->Flag("--long", &a->is_long, "The same as --budget 10m");
  verb->Flag("--write", &a->write,
             "Write lockstep.toml, cases, profile and a workflow for a gate; "
             "replaces no file");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->run = [a] { return verify::cli::AfterHosts(RunCheck(a.get())); };
}

}  // namespace lockstep::fuzz::cli
