// The laws of scale and of the gate: other values, drawn where no case looks.
#include <cstdint>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/scale.h"

namespace lockstep::verify {

// v and the carry's h and v times a power of two: so are y, h and v. Proof:
// docs/verdicts.md, "Laws".
Result<Law> ForwardLaws::Scale() const {
  const auto exponent =
      -1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings));
  ASSIGN_OR_RETURN(Mamba3ScanData data,
                   PickScan(trial().data(), PickAll(trial().data()),
                            request().Get<Mamba3ScanCase>()));
  for (const ScanTensor tensor :
       {ScanTensor::kV, ScanTensor::kCarryH, ScanTensor::kCarryV}) {
    if (!ScaleTensor(data.at(tensor).tensor, exponent)) return Law();
  }
  LawCall call = CallOn(request(), std::move(data));
  ASSIGN_OR_RETURN(const bool normal, StaysNormal(*call.trial));
  if (!normal) return Law();
  for (int64_t run = 0; run < Count(); ++run) KeepRun(run, run, &call);
  Law law = OneCall(false, std::move(call));
  for (const OutputSpec& spec : trial().outputs()) {
    const bool linear = spec.name != "carry_theta" && spec.name != "carry_k";
    law.exponents.push_back(linear ? exponent : 0);
  }
  return law;
}

// Gates of 4 .. 16, either way, where sigmoid is next to 0 or 1: no carry sees
// them.
Result<Law> ForwardLaws::Gate() const {
  ASSIGN_OR_RETURN(Mamba3ScanData data,
                   PickScan(trial().data(), PickAll(trial().data()),
                            request().Get<Mamba3ScanCase>()));
  const MutableLaneView& z = data.at(ScanTensor::kZ).tensor.view;
  ForElements(z.shape, [&](const ::lockstep::verify::At& at) {
    const uint64_t drawn = Mix(
        static_cast<uint64_t>(Draw(LawDraw::kGate, int64_t{1} << 40)) ^
        Mix(static_cast<uint64_t>(
            ((at[0] * z.shape[1] + at[1]) * z.shape[2] + at[2]) * z.shape[3] +
            at[3])));
    const double size = 4 + static_cast<double>(drawn % 97) / 8;
    SetElement(z, at, BitsOf(z.lane, drawn >> 63 == 0 ? size : -size));
  });
  LawCall call = CallOn(request(), std::move(data));
  for (int64_t run = 0; run < Count(); ++run) KeepRun(run, run, &call);
  call.kept[0].clear();
  return OneCall(false, std::move(call));
}

}  // namespace lockstep::verify
