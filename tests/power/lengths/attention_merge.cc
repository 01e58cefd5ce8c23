// The cases that bugs of merges meet at real lengths: parts of 256 keys, as
// serving kernels split them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/power/lengths/cases.h"
#include "verify/base/mixing.h"
#include "verify/case/attention_merge/case.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kKeysOfPart = 256;
constexpr const char* kMergeWord = "attention_merge ";

int64_t PartsOf(int64_t length) {
  return std::max<int64_t>(length / kKeysOfPart, 2);
}

// The lse of so many keys, what their scores add, and parts of a row that saw
// none of them.
std::vector<std::string> MergeLines(int64_t length) {
  const std::string s = "s=" + std::to_string(PartsOf(length)) + " ";
  return {s + "h=2 n=6 dv=9 lse=uniform:4,12",
          s + "h=4 n=5 dv=16 lse=uniform:4,12 empty=0.4 base=2 layout=nshd",
          s + "h=3 n=7 dv=5 lse=uniform:-30,30 blank=0.3 layout=snhd",
          s + "n=9 dv=8 lse=normal:2 fill=int:-3,3",
          s + "h=2 n=9 dv=6 lse=uniform:100,110 empty=0.2"};
}

}  // namespace

std::vector<LengthCase> MergeLengthCases(int64_t length) {
  std::vector<LengthCase> cases;
  for (const std::string& line : MergeLines(length)) {
    cases.push_back({kMergeWord + line, "", false, "", false});
  }
  for (const MutantInfo& info : Mutants()) {
    if (!info.merge()) continue;
    Result<Case> c = ParseCase(info.pattern);
    if (!c.ok()) continue;
    auto& merge = c->Get<AttentionMergeCase>();
    // An odd number of parts stays one; letters come again and again.
    const int64_t more = PartsOf(length) / 4 * 4;
    const std::vector<Number> letters = merge.letters;
    for (int64_t n = 0; !letters.empty() && n < more; ++n) {
      merge.letters.push_back(letters[static_cast<size_t>(n) % letters.size()]);
    }
    merge.parts += more;
    if (!ValidateCase(c.value()).ok()) continue;
    cases.push_back({MinimalLine(c.value()), "", false, info.name, false});
  }
  return cases;
}

std::string MergeLineAt(uint64_t seed, int64_t length,
                        const NumericProfile& profile) {
  uint64_t state = seed;
  const int64_t more = static_cast<int64_t>(NextMixed(&state) % 6);
  const std::vector<std::string> lines =
      MergeLines(length + more * kKeysOfPart);
  return kMergeWord + lines[NextMixed(&state) % lines.size()] +
         LaneWord(profile) + " seed=" + std::to_string(seed);
}

}  // namespace lockstep::verify
