// Kernels that break a claim: two correct kernels in one, and what of a call
// decides which of them computes. Every answer is right within its profile, so
// that only a claim shows the bug.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MUTANTS_CLAIMS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MUTANTS_CLAIMS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/profile/claims.h"

namespace lockstep::verify {

// What a kernel sees of a call.
struct ClaimScene {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t queries = 1;  // of scans: tokens
  int64_t keys = 1;     // with padding; of scans: tokens
  int64_t longest = 1;  // keys of the longest row, without padding
  int64_t shortest = 1;
  int64_t runs = 1;  // in a row
  bool steps = false;
  bool carry = false;  // the call goes on from one
  int splits = 1;      // that were asked for
  int64_t call = 0;
  int64_t keys_before = 0;  // of the call before; 0: this is the first
};

struct ClaimBug {
  const char* name;    // "claim.split_by_batch"
  Claim claim;         // its own
  const char* also;    // other claims that it breaks; "none"
  const char* breaks;  // what is wrong, one line
  const char* usual;   // of the zoo; its profile covers both
  const char* other;
  bool (*chooses_other)(const ClaimScene&);
  // A case that shows it, and is small.
  const char* pattern;
  // The other one's maxima begin with the largest score of the padding.
  bool max_of_padding = false;

  std::string op() const;  // of the pattern
};
std::span<const ClaimBug> ClaimBugs();
// Errors: an unknown name; the message names the nearest.
Result<const ClaimBug*> FindClaimBug(std::string_view name);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MUTANTS_CLAIMS_H_
