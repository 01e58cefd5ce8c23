#include "fuzz/check/look.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/process/child_process.h"

namespace lockstep::fuzz::check {
namespace {

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

// Names with their values, in the order said.
using Said = std::multimap<std::string, std::string>;

// Asks lockstep.looked about a function of a file or module.
Result<Said> AskPython(const std::string& target, const Keys& stated) {
  const Scratch out;
  verify::ChildLaunch launch;
  launch.arguments = {verify::PythonProgram(), "-m", "lockstep.looked", target,
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
  Said said;
  for (std::string name, value; file >> name && std::getline(file, value);) {
    said.insert({name, value.empty() ? value : value.substr(1)});
  }
  if (said.empty()) {
    return Status::Error(
        target + ": " + child->HowItEnded(" while check looked at it").message);
  }
  const auto error = said.find("error");
  if (error == said.end()) return said;
  return Status::Error(target + ": " + error->second);
}

Looked FromPython(const Said& said) {
  Looked looked;
  const std::map<std::string, std::string*> texts = {
      {"op", &looked.op},           {"spec", &looked.spec},
      {"name", &looked.name},       {"place", &looked.place},
      {"returns", &looked.returns}, {"computes", &looked.computes},
      {"is", &looked.is},           {"differs", &looked.differs},
      {"trouble", &looked.trouble}, {"unreadable", &looked.unreadable},
      {"told", &looked.told},       {"where", &looked.where},
      {"beside", &looked.beside},   {"gradients", &looked.gradients},
      {"lse", &looked.lse_base}};
  const std::map<std::string, std::vector<std::string>*> lists = {
      {"lanes", &looked.lanes},
      {"unseen", &looked.unseen},
      {"limits", &looked.limits},
      {"fields", &looked.fields},
      {"yours", &looked.yours}};
  const std::map<std::string, int64_t*> numbers = {
      {"reach", &looked.reach}, {"longest", &looked.longest}};
  for (const auto& [name, value] : said) {
    if (texts.contains(name)) *texts.at(name) = value;
    if (lists.contains(name)) lists.at(name)->push_back(value);
    if (numbers.contains(name)) {
      *numbers.at(name) = std::strtoll(value.c_str(), nullptr, 10);
    }
  }
  return looked;
}

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
  ASSIGN_OR_RETURN(const Said said, AskPython(*function, stated));
  const auto declared = said.find("declared");
  if (declared != said.end()) return LookAtCalls(declared->second, stated);
  return FromPython(said);
}

}  // namespace lockstep::fuzz::check
