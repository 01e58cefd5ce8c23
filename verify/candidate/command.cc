// cmd:PROGRAM ARG...
#include <string>
#include <utility>

#include "verify/candidate/candidate.h"
#include "verify/candidate/process/words.h"
#include "verify/candidate/wire/candidate.h"

namespace lockstep::verify {

Result<std::unique_ptr<Candidate>> ParseCommand(std::string_view arguments) {
  Result<std::vector<std::string>> words = SplitWords(arguments);
  if (!words.ok()) {
    return Status::Error("candidate cmd: " + words.message() +
                         "; want a program and its arguments, such as "
                         "'cmd:python3 host.py'");
  }
  const std::string spec = "cmd:" + JoinWords(words.value());
  return MakeWireCandidate({"cmd", spec, std::move(words.value())});
}

}  // namespace lockstep::verify
