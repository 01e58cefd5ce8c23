// Counts of known bugs that still fail before a judge that learned their
// profile.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "tests/power/identify/measured.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {

bool BreaksConvention(const MutantInfo& info) {
  constexpr std::string_view kFamilies[] = {
      "heads", "layout", "list", "mask",    "page",   "parameter",
      "runs",  "scale",  "sink", "softcap", "stride", "varlen"};
  constexpr std::string_view kNames[] = {"attn.lse_log2", "attn.lse_plus_inf"};
  const std::string_view family = info.family, name = info.name;
  return std::find(std::begin(kFamilies), std::end(kFamilies), family) !=
             std::end(kFamilies) ||
         std::find(std::begin(kNames), std::end(kNames), name) !=
             std::end(kNames);
}

void AutoCount::Add(const AutoCount& other) {
  own += other.own;
  kept += other.kept;
  by_laws.insert(by_laws.end(), other.by_laws.begin(), other.by_laws.end());
  lost.insert(lost.end(), other.lost.begin(), other.lost.end());
}

AutoCount AutoResult::Total(const std::string& op, bool convention,
                            int64_t length) const {
  AutoCount total;
  for (const auto& [at, count] : counts) {
    if (at.op == op && at.convention == convention && at.length == length) {
      total.Add(count);
    }
  }
  return total;
}

bool AutoResult::Passed() const {
  const auto kept = [&](const auto& entry) {
    const AutoPlace& at = entry.first;
    const AutoCount total = Total(at.op, at.convention, at.length);
    return at.convention ? total.kept == total.own
                         : total.kept * 100 >= total.own * 99;
  };
  return !counts.empty() && std::all_of(counts.begin(), counts.end(), kept);
}

}  // namespace lockstep::verify
