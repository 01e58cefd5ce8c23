#include "verify/identify/mamba3_scan/identify.h"

#include <limits>

#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
namespace {

// Chunks begin at multiples of their lengths. So many tokens in front part none
// of those of a length that people choose: 16, or 64 and more.
int64_t LightTokens(int64_t wanted) {
  if (wanted <= 16) return wanted == 0 ? 0 : 16;
  return (wanted + 63) / 64 * 64;
}

// The calibrated line is that of the base's operands alone.
void SettleCompanion(ScanKernel* kernel) {
  const ScanNumeric base = *LoadProfile(kernel->found.base).value().scan;
  ScanNumeric same = kernel->scan();
  same.companion = base.companion;
  if (!(same == base)) kernel->scan().companion = 0;
}

Result<Identified> AskAll(const IdentifyRequest& request, int64_t light,
                          Candidate& candidate) {
  ScanKernel kernel(candidate, request.lane);
  kernel.light_tokens = light;
  // The first answer decides whether there will be any.
  const auto answer = kernel.Ask({});
  if (!answer.ok()) kernel.sure = std::numeric_limits<double>::infinity();
  if (!answer.ok() && !kernel.Ask({}).ok()) return answer.status();
  const Status asked = AskEach(ScanProbes(), request.stop, &kernel);
  if (!asked.ok()) return asked;
  SettleCompanion(&kernel);
  return kernel.Take();
}

}  // namespace

Result<Identified> IdentifyScan(const IdentifyRequest& request,
                                Candidate& candidate) {
  return AskTwice(request, [&](int64_t light) {
    return AskAll(request, LightTokens(light), candidate);
  });
}

}  // namespace lockstep::verify
