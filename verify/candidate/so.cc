// so:PATH[,ARG=VALUE...]: a shared object with the functions of
// lockstep/candidate.h, in a process of its own: lockstep-host.
#include <algorithm>
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
namespace {

constexpr const char* kHost = "lockstep-host";

// Beside this program; else where PATH leads.
std::string FindHost() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = self.parent_path() / kHost;
  return !error && fs::exists(beside, error) ? beside.string() : kHost;
}

// A campaign makes a candidate for each case.
const std::string& PathOfHost() {
  static const std::string path = FindHost();
  return path;
}

Status BadLibrary(const std::string& what) {
  return Status::Error("candidate so: " + what +
                       "; want the path of a shared object and its "
                       "arguments, such as so:./kernel.so,tile=64");
}

}  // namespace

Result<std::unique_ptr<Candidate>> ParseSharedObject(
    std::string_view arguments) {
  Result<std::vector<std::string>> words = SplitWords(arguments, ',');
  if (!words.ok()) return BadLibrary(words.message());
  for (size_t n = 1; n < words->size(); ++n) {
    const size_t equals = words.value()[n].find('=');
    if (equals == std::string::npos || equals == 0) {
      return BadLibrary("argument " + Quote(words.value()[n]) +
                        " is no ARG=VALUE");
    }
  }
  if (!TheHostLimits().device.empty()) {
    return BadLibrary(
        "--device is for py:, a shared object says its device in "
        "lockstep_describe");
  }
  std::error_code error;
  const std::string& path = words->front();
  if (!std::filesystem::exists(path, error)) {
    return BadLibrary("there is no file '" + path + "'");
  }
  WireLaunch launch = {"so", "so:" + JoinWords(words.value(), ','), {}};
  launch.arguments = std::move(words.value());
  launch.arguments.insert(launch.arguments.begin(), PathOfHost());
  return MakeWireCandidate(std::move(launch));
}

}  // namespace lockstep::verify
