// The law of scale.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/ops/mamba3_scan/laws.h"

namespace lockstep::verify {
// Times 2^exponent; false if an element would leave the normal numbers.
bool ScaleTensor(const ScanStorage& storage, int exponent) {
  if (!storage.there()) return true;
  const LaneTensor& tensor = storage.tensor;
  bool normal = true;
  ForElements(tensor.view.shape, [&](const At& at) {
    const Lane lane = tensor.view.lane;
    const double x = std::ldexp(
        ElementValue(lane, ElementBits(tensor.const_view(), at)), exponent);
    normal &=
        !(x != 0 && std::fabs(x) < double{std::numeric_limits<float>::min()});
    SetElement(tensor.view, at, BitsOf(lane, x));
  });
  return normal;
}

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
    if (!ScaleTensor(data->at(tensor), exponent)) return Law();
  }
  LawCall call = CallOn(request(), std::move(data.value()));
  Result<OutputSet> outputs = call.trial->Allocate(0);
  if (!outputs.ok()) return outputs.status();
  Execution execution;
  std::feclearexcept(FE_UNDERFLOW);
  call.trial->RunReference(outputs.value(), &execution);
  if (std::fetestexcept(FE_UNDERFLOW) != 0) return Law();
  for (int64_t run = 0; run < Count(); ++run) KeepRun(run, run, &call);
  Law law = OneCall(false, std::move(call));
  for (const OutputSpec& spec : trial().outputs()) {
    const bool linear = spec.name != "carry_theta" && spec.name != "carry_k";
    law.exponents.push_back(linear ? exponent : 0);
  }
  return law;
}

}  // namespace lockstep::verify
