// The known bugs of an op as kernels that can run. A wrong answer is compared
// with theirs.
#ifndef LOCKSTEP_VERIFY_CAUSES_HYPOTHESES_H_
#define LOCKSTEP_VERIFY_CAUSES_HYPOTHESES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/emulator/mutants.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct Hypothesis {
  const MutantInfo* bug = nullptr;
  const MutantInfo* second = nullptr;  // of a pair
  // Of emulated kernels: the one with the bug, and one without it.
  std::string spec;
  std::string right;

  // "attn.causal_strict", of a pair "attn.causal_strict+attn.sink_dropped".
  std::string Name() const;
  // Its entry in the catalogue.
  std::string Sentence() const;
};

// Every known bug of the op, in tiles or chunks of the emulator's own choice.
// The arithmetic is the profile's as far as the zoo has it; of a null profile,
// the contract's.
std::vector<Hypothesis> HypothesesOf(const std::string& op,
                                     const NumericProfile* profile);

// The emulated kernel in which most of them are planted, without a bug.
std::string RightKernelOf(const std::string& op, const NumericProfile* profile);

// The same of kernels that compute a case in `count` shards, right ones, and
// put the answers together wrongly.
std::vector<Hypothesis> ShardHypothesesOf(const std::string& op,
                                          const NumericProfile* profile,
                                          int64_t count);
bool InShards(const Hypothesis& hypothesis);

// Whether rows of the op's answers are independent, so that known bugs can be
// replayed on some of them.
bool ComputesRowByRow(const std::string& op);

// Tiles or chunks as kernels have them, none longer than twice the longest
// side, and the hypothesis in one of them: of bugs that live at edges.
std::vector<std::string> TilesOf(const std::string& op, int64_t longest);
Hypothesis InTile(const Hypothesis& hypothesis, const std::string& tile);

// Both bugs in one kernel, each as its hypothesis has it, in the tile of the
// first; none where no kernel has both.  Requires: one bug in each.
std::optional<Hypothesis> PairOf(const Hypothesis& first,
                                 const Hypothesis& second);

// Whether its dial is turned to as many keys as a tile may have.
bool MayBeTile(const Hypothesis& hypothesis);

// With the dial turned; none where the bug has no dial.
std::vector<Hypothesis> AtOtherDials(const Hypothesis& hypothesis);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_HYPOTHESES_H_
