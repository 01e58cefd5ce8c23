// The parts of one row as a kernel reads them, with the faults of addresses.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_PARTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_PARTS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "verify/emulator/attention_merge/kernel.h"

namespace lockstep::verify {

struct RowPart {
  float lse = 0;
  bool seen = true;  // it saw a key
  std::vector<float> o;
};

// In the order in which they are merged. Parts that saw no key are among them.
std::vector<RowPart> PartsOfRow(const AttentionMergeProblem& problem,
                                const AttentionMergeInputs& inputs,
                                const MergeVariant& variant, MergeFault fault,
                                int64_t head, int64_t row);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_PARTS_H_
