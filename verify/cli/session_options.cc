#include "verify/cli/session_options.h"

#include <cstdlib>

#include "verify/base/status_macros.h"
#include "verify/cli/cli.h"
#include "verify/run/shard.h"

namespace lockstep::verify::cli {
namespace {

// Of the options, those that may change a verdict, as words of a command.
std::vector<std::string> ReplayOptions(const SessionOptions& options) {
  std::vector<std::string> words;
  const auto flag = [&](bool given, const char* word) {
    if (given) words.emplace_back(word);
  };
  flag(options.all_rows, "--all-rows");
  flag(options.no_invariance, "--no-invariance");
  flag(options.no_probes, "--no-probes");
  flag(options.require_executed, "--require-executed");
  flag(options.allow_auto, "--allow-auto");
  if (options.repeats > 0) {
    words.insert(words.end(), {"--repeat", std::to_string(options.repeats)});
  }
  if (!options.max_memory.empty()) {
    words.insert(words.end(), {"--max-memory", options.max_memory});
  }
  if (options.invariance) {
    const bool named = !options.claims.Empty();
    words.insert(words.end(),
                 {"--claims", named ? PrintClaims(options.claims) : "all"});
  }
  if (!options.hosts.call_timeout.empty()) {
    words.insert(words.end(), {"--call-timeout", options.hosts.call_timeout});
  }
  if (!options.hosts.candidate_memory.empty()) {
    words.insert(words.end(),
                 {"--candidate-memory", options.hosts.candidate_memory});
  }
  return words;
}

}  // namespace

Status ReadClaims(const std::string& words, SessionOptions* options) {
  const Result<ClaimSet> claims = ParseClaims(words);
  if (!claims.ok()) return Status::Error("--claims: " + claims.message());
  if (claims->Empty()) return Status::Error("--claims names none");
  options->invariance = true;
  options->try_claims = claims.value();
  if (words != "all") options->claims = claims.value();
  return {};
}

Status ApplyReplayOptions(const std::vector<std::string>& words,
                          SessionOptions* options) {
  for (size_t n = 0; n < words.size(); ++n) {
    const std::string& word = words[n];
    if (word == "--all-rows") {
      options->all_rows = true;
    } else if (word == "--no-invariance") {
      options->no_invariance = true;
    } else if (word == "--no-probes") {
      options->no_probes = true;
    } else if (word == "--require-executed") {
      options->require_executed = true;
    } else if (word == "--allow-auto") {
      options->allow_auto = true;
    } else if (word == "--repeat" && n + 1 < words.size()) {
      options->repeats = std::strtoll(words[++n].c_str(), nullptr, 10);
    } else if (word == "--claims" && n + 1 < words.size()) {
      const Status claims = ReadClaims(words[++n], options);
      if (!claims.ok()) return Status::Error("finding: " + claims.message());
    } else if (word == "--max-memory" && n + 1 < words.size()) {
      options->max_memory = words[++n];
    } else if (word == "--call-timeout" && n + 1 < words.size()) {
      options->hosts.call_timeout = words[++n];
    } else if (word == "--candidate-memory" && n + 1 < words.size()) {
      options->hosts.candidate_memory = words[++n];
    } else {
      return Status::Error("finding: unknown option '" + word + "'");
    }
  }
  return {};
}

Result<RunOptions> ResolveOptions(const SessionOptions& options) {
  RunOptions run;
  if (!options.budget.empty()) {
    ASSIGN_OR_RETURN(run.budget, ParseBudget(options.budget));
  }
  if (!options.shard.empty()) {
    ASSIGN_OR_RETURN(run.shard, ResolveShard(options.shard));
  }
  run.max_memory = DefaultMemoryBudget();
  if (!options.max_memory.empty()) {
    ASSIGN_OR_RETURN(run.max_memory, ParseMemory(options.max_memory));
  }
  if (!options.seed.empty()) {
    ASSIGN_OR_RETURN(run.seed, ParseSeed(options.seed));
  }
  run.fail_fast = options.fail_fast;
  run.draws = options.draws;
  run.jobs = options.jobs;
  run.known = options.known;
  run.judge.materialise.max_bytes = run.max_memory;
  run.judge.threads = options.threads;
  run.judge.repeats = options.repeats;
  run.judge.all_rows = options.all_rows;
  run.judge.invariance = !options.no_invariance;
  run.judge.probes = !options.no_probes;
  run.judge.one_field = true;
  run.judge.causes = options.explain_seconds > 0;
  run.judge.explain_seconds = options.explain_seconds;
  run.judge.pictures = !options.html.empty();
  run.judge.require_executed = options.require_executed;
  run.judge.replay_options = ReplayOptions(options);
  run.judge.try_claims = options.try_claims;
  run.judge.only_claims = options.invariance;
  return run;
}

}  // namespace lockstep::verify::cli
