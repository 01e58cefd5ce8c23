// Claims are what a kernel says that it computes, as features of a domain.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "fuzz/run.h"

namespace lockstep::fuzz {
namespace {

struct Word {
  const char* claim;
  const char* feature;
  bool lane = false;
};

// kWords has the features of each claim; one of several is enough.
constexpr Word kWords[] = {{"causal", "causal"},
                           {"window", "window"},
                           {"masks", "mask_or"},
                           {"masks", "dense_random"},
                           {"masks", "chunked"},
                           {"masks", "index"},
                           {"softcap", "cap"},
                           {"segments", "segments"},
                           {"padding", "valid_q"},
                           {"padding", "valid_kv"},
                           {"sink", "sink_logit"},
                           {"groups", "grouped_heads"},
                           {"offset", "align_offset"},
                           {"offset", "align_bottom_right"},
                           {"value_dim", "value_dim_other"},
                           {"scale", "scale_other"},
                           {"pages", "pages"},
                           {"varlen", "varlen"},
                           {"kvlane", "fp8_e4m3"},
                           {"kvlane", "fp8_e5m2"},
                           {"qlane", "fp8_q"},
                           {"indices", "index"},
                           {"indices:ended", "index"},
                           {"f32", "lane_f32", true},
                           {"bf16", "lane_bf16", true},
                           {"f16", "lane_f16", true}};

}  // namespace

std::map<std::string, std::vector<size_t>> ClaimedFeatures(
    const Target& target, const verify::Domain& domain) {
  std::map<std::string, std::vector<size_t>> claimed;
  const auto names = domain.features();
  for (const Word& word : kWords) {
    if (word.lane && target.lane) continue;
    const auto said =
        std::find(target.claims.begin(), target.claims.end(), word.claim);
    const auto name =
        std::find(names.begin(), names.end(), std::string_view(word.feature));
    if (said == target.claims.end() || name == names.end()) continue;
    claimed[word.claim].push_back(static_cast<size_t>(name - names.begin()));
  }
  return claimed;
}

}  // namespace lockstep::fuzz
