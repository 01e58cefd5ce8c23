// Programs of candidates, as verbs see them: limits, and their end.
#include <charconv>
#include <string>

#include "verify/candidate/wire/host.h"
#include "verify/cli/cli.h"

namespace lockstep::verify::cli {

void AddHostArguments(Verb* verb, HostArguments* arguments) {
  verb->Value("--call-timeout", &arguments->call_timeout,
              "Seconds that a call of a candidate's program may take "
              "(default: 300 the first time, then 60, or 20 times the "
              "slowest)")
      .Type("SECONDS");
  verb->Value("--candidate-memory", &arguments->candidate_memory,
              "That a candidate's program may use (default: half the memory)")
      .Type("SIZE");
}

Status LimitHosts(const HostArguments& arguments) {
  HostLimits limits;
  if (!arguments.call_timeout.empty()) {
    const std::string& text = arguments.call_timeout;
    double seconds = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, seconds);
    if (error != std::errc{} || stop != end || !(seconds > 0)) {
      return Status::Error("--call-timeout '" + text +
                           "': want seconds above 0, such as 60 or 0.5");
    }
    limits.call_seconds = seconds;
  }
  if (!arguments.candidate_memory.empty()) {
    const Result<int64_t> memory =
        ParseMemory(arguments.candidate_memory, "--candidate-memory");
    if (!memory.ok()) return memory.status();
    limits.memory = memory.value();
  }
  SetHostLimits(limits);
  return {};
}

bool EndHosts() {
  const std::vector<std::string> wrong = CloseHosts();
  for (const std::string& what : wrong) Note(what);
  return wrong.empty();
}

int AfterHosts(int exit_code) {
  return EndHosts() || exit_code == kExitSelf ? exit_code : kExitCandidate;
}

}  // namespace lockstep::verify::cli
