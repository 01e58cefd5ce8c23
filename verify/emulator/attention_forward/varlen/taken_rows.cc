#include "verify/emulator/attention_forward/varlen/taken_rows.h"

#include <algorithm>

#include "verify/emulator/taken.h"

namespace lockstep::verify {
namespace {

class RowWalk {
 public:
  RowWalk(const AttentionForwardProblem& problem,
          const AttentionForwardInputs& inputs, const VarlenRows& rows,
          const FaultDial& dial)
      : p_(problem), in_(inputs), rows_(rows), dial_(dial) {
    for (int64_t b = 0; b < p_.batch; ++b) {
      longest_q_ = std::max(longest_q_, in_.ValidQ(p_, b));
      longest_kv_ = std::max(longest_kv_, in_.ValidKv(p_, b));
    }
  }

  // The number of keys that the kernel believes the row has.
  int64_t Keys(int64_t b) const {
    const int64_t keys = in_.ValidKv(p_, b);
    const bool last = b + 1 == p_.batch;
    if (dial_.Is(Fault::kVarlenNextToken)) return std::min(keys + 1, p_.kv_len);
    if (dial_.Is(Fault::kVarlenLastRowLost) && last) return 0;
    if (dial_.Is(Fault::kVarlenMaxLength)) return longest_kv_;
    if (dial_.Is(Fault::kVarlenLengthRowZero)) return in_.ValidKv(p_, 0);
    if (dial_.Is(Fault::kVarlenLengthNext) && !last) {
      return in_.ValidKv(p_, b + 1);
    }
    if (dial_.Is(Fault::kVarlenTailRead) && last) return longest_kv_;
    if (dial_.Is(Fault::kVarlenLastKeyLost)) {
      return std::max<int64_t>(keys - 1, 0);
    }
    return keys;
  }

  int64_t QueryToken(int64_t b, int64_t i) const {
    const bool early = dial_.Is(Fault::kVarlenQueryEarly) && rows_.cu_q(b) > 0;
    return rows_.cu_q(b) + i - (early ? 1 : 0);
  }
  int64_t KeyToken(int64_t b, int64_t j) const {
    if (dial_.Is(Fault::kVarlenKeyOfNextRow) && j == in_.ValidKv(p_, b) / 2) {
      return rows_.cu_kv((b + 1) % p_.batch) + j;
    }
    return KeyStart(b) + j;
  }
  int64_t ValueToken(int64_t b, int64_t j) const {
    if (dial_.Is(Fault::kVarlenValueTable)) return rows_.cu_q(b) + j;
    return KeyToken(b, j);
  }

  Alignment Align() const {
    if (!dial_.Is(Fault::kVarlenOffsetPadded) ||
        p_.align.kind != Alignment::Kind::kBottomRight) {
      return p_.align;
    }
    return {Alignment::Kind::kOffset, longest_kv_ - longest_q_};
  }

 private:
  int64_t KeyStart(int64_t b) const {
    if (dial_.Is(Fault::kVarlenQueryTable)) return rows_.cu_q(b);
    if (dial_.Is(Fault::kVarlenPaddedStart)) return b * longest_kv_;
    if (dial_.Is(Fault::kVarlenEmptyShifts)) return StartOfFull(b);
    return rows_.cu_kv(b);
  }

  // The start of the n-th row that has a key.
  int64_t StartOfFull(int64_t n) const {
    for (int64_t b = 0; b < p_.batch; ++b) {
      if (in_.ValidKv(p_, b) == 0) continue;
      if (n-- == 0) return rows_.cu_kv(b);
    }
    return rows_.cu_kv(p_.batch);
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const VarlenRows& rows_;
  const FaultDial& dial_;
  int64_t longest_q_ = 0;
  int64_t longest_kv_ = 0;
};

// Row b has count(b) positions, each at token(b, i).
template <class Count, class Token>
LaneView TakeTokens(const LaneView& tokens, int64_t batch, int64_t length,
                    const Count& count, const Token& token,
                    std::vector<uint8_t>* memory) {
  return TakeDense(
      tokens, {batch, tokens.shape[1], length, tokens.shape[3]}, count,
      [&](int64_t b, int64_t h, int64_t i) {
        // Behind its end the tensor wraps around to its beginning.
        const int64_t at = token(b, i) % tokens.shape[2];
        return h * tokens.strides[1] + at * tokens.strides[2];
      },
      memory);
}

}  // namespace

bool BreaksVarlen(const FaultDial& dial) {
  const auto of_rows = [](Fault f) { return f >= Fault::kVarlenNextToken; };
  return of_rows(dial.fault) || of_rows(dial.second);
}

TakenRows TakeRows(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const VarlenRows& rows,
                   const FaultDial& dial) {
  const RowWalk walk(problem, inputs, rows, dial);
  const auto queries = [&](int64_t b) { return inputs.ValidQ(problem, b); };
  const auto keys = [&](int64_t b) { return walk.Keys(b); };
  TakenRows taken;
  taken.problem = problem;
  taken.problem.align = walk.Align();
  taken.inputs = inputs;
  taken.inputs.q = TakeTokens(
      inputs.q, problem.batch, problem.q_len, queries,
      [&](int64_t b, int64_t i) { return walk.QueryToken(b, i); }, &taken.q);
  taken.inputs.k = TakeTokens(
      inputs.k, problem.batch, problem.kv_len, keys,
      [&](int64_t b, int64_t j) { return walk.KeyToken(b, j); }, &taken.k);
  taken.inputs.v = TakeTokens(
      inputs.v, problem.batch, problem.kv_len, keys,
      [&](int64_t b, int64_t j) { return walk.ValueToken(b, j); }, &taken.v);
  taken.inputs.valid_kv.clear();
  for (int64_t b = 0; b < problem.batch; ++b) {
    taken.inputs.valid_kv.push_back(walk.Keys(b));
  }
  return taken;
}

}  // namespace lockstep::verify
