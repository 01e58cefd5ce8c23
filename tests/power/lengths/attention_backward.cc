// The cases that bugs of attention's gradients meet at real lengths.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/power/lengths/cases.h"
#include "verify/base/mixing.h"
#include "verify/case/attention_backward.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Masks, documents, counts, sinks and groups; the emulator is slow, so that one
// of the lengths is short.
std::vector<std::string> AttentionBackwardLines(int64_t n) {
  const std::string half = std::to_string(n / 2);
  return {"hq=2 hkv=1 sq=9 skv=" + std::to_string(n) +
              " d=8 dv=5 cap=2 mask=causal align=br dlse=normal:1",
          "b=2 hq=2 sq=" + std::to_string(n) +
              " skv=7 d=8 cap=5 mask=window:" + half + ",3 sinklogit=normal:1",
          "hq=4 hkv=2 sq=10 skv=" + std::to_string(n) +
              " d=4 q_seg=runs:5,5 kv_seg=runs:" + half + "," +
              std::to_string(n - n / 2) + " sinklogit=normal:1 dlse=normal:1",
          "b=2 sq=6 skv=" + std::to_string(n + 5) +
              " d=4 valid_q=6,3 valid_kv=" + std::to_string(n) + "," + half +
              " mask=random:0.6",
          "sq=" + std::to_string(n + 3) + " skv=9 d=8 mask=causal align=br",
          "hq=4 hkv=2 sq=" + std::to_string(n) + " skv=6 d=4 q_seg=runs:" +
              half + "," + std::to_string(n - n / 2) +
              " kv_seg=runs:3,3 cap=20 dlse=normal:1"};
}

// A pattern with so many keys, or queries, more; the last document, and a mask
// at the bottom right, grow with it.
Result<Case> Stretched(const MutantInfo& info, int64_t length, bool keys) {
  Result<Case> c = ParseCase(info.pattern);
  if (!c.ok()) return c;
  AttentionBackwardCase& a = c->Get<AttentionBackwardCase>();
  const int64_t more = length / 4 * 4;
  (keys ? a.kv_len : a.q_len) += more;
  auto& counts = keys ? a.valid_kv : a.valid_q;
  for (int64_t& count : counts) count += more;
  for (auto& row : (keys ? a.kv_seg : a.q_seg).rows) {
    row.back().length += more;
  }
  return c;
}

}  // namespace

std::vector<LengthCase> GradientLengthCases(int64_t length) {
  std::vector<LengthCase> cases;
  for (const std::string& line : AttentionBackwardLines(length)) {
    const bool sink = line.find("sinklogit") != std::string::npos;
    cases.push_back({"attention_backward " + line, "", sink, "", false});
  }
  for (const MutantInfo& info : Mutants()) {
    if (!info.gradients()) continue;
    for (const bool keys : {true, false}) {
      const Result<Case> c = Stretched(info, length, keys);
      if (!c.ok() || !ValidateCase(c.value()).ok()) continue;
      const bool sink = c->Get<AttentionForwardCase>().sinklogit.has_value();
      cases.push_back({MinimalLine(c.value()), "", sink, info.name, false});
    }
  }
  return cases;
}

std::vector<std::string> GradientPlaces(const MutantInfo& info) {
  if (!info.gradients() || std::string_view(info.base) != "grad-cpu") return {};
  return {"grad-cpu-ds-ds", "grad-cpu-k-q", "grad-cpu-end-head",
          "grad-cpu-own"};
}

std::string GradientLineAt(uint64_t seed, int64_t length,
                           const NumericProfile& profile) {
  uint64_t state = seed;
  const std::vector<std::string> lines = AttentionBackwardLines(
      length + static_cast<int64_t>(NextMixed(&state) % 6));
  return "attention_backward " + lines[NextMixed(&state) % lines.size()] +
         LaneWord(profile) + " seed=" + std::to_string(seed);
}

}  // namespace lockstep::verify
