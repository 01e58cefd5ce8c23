// Claims: what a kernel says about its bits in several calls. Each is judged by
// the bits of pairs of calls of the same kernel, without a reference. The key
// `claims` of a profile: docs/profiles.md.
#ifndef LOCKSTEP_VERIFY_PROFILE_CLAIMS_H_
#define LOCKSTEP_VERIFY_PROFILE_CLAIMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"

namespace lockstep::verify {

enum class Claim : uint8_t {
  kRepeat,
  kBatch,
  kPadding,
  kChunk,
  kDecode,
  kHeads,
  kSplit,
};
inline constexpr size_t kClaims = 7;

struct ClaimInfo {
  const char* name;
  const char* means;  // one sentence
};
// In the order of Claim.
std::span<const ClaimInfo> ClaimInfos();
const char* ClaimName(Claim claim);
// "claim_batch".
std::string ClaimCheck(Claim claim);

// Some of them.
class ClaimSet {
 public:
  bool Has(Claim claim) const { return (bits_ & Bit(claim)) != 0; }
  bool Empty() const { return bits_ == 0; }
  void Add(Claim claim) { bits_ = static_cast<uint8_t>(bits_ | Bit(claim)); }
  friend bool operator==(const ClaimSet&, const ClaimSet&) = default;

 private:
  static uint8_t Bit(Claim claim) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(claim));
  }
  uint8_t bits_ = 0;
};

// "batch, chunk", "all" or "none". Errors: an unknown word, and `pages` and
// `merge`, which cannot be judged yet; one line.
Result<ClaimSet> ParseClaims(std::string_view text);
// What is wrong with claims of a kernel that does not repeat itself.
inline constexpr const char* kNothingToClaim =
    "repeat = no leaves nothing to claim: calls that differ from themselves "
    "agree with no other; leave claims out";
// The inverse; never "all".
std::string PrintClaims(ClaimSet claims);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_CLAIMS_H_
