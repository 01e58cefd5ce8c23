#include "fuzz/check/keep.h"

#include <cctype>
#include <filesystem>
#include <system_error>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"

namespace lockstep::fuzz::check {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkflow =
    R"(# Judges the kernel on every pull request; what is judged, and with what, stands in
# lockstep.toml.
name: lockstep
on:
  # Never pull_request_target: the job runs what the pull request brings.
  pull_request:
  push:
permissions:
  contents: read

jobs:
  kernel:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      # Whatever makes the kernel, and what it imports, goes here.
      - run: pip install lockstep-verify)";

// "attention.py:Layer.forward" as "Layer.forward", "./kernel.so" as "kernel".
std::string FileNameOf(const std::string& kernel) {
  const size_t colon = kernel.rfind(':');
  const bool function = kernel.find(".py:") != kernel.npos;
  std::string name =
      function
          ? kernel.substr(colon + 1)
          : fs::path(colon == kernel.npos ? kernel : kernel.substr(colon + 1))
                .stem()
                .string();
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return name.empty() || name[0] == '.' ? "kernel" + name : name;
}

// A string of TOML.
std::string Toml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CasesText(const Outcome& outcome) {
  std::string text = "# Written by lockstep check: " + outcome.reading + "\n";
  for (const std::string& line : outcome.lines) text += line + "\n";
  if (!outcome.line.empty()) text += "# was wrong\n" + outcome.line + "\n";
  return text;
}

std::string ProfileText(const std::string& profile) {
  std::string text;
  for (size_t at = 0; at <= profile.size();) {
    const size_t end = std::min(profile.find("; ", at), profile.size());
    text += profile.substr(at, end - at) + "\n";
    at = end + 2;
  }
  return text;
}

std::string WorkflowText(const Outcome& outcome) {
  std::string text = kWorkflow;
  for (const char* framework : {"torch", "jax"}) {
    const std::string fact = std::string("framework=") + framework;
    if (outcome.spec.find(fact) != outcome.spec.npos) {
      text += std::string(" ") + framework;
    }
  }
  return text + " numpy\n      - run: lockstep verify --trust-file\n";
}

}  // namespace

std::vector<std::string> FilesOf(const std::string& kernel) {
  const std::string name = FileNameOf(kernel);
  return {"lockstep.toml", name + ".cases", name + ".profile",
          ".github/workflows/lockstep.yml"};
}

Status CheckFree(const std::string& kernel) {
  for (const std::string& file : FilesOf(kernel)) {
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    return Status::Error("--write replaces nothing, and " + file +
                         " is there; move it away, or leave --write out");
  }
  return {};
}

Status Keep(const std::string& kernel, const Outcome& outcome) {
  RETURN_IF_ERROR(CheckFree(kernel));
  const std::vector<std::string> files = FilesOf(kernel);
  const std::vector<std::string> texts = {
      "# " + outcome.computes + "\ncases = " + Toml(files[1]) +
          "\ncandidate = " + Toml(outcome.spec) +
          "\nprofile = " + Toml(files[2]) + "\nbudget = \"10m\"\n",
      CasesText(outcome), ProfileText(outcome.profile), WorkflowText(outcome)};
  std::error_code error;
  fs::create_directories(".github/workflows", error);
  for (size_t n = 0; n < files.size(); ++n) {
    RETURN_IF_ERROR(verify::WriteFileAtomically(files[n], texts[n]));
  }
  return {};
}

}  // namespace lockstep::fuzz::check
