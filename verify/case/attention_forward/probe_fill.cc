#include "verify/case/attention_forward/probe_fill.h"

#include <algorithm>
#include <optional>
#include <string>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/case/attention_forward/scales.h"
#include "verify/case/fill.h"

namespace lockstep::verify {

Status CheckProbe(const AttentionForwardCase& c,
                  const AttentionForwardProblem& problem) {
  const std::optional<ProbeKind> probe = ProbeOf(c);
  if (!probe) return {};
  const std::string name = std::string("fill probe:") + ProbeName(*probe);
  bool seen = false;
  for (const FillTerm& term : c.fill) {
    const bool kept = term.kind == FillKind::kProbe ? !seen
                      : seen ? term.kind == FillKind::kPoison
                             : term.kind == FillKind::kFile;
    seen = seen || term.kind == FillKind::kProbe;
    if (kept) continue;
    return Status::Error(name + ": cannot be combined with '" +
                         FormatFillTerm(term) +
                         "'; only file:PATH#DIGEST before it (for segment "
                         "ids) and poison:masked after it can");
  }
  for (const auto& strides : {c.strides.q, c.strides.k, c.strides.v}) {
    if (!strides ||
        std::find(strides->begin(), strides->end(), 0) == strides->end()) {
      continue;
    }
    return Status::Error(name + ": a stride of 0 joins elements that differ");
  }
  RETURN_IF_ERROR(CheckScalesOfProbe(name, c));
  const std::string why = WhyNotProbe(*probe, problem);
  return why.empty() ? Status() : Status::Error(name + ": " + why);
}

}  // namespace lockstep::verify
