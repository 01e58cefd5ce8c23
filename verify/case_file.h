// Case files: one case line or call sequence per line, `#` comments.
#ifndef LOCKSTEP_VERIFY_CASE_FILE_H_
#define LOCKSTEP_VERIFY_CASE_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case.h"

namespace lockstep::verify {

struct CaseFileEntry {
  std::vector<Case> sequence;  // one case, or several calls `A ;; B`
  int line = 0;                // 1-based
};

struct CaseFile {
  std::string path;
  std::vector<CaseFileEntry> entries;
};

// Largest case file accepted, in bytes.
inline constexpr size_t kMaxCaseFile = size_t{64} << 20;

// Errors: the file cannot be read; "PATH:LINE: ..." for the first bad line,
// also where ValidateCase refuses a case without expect=refuse.
Result<CaseFile> ReadCaseFile(const std::string& path);

// The same from memory; `path` is for messages.
Result<CaseFile> ParseCaseFile(const std::string& path, std::string_view text);

// Where a relative path of a case is looked for, in this order: the working
// directory, the directory of the case file, its parents. Pinned digests make
// the search safe: a file found by accident does not match.
std::vector<std::string> SearchDirectories(const std::string& case_file_path);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_FILE_H_
