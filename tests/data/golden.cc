#include "tests/data/golden.h"

#include <algorithm>
#include <utility>

#include "verify/base/digest.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr std::string_view kArrow = " => ";

// Whether it is "inputs=HEX" and one or more "NAME=HEX", with blanks between.
bool AreDigests(std::string_view text) {
  int words = 0;
  for (; !text.empty(); ++words) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) return false;
    if (words == 0 && word.substr(0, equals) != "inputs") return false;
    if (!IsDigest(word.substr(equals + 1))) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words >= 2;
}

}  // namespace

std::span<const GoldenFile> GoldenFiles() {
  static const std::vector<GoldenFile> kFiles = {
      {"attention_forward",
       {"attention_forward"},
       {"smoke", "captured", "ci", "gpu-orders", "f16", "split", "paged",
        "varlen", "mla", "fp8", "index", "far"},
       600},
      {"attention_backward",
       {"attention_backward"},
       {"smoke", "captured", "attention_backward", "f16", "varlen", "index",
        "far"},
       220},
      {"mamba3_scan",
       {"mamba3_scan", "mamba3_step"},
       {"smoke", "mamba3_scan", "f16"},
       200},
      {"mamba3_scan_backward",
       {"mamba3_scan_backward"},
       {"mamba3_scan_backward", "f16"},
       210},
      {"attention_merge",
       {"attention_merge"},
       {"smoke", "attention_merge"},
       70},
      {"ssd_scan", {"ssd_scan"}, {"ssd_scan", "f16"}, 80},
  };
  return kFiles;
}

std::string GoldenFile::path() const {
  return std::string("data/golden/") + name + ".golden";
}

Result<std::vector<Case>> GoldenCases(const GoldenFile& golden,
                                      const std::string& source) {
  auto file = ReadCaseFile("data/cases/" + source + ".cases", Ops());
  if (!file.ok()) return file.status();
  std::vector<Case> cases;
  for (CaseFileEntry& entry : file->entries) {
    if (entry.sequence.size() != 1) continue;
    Case& c = entry.sequence[0];
    const bool pinned = std::find(golden.ops.begin(), golden.ops.end(),
                                  OpName(c)) != golden.ops.end();
    if (!pinned || c.expect == Expect::kRefuse) continue;
    c.expect = Expect::kPass;  // says nothing about the bits
    cases.push_back(std::move(c));
  }
  return cases;
}

Result<std::map<std::string, std::string>> ParseGoldens(std::string_view text) {
  std::map<std::string, std::string> goldens;
  for (int number = 1; !text.empty(); ++number) {
    const auto wrong = [&](const char* what) {
      return Status::Error("line " + std::to_string(number) + ": " + what);
    };
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const size_t arrow = line.find(kArrow);
    if (arrow == line.npos || !AreDigests(line.substr(arrow + kArrow.size()))) {
      return wrong("expected CASE => inputs=HEX OUTPUT=HEX ...");
    }
    if (!goldens
             .emplace(line.substr(0, arrow), line.substr(arrow + kArrow.size()))
             .second) {
      return wrong("the case has a line already");
    }
  }
  return goldens;
}

}  // namespace lockstep::verify
