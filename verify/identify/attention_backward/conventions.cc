// Conventions of gradients: reported, and never taken over. Subnormal numbers,
// which are arithmetic, are asked by the same small questions.
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

bool AnyNan(const std::vector<float>& row) {
  for (const float x : row) {
    if (x != x) return true;
  }
  return false;
}

Rows Filled(size_t rows, float x) {
  return Rows(rows, std::vector<float>(8, x));
}

// Masked causally, the last query with the last key; lse of queries that see
// no key is -infinity, as the forward op has it.
GradQuestion Causal(size_t queries, size_t keys) {
  GradQuestion question;
  question.forward.q = Filled(queries, 0.5f);
  question.forward.k = Filled(keys, 0.25f);
  question.forward.v = Filled(keys, 1);
  question.forward.causal_to_the_end = true;
  question.d_o = Filled(queries, 1);
  question.o = Filled(queries, 1);
  for (size_t i = 0; i < queries; ++i) {
    const bool none = i + keys < queries;
    question.lse.push_back(none ? -kInf : 1.0f);
    if (none) question.o[i].assign(8, 0.0f);
  }
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

enum class Small : uint8_t { kKept, kFlushed, kOther };

Small Seen(double answer, double wanted) {
  if (std::fabs(answer - wanted) <= wanted * 0x1p-3) return Small::kKept;
  return answer == 0 ? Small::kFlushed : Small::kOther;
}

// dv of a subnormal do, and of a subnormal P.
Result<std::pair<Small, Small>> SubnormalsOf(GradKernel* kernel) {
  constexpr float kSmall = 0x1.8p-128f;
  constexpr double kScore = -88;  // e^-88 is 0x1.0p-127
  GradQuestion question;
  question.forward.q = question.forward.k = {{0}};
  question.forward.v = {{1}};
  question.d_o = {{kSmall}};
  ASSIGN_OR_RETURN(const auto of_do, kernel->AskGrad(question));
  question.forward.q = {{1}};
  question.forward.k = {{static_cast<float>(kScore)}, {0}};
  question.forward.v = {{1}, {1}};
  question.d_o = {{0x1p60f}};
  question.o = {{1}};
  ASSIGN_OR_RETURN(const auto of_p, kernel->AskGrad(question));
  return std::pair{Seen(double{of_do.dv[0][0]}, double{kSmall}),
                   Seen(double{of_p.dv[0][0]}, ExpDouble(kScore) * 0x1p60)};
}

}  // namespace

void AskGradSubnormals(GradKernel* kernel) {
  // f16 has no numbers so small, flushed or not.
  const NumericProfile& p = kernel->profile;
  if (kernel->lane() == Lane::kF16 || p.operand_v == NumberType::kF16 ||
      p.grad->p == NumberType::kF16) {
    return;
  }
  const auto seen = SubnormalsOf(kernel);
  if (!seen.ok() || seen->first == Small::kOther ||
      seen->second == Small::kOther) {
    kernel->Say("ftz", Word::kAssumed,
                seen.ok() ? "a subnormal do or P became another number"
                          : seen.message());
    return;
  }
  const bool flushed =
      seen->first == Small::kFlushed || seen->second == Small::kFlushed;
  // A forward pass of its own may have flushed numbers, too.
  kernel->profile.ftz = kernel->profile.ftz || flushed;
  kernel->Say("ftz", Word::kSeen,
              flushed ? "dv of a subnormal do, or of a subnormal P, was 0"
                      : "dv of a subnormal do, and of a subnormal P, was kept");
}

void AskGradEmptyRows(GradKernel* kernel) {
  const auto answer = kernel->AskGrad(Causal(3, 1));
  if (!kernel->Answered("empty_row", answer)) return;
  for (const float x : answer->dq[0]) {
    if (x == 0) continue;
    kernel->Say(
        "empty_row", Word::kReported,
        Format("a query that sees no key had dq = %g, not 0", double{x}));
    return;
  }
  kernel->Say("empty_row", Word::kSeen, "a query that sees no key had dq = 0");
}

void AskGradNan(GradKernel* kernel) {
  GradQuestion question = Causal(2, 2);
  question.forward.q[1][0] = kNan;
  const auto seen = kernel->AskGrad(question);
  if (!kernel->Answered("nan", seen)) return;
  if (AnyNan(seen->dq[1])) {
    kernel->Say("nan", Word::kSeen, "a query with NaN had dq = NaN");
  } else {
    kernel->Say("nan", Word::kReported, "a query with NaN had a dq without");
  }
  // The second key is hidden from the first query.
  question = Causal(2, 2);
  question.forward.k[1][0] = kNan;
  question.forward.v[1].assign(8, kNan);
  const auto key = kernel->AskGrad(question);
  question = Causal(2, 2);
  question.forward.q[0][0] = kNan;
  question.d_o[0].assign(8, kNan);
  const auto query = kernel->AskGrad(question);
  if (!key.ok() || !query.ok()) {
    kernel->Say("masked_nan_safe", Word::kAssumed,
                key.ok() ? query.message() : key.message());
    return;
  }
  const bool reached =
      AnyNan(key->dq[0]) || AnyNan(query->dk[1]) || AnyNan(query->dv[1]);
  kernel->Say("masked_nan_safe", reached ? Word::kReported : Word::kSeen,
              reached ? "NaN behind the mask reached gradients"
                      : "NaN in a key, and in a query, reached no gradient "
                        "behind the mask",
              reached ? "masked_nan_safe = no" : "");
}

void AskGradRepeat(GradKernel* kernel) {
  GradQuestion question;
  for (size_t i = 0; i < 64; ++i) {
    const auto x = static_cast<float>((i * 37 + 11) % 64) / 16.0f - 2.0f;
    question.forward.q.push_back({x, 1, -x, 0.5f, 0, 0, 0, 0});
    question.forward.k.push_back({-x, x, 0.25f, 1, 0, 0, 0, 0});
    question.forward.v.push_back({x, -x, 1, 0.125f});
    question.d_o.push_back({1, x, -x, 0.5f});
    question.o.push_back({0, 0, 0, 0});
    question.lse.push_back(8);
  }
  const auto first = kernel->AskGrad(question);
  if (!first.ok()) return;
  bool same = true;
  for (int n = 0; n < 4 && same; ++n) {
    const auto again = kernel->AskGrad(question);
    same = again.ok() && SameBits(first->dq, again->dq) &&
           SameBits(first->dk, again->dk) && SameBits(first->dv, again->dv);
  }
  kernel->Say("repeat", same ? Word::kSeen : Word::kReported,
              same ? "five calls of 64 queries and keys had the same bits"
                   : "the same call had other bits when it was made again",
              same ? "" : "repeat = no");
}

}  // namespace lockstep::verify
