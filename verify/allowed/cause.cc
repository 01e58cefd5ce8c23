#include "verify/allowed/cause.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "verify/allowed/result.h"
#include "verify/base/format.h"

namespace lockstep::verify {

const char* CauseName(Cause cause) {
  static constexpr std::array<const char*, kCauses> kNames = {
      "acc_qk",     "scale_at",  "score",     "cap_div",  "tanh_rel",
      "exp_rel",    "shift",     "max",       "p",        "acc_pv",
      "acc_l",      "state",     "normalise", "division", "out_round",
      "operand_qk", "operand_v", "tile_kv",   "splits",   "underflow",
      "oracle"};
  return kNames[static_cast<size_t>(cause)];
}

std::string EnvelopeResult::Dominant() const {
  const auto largest = std::max_element(shares.begin(), shares.end());
  if (!(*largest > 0)) return "";
  return Format("%.0f %% from %s", *largest * 100,
                CauseName(static_cast<Cause>(largest - shares.begin())));
}

}  // namespace lockstep::verify
