#include "verify/run/case_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

// A comment starts with '#' at the start of a line or after a blank; elsewhere
// '#' belongs to file:PATH#DIGEST.
std::string_view WithoutComment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '#') continue;
    if (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t') {
      return line.substr(0, i);
    }
  }
  return line;
}

// Why the probe of a case does not apply; empty where that is not what is wrong
// with the case.
std::string WhyNoProbe(const Case& c) {
  const CaseRow& op = c.op->text;
  if (op.why_not_probe == nullptr) return "";
  const auto probe = op.probe(c);
  Case without = c;
  op.drop_probe(&without);
  if (!probe || !ValidateCase(without).ok()) return "";
  const std::string why = op.why_not_probe(*probe, without);
  if (why.empty()) return "";
  return std::string("fill probe:") + ProbeName(*probe) + ": " + why;
}

// A line without its comment. Errors: it is no sequence of cases, or one of
// them is refused without expect=refuse.
// `aside`: set to why the line is left aside, if it is.
Result<std::vector<Case>> ReadLine(std::string_view line, OpRows ops,
                                   std::string* aside) {
  Result<std::vector<Case>> sequence = ParseCaseSequence(line, ops);
  if (!sequence.ok()) return sequence;
  for (const Case& c : sequence.value()) {
    if (c.expect == Expect::kRefuse) continue;
    const Status status = ValidateCase(c);
    if (status.ok()) continue;
    *aside = WhyNoProbe(c);
    if (aside->empty()) return status;
  }
  return sequence;
}

}  // namespace

Result<CaseFile> ReadCaseFile(const std::string& path, OpRows ops) {
  ASSIGN_OR_RETURN(const auto bytes, ReadWholeFile(path, kMaxCaseFile));
  return ParseCaseFile(
      path,
      std::string_view(reinterpret_cast<const char*>(bytes.data()),
                       bytes.size()),
      ops);
}

Result<CaseFile> ParseCaseFile(const std::string& path, std::string_view text,
                               OpRows ops) {
  CaseFile file;
  file.path = path;
  if (text.find('\0') != text.npos) {
    return Status::Error(path + ": not a case file: it has a zero byte");
  }
  std::string refused;
  int bad = 0;
  int number = 0;
  size_t calls = 0;
  while (!text.empty()) {
    ++number;
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = WithoutComment(line);
    if (line.find_first_not_of(" \t") == line.npos) continue;
    std::string aside;
    Result<std::vector<Case>> sequence = ReadLine(line, ops, &aside);
    if (sequence.ok() && !aside.empty()) {
      if (++file.aside == 1) {
        file.first_aside = path + ":" + std::to_string(number) + ": " + aside;
      }
      continue;
    }
    if (sequence.ok()) {
      calls += sequence->size();
      if (calls > kMostCalls) {
        return Status::Error(
            path + ":" + std::to_string(number) + ": more than " +
            std::to_string(kMostCalls) +
            " cases; split the file, and judge each part in a separate run");
      }
      file.entries.push_back({std::move(sequence.value()), number});
      continue;
    }
    if (++bad > kMostBadLines) continue;
    refused += (refused.empty() ? "" : "\n") + path + ":" +
               std::to_string(number) + ": " + sequence.message();
  }
  if (bad == 0) return file;
  if (bad > kMostBadLines) {
    refused += "\n" + path + ": and " + std::to_string(bad - kMostBadLines) +
               " more bad lines";
  }
  return Status::Error(refused);
}

std::vector<std::string> SearchDirectories(const std::string& case_file_path) {
  std::vector<std::string> directories = {"."};
  std::error_code error;
  fs::path path = fs::absolute(case_file_path, error);
  if (error) return directories;
  path = path.lexically_normal();
  while (path.has_relative_path()) {
    path = path.parent_path();
    directories.push_back(path.string());
  }
  return directories;
}

}  // namespace lockstep::verify
