// How an emulated kernel with a bug finds keys and values in pages.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_PAGES_TAKEN_KEYS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_PAGES_TAKEN_KEYS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_pages.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of pages.
bool BreaksPages(const FaultDial& dial);

// Keys and values as the kernel takes them out of the pool: dense, in memory of
// their own. Keys that it does not read are zeros.
struct TakenKeys {
  std::vector<uint8_t> k, v;
  AttentionForwardInputs inputs;  // k, v and valid_kv are the kernel's
};

//   Requires: CheckKeyPages(problem, inputs, pages).ok().
TakenKeys TakeKeys(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const KeyPages& pages,
                   const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_PAGES_TAKEN_KEYS_H_
