// How the inputs of a case of any op come into memory.
#ifndef LOCKSTEP_VERIFY_INPUTS_MATERIALISE_H_
#define LOCKSTEP_VERIFY_INPUTS_MATERIALISE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// What a kernel of gradients hands back of a forward pass of its own.
struct OwnForward {
  bool o = false;
  bool lse = false;
};

struct MaterialiseOptions {
  // Elements by which every lane tensor starts behind a 64-byte boundary.
  int64_t alignment_shift = 0;
  // Where relative paths are looked for, in this order.
  std::vector<std::string> search_directories = {"."};
  // Refuse, before anything is allocated, a case whose EstimateBytes is more.
  int64_t max_bytes = INT64_MAX;
  // Outputs that a trial of gradients has besides.
  OwnForward own{};
  // The kernel knows binary logarithms alone: a merge is put to it in base 2,
  // whatever its case says.
  bool binary_lse = false;
};

// Errors: a case that is not legal, or needs more than the options allow.
Status CheckRequest(const Case& c, const MaterialiseOptions& options);

// Half of this machine's physical memory: the default budget of the tools.
int64_t DefaultMemoryBudget();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_MATERIALISE_H_
