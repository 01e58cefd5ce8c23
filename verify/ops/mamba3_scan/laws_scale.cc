// The law of scale.
#include <cstdint>
#include <utility>

#include "verify/case/mamba3_scan/case.h"
#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/scale.h"

namespace lockstep::verify {

// v and the carry's h and v times a power of two: so are y, h and v. Proof:
// docs/verdicts.md, "Laws".
Result<Law> ForwardLaws::Scale() const {
  const auto exponent =
      -1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings));
  Result<Mamba3ScanData> data = PickScan(
      trial().data(), PickAll(trial().data()), request().Get<Mamba3ScanCase>());
  if (!data.ok()) return data.status();
  for (const ScanTensor tensor :
       {ScanTensor::kV, ScanTensor::kCarryH, ScanTensor::kCarryV}) {
    if (!ScaleTensor(data->at(tensor).tensor, exponent)) return Law();
  }
  LawCall call = CallOn(request(), std::move(data.value()));
  const Result<bool> normal = StaysNormal(*call.trial);
  if (!normal.ok()) return normal.status();
  if (!normal.value()) return Law();
  for (int64_t run = 0; run < Count(); ++run) KeepRun(run, run, &call);
  Law law = OneCall(false, std::move(call));
  for (const OutputSpec& spec : trial().outputs()) {
    const bool linear = spec.name != "carry_theta" && spec.name != "carry_k";
    law.exponents.push_back(linear ? exponent : 0);
  }
  return law;
}

}  // namespace lockstep::verify
