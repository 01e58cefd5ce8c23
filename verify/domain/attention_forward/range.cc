// Numbers of attention that the lanes of q, k and v hold.
#include "verify/domain/draws/range.h"

#include <cmath>
#include <vector>

#include "verify/base/random/deviates.h"
#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

// Deviates stay below so many deviations.
constexpr double kFarthestDeviate = 8;

}  // namespace

void KeepInRange(Case* c) {
  auto& a = c->Get<AttentionForwardCase>();
  if (ProbeOf(a)) return;
  const Lane q = a.q_lane.value_or(a.lane), kv = a.kv_lane.value_or(a.lane);
  KeepInRange(q, kFillQ, &a.fill);
  KeepInRange(kv, kFillK | kFillV, &a.fill);
  if (c->Has<AttentionBackwardCase>()) {
    KeepInRange(a.lane, kFillAll, &c->Get<AttentionBackwardCase>().d_o);
  }
  // A cap, a spread or levels of a tiny scale want a huge q.
  const double factor = std::fabs(static_cast<double>(QueryScale(a)));
  if (!HasShortRange(q) || factor * kFarthestDeviate <= LaneRowOf(q).largest) {
    return;
  }
  a.softcap.reset();
  std::erase_if(a.fill, [](const FillTerm& term) {
    return term.kind == FillKind::kSpread || term.kind == FillKind::kCaps;
  });
  if (a.fill.empty()) a.fill = AttentionForwardCase().fill;
}

}  // namespace lockstep::verify
