#include "fuzz/check/look.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/process/child_process.h"

namespace lockstep::fuzz::check {
namespace {

using nlohmann::json;

// A file that goes when this does.
class Scratch {
 public:
  Scratch() {
    const int file = mkstemp(path_);
    if (file >= 0) close(file);
  }
  ~Scratch() { unlink(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/lockstep-look-XXXXXX";
};

// Seconds that the kernel's module, and all that is asked of it, may take.
constexpr double kPatience = 120;

// What lockstep.look says of a function of a file or module.
Result<json> AskPython(const std::string& target, const Keys& stated) {
  const Scratch out;
  verify::ChildLaunch launch;
  launch.arguments = {verify::PythonProgram(), "-m", "lockstep.look", target,
                      out.path()};
  for (const auto& [key, value] : stated) {
    launch.arguments.push_back(key + "=" + value);
  }
  ASSIGN_OR_RETURN(const auto child, verify::ChildProcess::Start(launch));
  while (child->alive()) {
    const auto failure = child->Wait(-1, kPatience, "looking at " + target);
    if (failure) return Status::Error(target + ": " + failure->message);
  }
  std::ifstream file(out.path());
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  json said = json::parse(text, nullptr, false);
  if (!said.is_object()) {
    return Status::Error(
        target + ": " + child->HowItEnded(" while check looked at it").message +
        child->LastWords());
  }
  if (said.contains("error")) {
    return Status::Error(target + ": " + said["error"].get<std::string>());
  }
  return said;
}

Looked FromPython(const json& said) {
  Looked looked;
  const auto text = [&](const char* name, std::string* to) {
    *to = said.value(name, "");
  };
  const auto list = [&](const char* name, std::vector<std::string>* to) {
    *to = said.value(name, std::vector<std::string>());
  };
  for (const auto& [name, to] :
       std::initializer_list<std::pair<const char*, std::string*>>{
           {"spec", &looked.spec},
           {"name", &looked.name},
           {"place", &looked.place},
           {"returns", &looked.returns},
           {"computes", &looked.computes},
           {"is", &looked.is},
           {"differs", &looked.differs},
           {"trouble", &looked.trouble},
           {"unreadable", &looked.unreadable},
           {"told", &looked.told},
           {"where", &looked.where},
           {"beside", &looked.beside},
           {"lse", &looked.lse_base}}) {
    text(name, to);
  }
  list("lanes", &looked.lanes);
  list("unseen", &looked.unseen);
  list("limits", &looked.limits);
  list("fields", &looked.fields);
  list("yours", &looked.yours);
  looked.wide = said.value("wide", false);
  looked.reach = said.value("reach", int64_t{0});
  looked.longest = said.value("longest", int64_t{0});
  return looked;
}

}  // namespace

namespace {

// FILE.py:FUNCTION or MODULE:FUNCTION without facts; null: it is no such spec.
std::optional<std::string> FunctionOf(const std::string& kernel) {
  const bool py = kernel.starts_with("py:");
  const std::string target = py ? kernel.substr(3) : kernel;
  const bool file = target.find(".py:") != target.npos;
  const bool facts = target.find(',') != target.npos;
  return (py || file) && !facts ? std::optional(target) : std::nullopt;
}

}  // namespace

Result<Looked> Look(const std::string& kernel, const Keys& stated) {
  const std::optional<std::string> function = FunctionOf(kernel);
  if (!function) {
    const bool object = kernel.ends_with(".so") && !kernel.starts_with("so:");
    const bool path = kernel.find('/') != kernel.npos;
    return LookAtCalls((object ? path ? "so:" : "so:./" : "") + kernel, stated);
  }
  ASSIGN_OR_RETURN(const json said, AskPython(*function, stated));
  if (said.value("declared", false)) {
    return LookAtCalls("py:" + *function + said.value("facts", ""), stated);
  }
  return FromPython(said);
}

}  // namespace lockstep::fuzz::check
