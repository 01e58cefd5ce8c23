// What the verbs share: errors, files, signals, case arguments.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "verify/cli/cli.h"
#include "verify/files.h"

namespace lockstep::verify::cli {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted{false};

void OnInterrupt(int) { interrupted = true; }

}  // namespace

int Fail(const std::string& message, int code) {
  std::cerr << "lockstep: " << message << "\n";
  return code;
}

Status Deliver(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    if (!std::cout) return Status::Error("cannot write to stdout");
    return {};
  }
  return WriteFileAtomically(path, text);
}

Status CheckDeliverable(const std::string& path) {
  if (path == "-") return {};
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) {
    return Status::Error("cannot write '" + path + "': it is no file name");
  }
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, error)) {
    return Status::Error("cannot write " + path + ": no folder " +
                         folder.string());
  }
  if (access(folder.c_str(), W_OK) != 0) {
    return Status::Error("cannot write " + path + ": folder " +
                         folder.string() + " is not writable");
  }
  return {};
}

std::atomic<bool>* WatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  // The second Ctrl-C meets the default again.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

void AddCaseArguments(Verb* verb, CaseArguments* arguments) {
  verb->Value("CASE", &arguments->lines,
              "Case line, quoted: 'attention_forward sq=37 ...'");
  verb->Value("--cases", &arguments->files,
              "File with a case line per line; may be repeated")
      .Repeated()
      .Type("FILE");
}

Result<std::vector<Job>> ReadJobs(const CaseArguments& arguments) {
  if (arguments.lines.empty() && arguments.files.empty()) {
    return Status::Error("no cases: give a case line or --cases FILE");
  }
  Result<std::vector<Job>> jobs = JobsFromLines(arguments.lines);
  if (!jobs.ok()) return jobs;
  for (const std::string& file : arguments.files) {
    Result<std::vector<Job>> more = JobsFromFile(file);
    if (!more.ok()) return more;
    std::move(more.value().begin(), more.value().end(),
              std::back_inserter(jobs.value()));
  }
  return jobs;
}

Result<uint64_t> ParseSeed(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    return Status::Error("--seed '" + text +
                         "': want an integer from 0 to 2^64 - 1");
  }
  return value;
}

Result<int64_t> ParseMemory(const std::string& text) {
  const Status bad = Status::Error("--max-memory '" + text +
                                   "': want bytes, or such as 512M or 4G");
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || value < 1) return bad;
  const std::string unit(stop, end);
  const int shift = unit.empty()  ? 0
                    : unit == "K" ? 10
                    : unit == "M" ? 20
                    : unit == "G" ? 30
                                  : -1;
  if (shift < 0 || value > (INT64_MAX >> shift)) return bad;
  return value << shift;
}

}  // namespace lockstep::verify::cli
