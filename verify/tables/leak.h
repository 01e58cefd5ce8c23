// Does anything leak between the documents of a packed row? Tests on a
// pipeline's own arrays and kernel, exact: bits of outputs are compared with
// bits of outputs of the same kernel.
#ifndef LOCKSTEP_VERIFY_TABLES_LEAK_H_
#define LOCKSTEP_VERIFY_TABLES_LEAK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::verify {

using AttentionKernel = std::function<Status(const AttentionForwardProblem&,
                                             const AttentionForwardInputs&,
                                             const AttentionForwardOutputs&)>;

struct Leak {
  std::string test;     // "L1" ... "L5"
  std::string message;  // the first row of outputs that differs
};

struct LeakReport {
  int64_t documents = 0;  // of one token or more
  int64_t alone = 0;      // documents run by themselves (L1)
  int64_t swapped = 0;    // pairs of documents exchanged (L5)
  std::vector<Leak> leaks;
};

// Documents are the runs of equal ids of queries that keys have in the same
// places; all other positions are padding. For every document:
//   L1 run by itself it has the same outputs: neither the chains of N11 nor
//      their fold depend on where a document stands;
//   L2 with other numbers in all other documents it has the same outputs;
//   L3 with NaN and huge numbers in padding, too;
//   L4 with the largest finite numbers in the values of all other documents:
//      weights of hidden keys are 0, not small;
//   L5 documents of one length that exchange their tokens exchange their
//      outputs, and nothing else changes.
// Errors: a problem without segments or with queries that are not the keys'
// tokens; a mask that does not move with its document (chunked, prefix, dense,
// an offset); what the kernel refuses.
//   Requires: Validate(problem, inputs, ...).ok().
Result<LeakReport> FindLeaks(const AttentionForwardProblem& problem,
                             const AttentionForwardInputs& inputs,
                             const AttentionKernel& kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_LEAK_H_
