#include "verify/case_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "verify/files.h"

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

}  // namespace

Result<CaseFile> ReadCaseFile(const std::string& path) {
  const auto bytes = ReadWholeFile(path, kMaxCaseFile);
  if (!bytes.ok()) return bytes.status();
  return ParseCaseFile(
      path,
      std::string_view(reinterpret_cast<const char*>(bytes.value().data()),
                       bytes.value().size()));
}

Result<CaseFile> ParseCaseFile(const std::string& path, std::string_view text) {
  CaseFile file;
  file.path = path;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = WithoutComment(line);
    if (line.find_first_not_of(" \t") == line.npos) continue;
    const auto refuse = [&](const std::string& message) {
      return Status::Error(path + ":" + std::to_string(number) + ": " +
                           message);
    };
    auto sequence = ParseCaseSequence(line);
    if (!sequence.ok()) return refuse(sequence.message());
    for (const Case& c : sequence.value()) {
      if (c.expect == Expect::kRefuse) continue;
      const Status status = ValidateCase(c);
      if (!status.ok()) return refuse(status.message());
    }
    file.entries.push_back({std::move(sequence.value()), number});
  }
  return file;
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
