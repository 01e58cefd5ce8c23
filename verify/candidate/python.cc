// py:MODULE:FUNCTION or py:FILE.py:FUNCTION, with NAME=VALUE behind it: a
// Python function in a process of its own, `python3 -m lockstep.host`.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/text.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/process/child_process.h"
#include "verify/candidate/process/words.h"
#include "verify/candidate/wire/candidate.h"

namespace lockstep::verify {

std::string PythonProgram() {
  const char* named = std::getenv("LOCKSTEP_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

namespace {

// What is started in place of `python3 -m lockstep.host`: where a Python
// process that started this one runs the kernel itself, the package names the
// program that joins the two here, with its arguments.
std::string StandIn() {
  const char* named = std::getenv("LOCKSTEP_PYTHON_HOST");
  return named != nullptr ? named : "";
}

Status BadFunction(const std::string& what) {
  return Status::Error("candidate py: " + what +
                       "; want MODULE:FUNCTION or FILE.py:FUNCTION and facts "
                       "of the kernel, such as py:kernels.py:attend,"
                       "framework=torch");
}

}  // namespace

Result<std::unique_ptr<Candidate>> ParsePython(std::string_view arguments) {
  Result<std::vector<std::string>> words = SplitWords(arguments, ',');
  if (!words.ok()) return BadFunction(words.message());
  if (words->empty()) return BadFunction("there is no function");
  const std::string& target = words.value()[0];
  const size_t colon = target.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == target.size()) {
    return BadFunction(Quote(target) + " names no function of a module");
  }
  const std::filesystem::path file = target.substr(0, colon);
  std::error_code error;
  if (file.extension() == ".py" && StandIn().empty() &&
      !std::filesystem::exists(file, error)) {
    return BadFunction("there is no file '" + file.string() + "'");
  }
  for (size_t n = 1; n < words->size(); ++n) {
    const size_t equals = words.value()[n].find('=');
    if (equals == std::string::npos || equals == 0) {
      return BadFunction("argument " + Quote(words.value()[n]) +
                         " is no NAME=VALUE");
    }
  }
  const std::string& device = TheHostLimits().device;
  if (!device.empty()) words->push_back("device=" + device);
  WireLaunch launch = {"py", "py:" + JoinWords(words.value(), ','), {}};
  Result<std::vector<std::string>> stand_in = SplitWords(StandIn());
  if (stand_in.ok() && !stand_in->empty()) {
    launch.arguments = std::move(stand_in.value());
  } else {
    launch.arguments = {PythonProgram(), "-m", "lockstep.host"};
    launch.arguments.insert(launch.arguments.end(), words->begin(),
                            words->end());
  }
  return MakeWireCandidate(std::move(launch));
}

}  // namespace lockstep::verify
