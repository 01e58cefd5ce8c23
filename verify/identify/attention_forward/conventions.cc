// Conventions: reported, and never taken over, because they say what is right.
#include <bit>
#include <cmath>
#include <limits>

#include "verify/base/format.h"
#include "verify/identify/attention_forward/kernel.h"

namespace lockstep::verify {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

bool AllZero(const std::vector<float>& row) {
  for (const float x : row) {
    if (x != 0) return false;
  }
  return true;
}

bool AnyNan(const std::vector<float>& row) {
  for (const float x : row) {
    if (x != x) return true;
  }
  return false;
}

Rows Ones(size_t rows, size_t channels) {
  return Rows(rows, std::vector<float>(channels, 1.0f));
}

// `queries` and `keys` of ones, masked causally, the last query with the last
// key.
AttentionQuestion Causal(size_t queries, size_t keys) {
  AttentionQuestion question;
  question.q = Ones(queries, 8);
  question.k = Ones(keys, 8);
  question.v = Ones(keys, 8);
  question.causal_to_the_end = true;
  return question;
}

bool SameBits(const Rows& a, const Rows& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t c = 0; c < a[i].size(); ++c) {
      if (std::bit_cast<uint32_t>(a[i][c]) != std::bit_cast<uint32_t>(b[i][c]))
        return false;
    }
  }
  return true;
}

}  // namespace

void AskEmptyRows(AttentionKernel* kernel) {
  const auto answer = kernel->Ask(Causal(3, 1));
  if (!kernel->Answered("empty_row", answer)) return;
  const bool zero = AllZero(answer->o[0]) && AllZero(answer->o[1]);
  if (!zero) {
    kernel->Say("empty_row", Word::kReported,
                Format("a row that sees no key had o = %g, not 0",
                       double{answer->o[0][0]}));
    return;
  }
  const float lse = answer->lse.empty() ? -HUGE_VALF : answer->lse[0];
  if (lse == -HUGE_VALF) {
    kernel->Say("empty_row", Word::kSeen,
                answer->lse.empty()
                    ? "a row that sees no key had o = 0"
                    : "a row that sees no key had o = 0 and lse = -inf");
    return;
  }
  const bool known = lse == HUGE_VALF || lse == 0;
  kernel->Say(
      "empty_row", Word::kReported,
      Format("a row that sees no key had o = 0 and lse = %g", double{lse}),
      known ? std::string("empty_row = ") +
                  (lse == 0 ? "zero_zero" : "zero_posinf")
            : "none: no legal value has such an lse");
}

void AskNan(AttentionKernel* kernel) {
  AttentionQuestion question = Causal(2, 2);
  question.q[1][0] = kNan;
  const auto seen = kernel->Ask(question);
  if (!kernel->Answered("nan", seen)) return;
  if (AnyNan(seen->o[1])) {
    kernel->Say("nan", Word::kSeen, "a query with NaN had o = NaN");
  } else {
    kernel->Say("nan", Word::kReported, "a query with NaN had an o without");
  }
  question = Causal(2, 2);
  question.k[1][0] = kNan;
  question.v[1].assign(8, kNan);
  const auto masked = kernel->Ask(question);
  if (!kernel->Answered("masked_nan_safe", masked)) return;
  if (AnyNan(masked->o[0])) {
    // The last key is behind valid_kv now, so that no query sees it.
    question.causal_to_the_end = false;
    question.padding = 1;
    const auto padded = kernel->Ask(question);
    const bool guards = padded.ok() && !AnyNan(padded->o[0]);
    kernel->Say("masked_nan_safe", Word::kReported,
                "a query had NaN from a key that it does not see",
                guards ? "masked_nan_safe = padding" : "masked_nan_safe = no");
  } else {
    kernel->Say("masked_nan_safe", Word::kSeen,
                "NaN in a key reached no query that does not see it");
  }
}

void AskRepeat(AttentionKernel* kernel) {
  AttentionQuestion question;
  for (size_t i = 0; i < 64; ++i) {
    const auto x = static_cast<float>((i * 37 + 11) % 64) / 16.0f - 2.0f;
    question.q.push_back({x, 1, -x, 0.5f, 0, 0, 0, 0});
    question.k.push_back({-x, x, 0.25f, 1, 0, 0, 0, 0});
    question.v.push_back({x, -x, 1, 0.125f});
  }
  const auto first = kernel->Ask(question);
  if (!first.ok()) return;
  bool same = true;
  for (int n = 0; n < 4 && same; ++n) {
    const auto again = kernel->Ask(question);
    same = again.ok() && SameBits(first->o, again->o);
  }
  kernel->Say("repeat", same ? Word::kSeen : Word::kReported,
              same ? "five calls of 64 queries and keys had the same bits"
                   : "the same call had other bits when it was made again",
              same ? "" : "repeat = no");
}

}  // namespace lockstep::verify
