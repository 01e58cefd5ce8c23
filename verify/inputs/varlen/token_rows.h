// Outputs whose batch rows lie end to end: memory for them as a kernel sees it,
// and their way back to rows of one length, as the judge has them.
#ifndef LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_
#define LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// How the rows of one output lie.
struct TokenRows {
  std::vector<int32_t> starts;  // [batch + 1]
  int64_t tail = 0;             // tokens behind the last row, not to be written
  // What the judge's rows hold where the batch row has no token.
  float absent = 0;

  int64_t tokens() const { return starts.back() + tail; }
};

// A poisoned tensor [1, heads, tokens, channels] in the order [tokens, heads,
// channels] of memory, or, of one channel, [heads, tokens].
Result<LaneTensor> AllocateTokens(Lane lane, int64_t heads, int64_t channels,
                                  int64_t tokens, int64_t shift);

// The same tensor without its batch axis: [tokens, heads, channels], or, where
// `own`, the judge's, has three axes, [heads, tokens].
NamedOutput NameTokens(const LaneTensor& tokens, const NamedOutput& own);

// Row by row, `tokens` of NameTokens -> `own` [b, h, s, c] or [b, h, s]. Rows
// behind a batch row's last token become `absent`.
void SpreadTokens(const TokenRows& rows, const NamedOutput& tokens,
                  const NamedOutput& own);

// The other way; tokens behind the last row stay as they are.
void GatherTokens(const TokenRows& rows, const NamedOutput& own,
                  const NamedOutput& tokens);

// The first token behind the last row that does not hold `bits`, as an error
// says it; empty: there is none.
std::string WrittenBehind(const TokenRows& rows, const NamedOutput& tokens,
                          uint32_t bits);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_VARLEN_TOKEN_ROWS_H_
