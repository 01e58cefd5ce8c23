#include "verify/case/ssd_scan.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

// Keys whose tensors or choices Mamba-2 does not have.
constexpr std::string_view kOfMamba3[] = {
    "s", "variant", "r", "rot", "bias", "reduce", "norm", "tau", "rate"};

// A carry has one part, which is there or not.
Status ParseOpenCarry(Scanner& in, int64_t, Case& c) {
  std::string& parts = c.Get<Mamba3ScanCase>().carry;
  parts.clear();
  if (in.AcceptWord("no")) return {};
  if (!in.AcceptWord("yes")) {
    return in.Error("expected 'no' or 'yes', found " + Quote(in.Rest()));
  }
  parts = "thkv";
  return {};
}

}  // namespace

std::span<const CaseKey> SsdScanKeys() {
  static const std::vector<CaseKey> kWithoutAngles = [] {
    std::vector<CaseKey> keys;
    for (const CaseKey& key : Mamba3ScanKeys()) {
      if (std::find(std::begin(kOfMamba3), std::end(kOfMamba3), key.name) !=
          std::end(kOfMamba3)) {
        continue;
      }
      keys.push_back(key);
      if (key.name == std::string_view("carry"))
        keys.back().parse = ParseOpenCarry;
    }
    return keys;
  }();
  return kWithoutAngles;
}

}  // namespace lockstep::verify
