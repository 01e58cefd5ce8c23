// Case files: one case line or call sequence per line, `#` comments.
#ifndef LOCKSTEP_VERIFY_RUN_CASE_FILE_H_
#define LOCKSTEP_VERIFY_RUN_CASE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"

namespace lockstep::verify {

struct CaseFileEntry {
  std::vector<Case> sequence;  // one case, or several calls `A ;; B`
  int line = 0;                // 1-based
};

struct CaseFile {
  std::string path;
  std::vector<CaseFileEntry> entries;
  // Lines left aside, because their exact probe does not apply to their
  // problem: a file that crosses problems with probes means the pairs that go
  // together. The first of them and why: "PATH:LINE: fill probe:select: ...".
  int64_t aside = 0;
  std::string first_aside;
};

// Largest case file accepted, in bytes.
inline constexpr size_t kMaxCaseFile = size_t{64} << 20;

// Calls of all lines that are accepted: each takes 1 to 2 KiB before anything
// is judged, and the file is at most 64 MiB of lines as short as 31 bytes.
inline constexpr size_t kMostCalls = size_t{1} << 18;

// Bad lines that are listed; more are counted.
inline constexpr int kMostBadLines = 20;

// Errors: the file cannot be read; "PATH:LINE: ..." for every bad line, one a
// line, also where ValidateCase refuses a case without expect=refuse; more than
// kMostCalls calls.
Result<CaseFile> ReadCaseFile(const std::string& path, OpRows ops);

// The same from memory; `path` is for messages.
Result<CaseFile> ParseCaseFile(const std::string& path, std::string_view text,
                               OpRows ops);

// Where a relative path of a case is looked for, in this order: the working
// directory, the directory of the case file, its parents. Pinned digests make
// the search safe: a file found by accident does not match.
std::vector<std::string> SearchDirectories(const std::string& case_file_path);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_CASE_FILE_H_
