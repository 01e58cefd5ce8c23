#include "verify/causes/detail.h"

#include <cstdint>
#include <functional>
#include <optional>

#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {
namespace {

// The first term of that kind, anywhere in the mask of the case.
const MaskExpr* TermOf(const MaskExpr& mask, MaskExpr::Kind kind) {
  if (mask.kind == kind) return &mask;
  for (const MaskExpr& child : mask.children) {
    if (const MaskExpr* found = TermOf(child, kind)) return found;
  }
  return nullptr;
}

// A bug that is off by a few in one number of the case.
struct OffBy {
  const char* bug;
  MaskExpr::Kind kind;
  int64_t (*number)(const MaskExpr& term);
  int64_t by;
};

int64_t LeftOf(const MaskExpr& term) { return term.left; }
int64_t RightOf(const MaskExpr& term) { return term.right; }
int64_t TokensOf(const MaskExpr& term) { return term.tokens; }
int64_t PrefixOf(const MaskExpr& term) {
  return term.prefix.size() == 1 ? term.prefix[0] : kUnlimited;
}

constexpr OffBy kOffBy[] = {
    {"attn.window_left_plus_one", MaskExpr::Kind::kWindow, LeftOf, 1},
    {"attn.window_left_minus_one", MaskExpr::Kind::kWindow, LeftOf, -1},
    {"attn.window_right_plus_one", MaskExpr::Kind::kWindow, RightOf, 1},
    {"attn.prefix_plus_one", MaskExpr::Kind::kPrefix, PrefixOf, 1},
    {"attn.prefix_minus_one", MaskExpr::Kind::kPrefix, PrefixOf, -1},
    {"attn.sink_plus_one", MaskExpr::Kind::kSink, TokensOf, 1},
};

}  // namespace

std::string DetailOf(const std::string& bug, const Case& c) {
  if (!c.Has<AttentionForwardCase>()) return "";
  const MaskExpr& mask = c.Get<AttentionForwardCase>().mask;
  for (const OffBy& one : kOffBy) {
    if (bug != one.bug) continue;
    const MaskExpr* const term = TermOf(mask, one.kind);
    const int64_t number = term == nullptr ? kUnlimited : one.number(*term);
    if (number == kUnlimited) return "";
    return " (" + std::to_string(number + one.by) + " for " +
           std::to_string(number) + ")";
  }
  return "";
}

}  // namespace lockstep::verify
