// Which known bugs must be proved wherever they have an effect, and why the
// others need not be.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_STRUCTURAL_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_STRUCTURAL_H_

#include <span>

#include "verify/emulator/mutants.h"

namespace lockstep::verify {

// A bug that a matrix of long cases need not prove, with the reason, which is
// one of principle.
struct Exempt {
  const char* mutant;
  const char* why;
};
std::span<const Exempt> ExemptMutants();

// Whether it breaks what only f16 tensors have.
bool BreaksF16(const MutantInfo& info);
// Whether it breaks what only keys and values in fp8 have.
bool BreaksFp8(const MutantInfo& info);

// Why the bug is exempt; null if it is structural: wrong keys, rows, channels,
// heads, masks, state.
const char* WhyExempt(const MutantInfo& info);

// Why the bug shows on some cases only, by any judge; null if it shows wherever
// it changes a bit. Some case of every length must prove it still.
const char* WhyOnlySomewhere(const MutantInfo& info);

// Why the bug may be invisible under a small cap; null if it may not.
const char* WhyInvisibleUnderSmallCap(const MutantInfo& info);

// Whether an effect of the bug depends on how large scores are. Any other bug
// that leaves every bit of the answers to random inputs and to a probe has no
// effect on that case: random elements all differ from each other.
bool DependsOnValues(const MutantInfo& info);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_STRUCTURAL_H_
