// What an emulated kernel reads where q, keys, values or rows have an encoding.
#include <cstdint>
#include <span>

#include "verify/emulator/attention_forward/alias/taken_values.h"
#include "verify/emulator/attention_forward/far/taken_far.h"
#include "verify/emulator/attention_forward/fp8/taken_queries.h"
#include "verify/emulator/attention_forward/kernel.h"

namespace lockstep::verify {

void AttentionEmulator::RunPaged(const AttentionForwardProblem& problem,
                                 const AttentionForwardInputs& inputs,
                                 const KeyPages& pages,
                                 const AttentionForwardOutputs& outputs,
                                 std::span<const int64_t> rows) {
  const TakenKeys taken = TakeKeys(problem, inputs, pages, dial_);
  Run(problem, taken.inputs, outputs, rows);
}

void AttentionEmulator::RunVarlen(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& tokens,
                                  const VarlenRows& varlen,
                                  const AttentionForwardOutputs& outputs,
                                  std::span<const int64_t> rows) {
  const TakenRows taken = TakeRows(problem, tokens, varlen, dial_);
  Run(taken.problem, taken.inputs, outputs, rows);
}

void AttentionEmulator::RunListed(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& inputs,
                                  const ListedKeys& listed,
                                  const AttentionForwardOutputs& outputs,
                                  std::span<const int64_t> rows) {
  const TakenLists taken = TakeLists(problem, inputs, listed, dial_);
  Run(taken.problem, taken.inputs, outputs, rows);
}

void AttentionEmulator::Run(const AttentionForwardProblem& asked,
                            const AttentionForwardInputs& given,
                            const AttentionForwardOutputs& outputs,
                            std::span<const int64_t> rows) {
  if (asked.v_in_k && BreaksAlias(dial_)) {
    const TakenValues taken = TakeValues(asked, given, dial_);
    return Run(taken.problem, taken.inputs, outputs, rows);
  }
  if (asked.q_lane && BreaksFp8Queries(dial_)) {
    const TakenQueries taken = TakeQueries(asked, given, dial_);
    return RunRead(taken.problem, taken.inputs, outputs, rows);
  }
  if (BreaksFar(dial_)) {
    const TakenFar taken = TakeFar(given, dial_);
    return RunRead(asked, taken.inputs, outputs, rows);
  }
  RunRead(asked, given, outputs, rows);
}

}  // namespace lockstep::verify
