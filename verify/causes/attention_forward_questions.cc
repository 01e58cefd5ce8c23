// Attention with another scale, cap or mask, forward and backward, and parts
// with an lse in another base.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/format.h"
#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_merge/case.h"
#include "verify/causes/questions.h"

namespace lockstep::verify {
namespace {

AttentionForwardCase& Of(Case* c) { return c->Get<AttentionForwardCase>(); }

std::string Instead(const char* what, double asked, double factor) {
  return Format("%s is %.4g where %.4g is asked (%.4g times)", what,
                asked * factor, asked, factor);
}

Question Scale(double scale) {
  return {"scale", true,
          [](double factor, Case* c) { Of(c).scale.value *= factor; },
          [scale](double factor) {
            const std::string base = BaseText(factor);
            return Instead("scale", scale, factor) +
                   (base.empty() ? "" : ": scores are" + base.substr(1));
          }};
}

void AddCaps(double cap, std::vector<Question>* all) {
  all->push_back(
      {"cap", true,
       [](double factor, Case* c) { Of(c).softcap->value *= factor; },
       [cap](double factor) { return Instead("cap", cap, factor); }});
  all->push_back({"behind_cap", true,
                  [](double factor, Case* c) {
                    Of(c).scale.value *= factor;
                    Of(c).softcap->value *= factor;
                  },
                  [](double factor) {
                    return Format(
                               "scores are %.4g times as large behind the "
                               "cap",
                               factor) +
                           BaseText(factor);
                  }});
  all->push_back(
      {"no_cap", false, [](double, Case* c) { Of(c).softcap.reset(); },
       [cap](double) {
         return Format("no cap is applied where cap=%.4g is asked", cap);
       }});
}

// Of a kernel with a cap of its own.
Question AnyCap() {
  constexpr double kUsual = 50;
  return {
      "own_cap", true,
      [](double factor, Case* c) { Of(c).softcap = Number{kUsual * factor}; },
      [](double factor) {
        return Format("scores are capped at %.4g where no cap is asked",
                      kUsual * factor);
      }};
}

// Every term of that kind sees all.
bool Open(MaskExpr::Kind kind, MaskExpr* mask) {
  bool any = mask->kind == kind;
  if (any) *mask = MaskExpr{};
  for (MaskExpr& child : mask->children) any = Open(kind, &child) || any;
  return any;
}

bool OpenAll(MaskExpr::Kind kind, Case* c) {
  bool any = Open(kind, &Of(c).mask);
  for (auto& [head, mask] : Of(c).head_mask) any = Open(kind, &mask) || any;
  return any;
}

void AddMasks(const Case& c, std::vector<Question>* all) {
  const std::pair<MaskExpr::Kind, const char*> kinds[] = {
      {MaskExpr::Kind::kCausal, "causal"},
      {MaskExpr::Kind::kWindow, "window"},
      {MaskExpr::Kind::kChunked, "chunked"},
      {MaskExpr::Kind::kPrefix, "prefix"}};
  for (const auto& [kind, name] : kinds) {
    Case without = c;
    if (!OpenAll(kind, &without)) continue;
    all->push_back({std::string("no_") + name, false,
                    [kind](double, Case* other) { OpenAll(kind, other); },
                    [name](double) {
                      return std::string(name) + " of the mask is not applied";
                    }});
  }
}

}  // namespace

std::vector<Question> AttentionQuestions(const Case& c) {
  std::vector<Question> all;
  if (c.Has<AttentionMergeCase>()) {
    const bool natural = c.Get<AttentionMergeCase>().base == LseBase::kE;
    all.push_back({"base", false,
                   [natural](double, Case* other) {
                     other->Get<AttentionMergeCase>().base =
                         natural ? LseBase::kTwo : LseBase::kE;
                   },
                   [natural](double) {
                     return natural ? "an lse in base e is taken for base 2"
                                    : "an lse in base 2 is taken for base e";
                   }});
  }
  if (!c.Has<AttentionForwardCase>()) return all;
  const auto& asked = c.Get<AttentionForwardCase>();
  all.push_back(Scale(asked.scale.value));
  if (asked.softcap) {
    AddCaps(asked.softcap->value, &all);
  } else {
    all.push_back(AnyCap());
  }
  AddMasks(c, &all);
  if (c.Has<AttentionBackwardCase>() && c.Get<AttentionBackwardCase>().dlse) {
    all.push_back({"no_dlse", false,
                   [](double, Case* other) {
                     other->Get<AttentionBackwardCase>().dlse.reset();
                   },
                   [](double) { return "dlse is ignored"; }});
  }
  return all;
}

}  // namespace lockstep::verify
