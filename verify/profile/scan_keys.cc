#include "verify/profile/scan_keys.h"

#include <algorithm>
#include <iterator>

namespace lockstep::verify {
namespace {

// A key of attention in a scan's profile, and what a scan has for it.
struct OtherKey {
  const char* attention;
  const char* scan;
};
constexpr OtherKey kScanHas[] = {
    {"operand_qk", "scan.query and scan.key"},
    {"operand_v", "scan.decayed"},
    {"operand_round", "scan.operand_round"},
    {"score", "scan.score"},
    {"state", "scan.state"},
    {"chain_kv", "scan.chunk"},
    {"tile_kv", "scan.chunk"},
    {"lse", "scan.lacks, for a carry that the kernel does not export"},
    {"p", "scan.score"},
    {"empty_row", "scan.empty_run"},
};

}  // namespace

bool IsShared(std::string_view key) {
  constexpr std::string_view kShared[] = {
      "name",     "description",     "exact",     "lane",
      "tanh_rel", "exp_rel",         "out_round", "ftz",
      "nan",      "masked_nan_safe", "repeat",    "claims"};
  return std::find(std::begin(kShared), std::end(kShared), key) !=
         std::end(kShared);
}

std::string WhyNotOfScans(std::string_view key) {
  for (const OtherKey& other : kScanHas) {
    if (key == other.attention) {
      return std::string("; a scan has ") + other.scan;
    }
  }
  return "; leave it out: it describes something that a scan does not have";
}

}  // namespace lockstep::verify
