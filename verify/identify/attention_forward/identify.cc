#include "verify/identify/attention_forward/identify.h"

#include <cstdint>

#include "verify/base/status_macros.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/attention_forward/operands.h"

namespace lockstep::verify {
namespace {

// All probes, with so many light keys behind those of each.
Result<Identified> AskAll(const IdentifyRequest& request, int64_t light_keys,
                          Candidate& candidate) {
  AttentionKernel kernel(candidate, request.lane);
  kernel.light_keys = light_keys;
  // The first answer decides whether there will be any.
  AttentionQuestion first;
  first.q = first.k = first.v = {{1, 0, 0, 0, 0, 0, 0, 0}};
  ASSIGN_OR_RETURN(const auto answer, kernel.Ask(first));
  RETURN_IF_ERROR(AskEach(AttentionProbes(), request.stop, &kernel));
  SettleOperands(kernel.profile.p, &kernel);
  return kernel.Take();
}

}  // namespace

Result<Identified> IdentifyAttention(const IdentifyRequest& request,
                                     Candidate& candidate) {
  return AskTwice(request, [&](int64_t light_keys) {
    return AskAll(request, light_keys, candidate);
  });
}

}  // namespace lockstep::verify
