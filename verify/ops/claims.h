// The pairs of calls that a claim is judged by. Each op has a table with a row
// for each claim, which makes the larger call of a pair and its parts.
#ifndef LOCKSTEP_VERIFY_OPS_CLAIMS_H_
#define LOCKSTEP_VERIFY_OPS_CLAIMS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/claims.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// The size of a pair. The judge goes through sizes from small to large, and
// between the last that holds and the first that breaks looks for the smallest.
struct ClaimSize {
  int64_t length = 0;  // keys, or tokens
  int64_t width = 0;   // what the claim is about: batch rows, heads, ...
  // Other rows have other lengths, or none have.
  bool ragged = false;
  friend bool operator==(const ClaimSize&, const ClaimSize&) = default;
};

// One call that has to agree with the larger one, and how it is made when its
// turn comes. It refers to the larger one's trial.
struct ClaimPart {
  std::string what;  // "batch row 2 alone"
  std::function<Result<LawCall>()> make;
  std::string line{};  // its case; the numbers are those of the larger one
  std::vector<bool> zeros_alike{};  // as those of a law
  bool compared = true;             // false: only the next part rests on it
};

// What a claim of an op is judged by.
struct OpClaim {
  // Why it says nothing of a case; empty: it does.
  std::string (*why_not)(const Case&) = nullptr;
  // Of widths: "batch rows"; null: the claim has none.
  const char* unit = nullptr;
  // Those to try at that length, ascending; at least one.
  std::vector<int64_t> (*widths)(const Case&, int64_t length) = nullptr;
  bool ragged = false;  // whether such sizes are tried, too
  // The case of the larger call.
  Result<Case> (*whole)(const Case&, const ClaimSize&) = nullptr;
  // What has to agree with it, in the order of the calls. Null of `repeat` and
  // `split`, whose calls are the larger one again.
  std::vector<ClaimPart> (*parts)(const Trial& whole, const ClaimSize&,
                                  uint64_t salt) = nullptr;
};

struct OpClaims {
  const char* unit;                    // of lengths: "keys"
  int64_t (*length)(const Case&);      // the case's own
  bool (*grows)(const Case&);          // whether other lengths make sense
  int64_t (*work)(const Case&);        // multiply-adds of a call
  std::array<OpClaim, kClaims> claim;  // `whole` null: the op has no such
  // Lines of an output of the larger call of which the profile says nothing;
  // null: there are none.
  std::vector<int64_t> (*open_lines)(const Trial& whole,
                                     const NumericProfile& profile,
                                     size_t output) = nullptr;

  const OpClaim& Row(Claim which) const {
    return claim[static_cast<size_t>(which)];
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_CLAIMS_H_
