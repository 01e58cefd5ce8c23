// Golden digests: files of lines "CASE => inputs=HEX OUTPUT=HEX ...", made by
// make_golden.cc, held against every path by golden_test.cc.
#ifndef LOCKSTEP_TESTS_DATA_GOLDEN_H_
#define LOCKSTEP_TESTS_DATA_GOLDEN_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// data/golden/NAME.golden, and what it pins: cases of these ops in these files
// of data/cases.
struct GoldenFile {
  const char* name;
  std::vector<std::string> ops;
  std::vector<std::string> sources;
  size_t least;  // lines that it has at least

  std::string path() const;
};
std::span<const GoldenFile> GoldenFiles();

// The single, meaningful cases of those of a source that goldens are made for.
Result<std::vector<Case>> GoldenCases(const GoldenFile& golden,
                                      const std::string& source);

// Digests by case line. Blank lines and comments are skipped. Errors: the first
// bad line, or the second one of a case.
Result<std::map<std::string, std::string>> ParseGoldens(std::string_view text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_DATA_GOLDEN_H_
