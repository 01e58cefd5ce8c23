// Programs of candidates, as verbs see them: limits, and their end.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
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
              "Memory that a candidate's program may use (default: half of the "
              "machine's)")
      .Type("SIZE");
  verb->Value(
          "--candidate-user", &arguments->candidate_user,
          "Start a candidate's program as this user, so that it cannot read "
          "the judge's memory (needs root)")
      .Type("NAME");
  verb->Value("--device", &arguments->device,
              "Where the arrays of a py: candidate lie, such as cuda (default: "
              "as the kernel says)")
      .Type("DEVICE");
}

namespace {

Result<HostUser> FindUser(const std::string& name) {
  const std::string option = "--candidate-user '" + name + "': ";
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) return Status::Error(option + "there is no such user");
  if (entry->pw_uid == 0) {
    return Status::Error(option +
                         "root can read the judge's memory; want "
                         "another user, such as nobody");
  }
  if (geteuid() != 0) {
    return Status::Error(
        option +
        "only root can start programs as another user; without the option your "
        "programs cannot read the judge's memory either");
  }
  return HostUser{name, entry->pw_uid, entry->pw_gid, entry->pw_dir};
}

}  // namespace

Status LimitHosts(const HostArguments& arguments,
                  const std::vector<std::string>& specs) {
  const bool python = std::any_of(
      specs.begin(), specs.end(),
      [](const std::string& spec) { return spec.starts_with("py:"); });
  if (!arguments.device.empty() && !python) {
    return Status::Error("--device '" + arguments.device +
                         "' is for kernels in Python, and no --candidate is "
                         "py:FILE.py:FUNCTION; a shared object says its own "
                         "device (docs/gpu.md)");
  }
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
    ASSIGN_OR_RETURN(limits.memory, ParseMemory(arguments.candidate_memory,
                                                "--candidate-memory"));
  }
  if (!arguments.candidate_user.empty()) {
    ASSIGN_OR_RETURN(limits.user, FindUser(arguments.candidate_user));
  }
  limits.device = arguments.device;
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
