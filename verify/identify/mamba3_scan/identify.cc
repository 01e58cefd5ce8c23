#include "verify/identify/mamba3_scan/identify.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/case/ssd_scan.h"
#include "verify/identify/mamba3_scan/kernel.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/ssd_scan/trial.h"

namespace lockstep::verify {
namespace {

std::unique_ptr<Mamba3ScanTrial> OpenScan(const Case& c, Mamba3ScanData data) {
  return std::make_unique<Mamba3ScanTrial>(c, std::move(data));
}
std::unique_ptr<Mamba3ScanTrial> OpenStep(const Case& c, Mamba3ScanData data) {
  return std::make_unique<Mamba3StepTrial>(c, std::move(data));
}
std::unique_ptr<Mamba3ScanTrial> OpenSsd(const Case& c, Mamba3ScanData data) {
  return std::make_unique<SsdScanTrial>(c, std::move(data));
}

constexpr ScanOp kScanOps[] = {{&kMamba3ScanText, true, &OpenScan},
                               {&kMamba3StepText, true, &OpenStep},
                               {&kSsdScanText, false, &OpenSsd}};

const ScanOp& ScanOpOf(const std::string& name) {
  return *std::find_if(std::begin(kScanOps), std::end(kScanOps),
                       [&](const ScanOp& op) { return name == op.text->name; });
}

Result<Identified> AskAll(const IdentifyRequest& request, int64_t light,
                          Candidate& candidate) {
  ScanKernel kernel(candidate, ScanOpOf(request.op), request.lane);
  kernel.light_tokens = light;
  // The first answer decides whether there will be any.
  const auto answer = kernel.Ask({});
  if (!answer.ok()) kernel.sure = std::numeric_limits<double>::infinity();
  if (!answer.ok() && !kernel.Ask({}).ok()) return answer.status();
  std::vector<ScanProbe> probes = ScanProbes();
  std::erase_if(probes, [&](const ScanProbe& probe) {
    return probe.mamba3 && !kernel.mamba3();
  });
  RETURN_IF_ERROR(AskEach(probes, request.stop, &kernel));
  kernel.SettleCompanion();
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
