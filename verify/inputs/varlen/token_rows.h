// Outputs of ragged batches: the memory that a kernel writes, and copies
// between it and the judge's padded rows.
#ifndef LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_
#define LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// The layout of one output's rows.
struct TokenRows {
  std::vector<int32_t> starts;  // [batch + 1]
  int64_t tail = 0;             // tokens behind the last row, not to be written
  // The value in the judge's rows where the batch row has no token.
  float absent = 0;

  int64_t tokens() const { return starts.back() + tail; }
};

// A poisoned tensor [1, heads, tokens, channels]. The order in memory is
// [tokens, heads, channels], or [heads, tokens] for one channel.
Result<LaneTensor> AllocateTokens(Lane lane, int64_t heads, int64_t channels,
                                  int64_t tokens, int64_t shift);

// The same tensor without its batch axis: [tokens, heads, channels]. If the
// judge's output `own` has three axes, it is [heads, tokens].
NamedOutput NameTokens(const LaneTensor& tokens, const NamedOutput& own);

// Copies `tokens` of NameTokens row by row to `own`, [b, h, s, c] or [b, h, s].
// Rows behind a batch row's last token become `absent`.
void SpreadTokens(const TokenRows& rows, const NamedOutput& tokens,
                  const NamedOutput& own);

// Copies in the other direction; tokens behind the last row stay unchanged.
void GatherTokens(const TokenRows& rows, const NamedOutput& own,
                  const NamedOutput& tokens);

// The first token behind the last row that does not hold `bits`, as the text of
// an error; empty if there is none.
std::string WrittenBehind(const TokenRows& rows, const NamedOutput& tokens,
                          uint32_t bits);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_
