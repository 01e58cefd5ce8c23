// lockstep env: the machine and the build, as far as bits could depend on it.
#include <iostream>
#include <memory>

#include "reference/contract/team.h"
#include "verify/cli/cli.h"
#include "verify/cli/process.h"
#include "verify/registry/ops.h"
#include "verify/report/events.h"
#include "verify/run/environment.h"
#include "verify/run/self_check.h"

namespace lockstep::verify::cli {
namespace {

std::string EnvironmentText(const Environment& e) {
  std::string targets;
  for (const TargetState& target : e.targets) {
    targets += " " + target.name + (target.supported ? "" : " (not here)");
  }
  std::string oracle;
  for (const TargetState& target : e.oracle) {
    oracle += " " + target.name + (target.supported ? "" : " (not here)");
  }
  const auto yes = [](bool b) { return b ? "yes" : "no"; };
  return "lockstep  " + e.version + ", contract " +
         std::to_string(e.contract_version) + ", commit " + e.commit +
         (e.dirty ? " with changes" : "") + "\ncompiler  " + e.compiler + ", " +
         e.build_type + "\nhighway   " + e.highway + "\ntargets  " + targets +
         "\nused      " +
         (e.used.empty() ? "reference: no target is supported" : e.used) +
         "\noracle   " + oracle + "\nmachine   " + e.cpu + ", " +
         std::to_string(e.threads) + " threads, " +
         std::to_string(e.memory_bytes >> 20) + " MiB, " + e.system + " " +
         e.machine + "\nthreads   " + std::to_string(DefaultThreads()) +
         " a call, between calls " + e.waiting + "\nrounding  " + e.rounding +
         ", flush to zero " + yes(e.ftz) + ", denormals are zero " +
         yes(e.daz) + "\n";
}

}  // namespace

void AddEnv(Parser* program) {
  Verb* verb =
      program->Add("env", "Machine, targets, rounding state, versions",
                   "Examples:\n  lockstep env\n  lockstep env --json -");
  auto json = std::make_shared<std::string>();
  const Option option =
      verb->Value("--json", json.get(), "As JSON (default: to stdout)")
          .Words(0, 1)
          .Type("FILE|-");
  verb->run = [json, option] {
    Environment environment = ReadEnvironment();
    const char* variable = WaitingVariable();
    environment.waiting = variable == nullptr
                              ? HowTeamsWait()
                              : std::string("as ") + variable + " says";
    if (!option.given()) {
      std::cout << EnvironmentText(environment);
    } else {
      const std::string path = json->empty() ? "-" : *json;
      const Status status = Deliver(path, EnvironmentJson(environment));
      if (!status.ok()) return Fail(status.message());
    }
    const Status sound = SelfCheck(Ops());
    if (!sound.ok()) {
      return Fail("self-check failed: " + sound.message(), kExitSelf);
    }
    return kExitPass;
  };
}

}  // namespace lockstep::verify::cli
