// What the verbs share: errors, files, signals, case arguments.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"
#include "verify/cli/cli.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify::cli {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted{false};

void OnInterrupt(int) { interrupted = true; }

// A line as long as a path of others may be, with what it says of it at the
// end.
std::string Shortened(const std::string& line) {
  constexpr size_t kLongest = 4096;
  constexpr size_t kKept = 1024;
  if (line.size() <= kLongest) return line;
  return line.substr(0, kKept) + " ... " + line.substr(line.size() - kKept);
}

}  // namespace

int Fail(const std::string& message, int code) {
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    std::cerr << "lockstep: "
              << Printable(Shortened(message.substr(at, end - at))) << "\n";
    at = end + 1;
  }
  return code;
}

void Note(const std::string& message) {
  std::cerr << "lockstep: note: " << Printable(message) << "\n";
}

std::string LimitReached(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory: judge smaller cases (--max-memory refuses large "
           "ones), or give a higher limit (ulimit -v)";
  }
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr ||
      system->code() != std::errc::resource_unavailable_try_again) {
    return "";
  }
  return "no more threads can run here: give fewer (--threads), or a higher "
         "limit (ulimit -u, ulimit -v)";
}

Status Deliver(const std::string& path, const Producer& produce) {
  if (path != "-") return WriteFileAtomically(path, produce);
  const Status produced = produce([](std::string_view text) {
    std::cout << text;
    return static_cast<bool>(std::cout);
  });
  std::cout << std::flush;
  if (!std::cout) return Status::Error("cannot write to stdout");
  return produced;
}

Status Deliver(const std::string& path, const std::string& text) {
  return Deliver(path, [&](const Sink& sink) {
    sink(text);
    return Status();
  });
}

namespace {

Status CheckPath(const std::string& path) {
  if (path == "-") return {};
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) {
    return Status::Error("cannot write '" + path + "': it is no file name");
  }
  if (IsStream(path)) {
    return access(path.c_str(), W_OK) == 0
               ? Status()
               : Status::Error("cannot write " + path + ": " +
                               std::strerror(errno));
  }
  // What is written beside it has 24 characters more.
  constexpr size_t kMostName = 255 - 24;
  if (fs::path(path).filename().string().size() > kMostName) {
    return Status::Error("cannot write " + path + ": the name has more than " +
                         std::to_string(kMostName) + " characters");
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

}  // namespace

Status CheckDeliverable(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  return HoldOutput(path);
}

Status CheckDeliverables(const std::vector<Output>& outputs,
                         const std::vector<std::string>& inputs) {
  int on_stdout = 0;
  std::vector<std::string> taken = inputs;
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    RETURN_IF_ERROR(CheckDeliverable(path));
    on_stdout += path == "-" ? 1 : 0;
    if (path == "-" || IsStream(path)) continue;
    for (const std::string& other : taken) {
      if (other.empty() || TargetOf(path) != TargetOf(other)) continue;
      return Status::Error("writing " + path + " would replace " + other +
                           "; give another file");
    }
    taken.push_back(path);
  }
  if (on_stdout <= 1) return {};
  std::string names;
  for (const Output& output : outputs) {
    const bool last = &output == &outputs.back();
    names += (names.empty() ? ""
              : last        ? " and "
                            : ", ") +
             std::string(output.option);
  }
  return Status::Error("only one of " + names + " can go to stdout ('-')");
}

std::atomic<bool>* WatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  // The second Ctrl-C meets the default again.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  // CI ends a job that takes too long with SIGTERM, a terminal that closes with
  // SIGHUP; under nohup that is ignored.
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  return &interrupted;
}

void AddCaseArguments(Verb* verb, CaseArguments* arguments) {
  verb->Value("CASE", &arguments->lines,
              "Case line, quoted: 'attention_forward sq=37 ...'");
  verb->Value("--cases", &arguments->files,
              "File with a case line per line, - for stdin; may be repeated")
      .Repeated()
      .Type("FILE|-");
}

Result<std::string> ReadStdin(size_t max_bytes) {
  std::string text;
  char block[65536];
  while (std::cin.read(block, sizeof(block)) || std::cin.gcount() > 0) {
    text.append(block, static_cast<size_t>(std::cin.gcount()));
    if (text.size() > max_bytes) {
      return Status::Error("stdin: has more than " + std::to_string(max_bytes) +
                           " bytes");
    }
  }
  if (std::cin.bad()) return Status::Error("stdin: cannot be read");
  return text;
}

namespace {

// Why a line that was typed is no case but a file; empty: it may be one.
std::string WhyFile(const std::string& line) {
  std::error_code error;
  if (line.find('=') != line.npos || line.find(' ') != line.npos) return "";
  if (fs::is_regular_file(line, error)) {
    return "'" + line + "' is a file: give it with --cases";
  }
  const bool name = line.find('/') != line.npos || line.find('.') != line.npos;
  return name
             ? "there is no file '" + line +
                   "', which is not a case line (give a case file with --cases)"
             : "";
}

}  // namespace

Result<std::vector<Job>> ReadJobs(const CaseArguments& arguments) {
  if (arguments.lines.empty() && arguments.files.empty()) {
    return Status::Error(
        "no cases: give a case line or --cases FILE, or name them in "
        "lockstep.toml (docs/config.md)");
  }
  for (const std::string& line : arguments.lines) {
    const std::string why = WhyFile(line);
    if (!why.empty()) return Status::Error(why);
  }
  std::vector<Job> jobs;
  std::string refused;
  const auto add = [&](Result<std::vector<Job>> more) {
    if (!more.ok()) {
      refused += (refused.empty() ? "" : "\n") + more.message();
      return;
    }
    std::move(more.value().begin(), more.value().end(),
              std::back_inserter(jobs));
  };
  add(JobsFromLines(arguments.lines, Ops()));
  for (const std::string& file : arguments.files) {
    std::string note;
    if (file != "-") {
      add(JobsFromFile(file, Ops(), &note));
    } else {
      const Result<std::string> text = ReadStdin(kMaxCaseFile);
      add(text.ok() ? JobsFromText("stdin", text.value(), Ops(), &note)
                    : text.status());
    }
    if (!note.empty()) Note(note);
  }
  if (!refused.empty()) return Status::Error(refused);
  size_t calls = 0;
  for (const Job& job : jobs) calls += job.sequence.size();
  if (calls <= kMostCalls) return jobs;
  return Status::Error("the files have " + std::to_string(calls) +
                       " cases together; one run takes at most " +
                       std::to_string(kMostCalls));
}

std::vector<std::string> WordsOfList(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Result<uint64_t> ParseSeed(const std::string& text) {
  uint64_t value = 0;
  const bool hex = text.starts_with("0x");
  const char* end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (error != std::errc{} || stop != end) {
    return Status::Error("--seed '" + text +
                         "': want an integer from 0 to 2^64 - 1, decimal or "
                         "hexadecimal (0x2a)");
  }
  return value;
}

Result<int64_t> ParseMemory(const std::string& text,
                            const std::string& option) {
  const Status bad =
      Status::Error(option + " '" + text + "': want bytes, such as 512M or 4G");
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
