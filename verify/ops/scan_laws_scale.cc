// The law of scale.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "verify/compare.h"
#include "verify/ops/scan_laws.h"

namespace lockstep::verify {
namespace {

// Values are made smaller by up to so many powers of two.
constexpr int64_t kMostHalvings = 24;

// Times 2^exponent; false if an element would leave the normal numbers.
bool ScaleTensor(const ScanStorage& storage, int exponent) {
  if (!storage.there()) return true;
  const MutableLaneView& view = storage.tensor.view;
  const auto& n = view.shape;
  const auto width = static_cast<int64_t>(LaneBytes(view.lane));
  for (int64_t line = 0; line < n[0] * n[1] * n[2]; ++line) {
    for (int64_t c = 0; c < n[3]; ++c) {
      const int64_t offset = line / (n[1] * n[2]) * view.strides[0] +
                             line / n[2] % n[1] * view.strides[1] +
                             line % n[2] * view.strides[2] +
                             c * view.strides[3];
      char* at = static_cast<char*>(view.data) + offset * width;
      uint32_t bits = 0;
      std::memcpy(&bits, at, static_cast<size_t>(width));
      const double x = std::ldexp(ElementValue(view.lane, bits), exponent);
      const double size = std::fabs(x);
      if (x != 0 && size < double{std::numeric_limits<float>::min()}) {
        return false;
      }
      // The fraction of a number stays what it is; infinity and NaN, too.
      const auto whole = std::bit_cast<uint32_t>(static_cast<float>(x));
      bits = view.lane == Lane::kF32 ? whole : whole >> 16;
      std::memcpy(at, &bits, static_cast<size_t>(width));
    }
  }
  return true;
}

}  // namespace

// v and the carry's h and v times a power of two: so are y, h and v. Proof:
// docs/verdicts.md, "Laws".
Result<Law> ScanLaws::Scale() const {
  const auto exponent =
      -1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings));
  Result<Mamba3ScanData> data =
      PickScan(trial_.data(), PickAll(trial_.data()), request_.scan());
  if (!data.ok()) return data.status();
  for (const ScanTensor tensor :
       {ScanTensor::kV, ScanTensor::kCarryH, ScanTensor::kCarryV}) {
    if (!ScaleTensor(data->at(tensor), exponent)) return Law();
  }
  LawCall call = CallOn(request_, std::move(data.value()));
  Result<OutputSet> outputs = call.trial->Allocate(0);
  if (!outputs.ok()) return outputs.status();
  Execution execution;
  std::feclearexcept(FE_UNDERFLOW);
  call.trial->RunReference(outputs.value(), &execution);
  if (std::fetestexcept(FE_UNDERFLOW) != 0) return Law();
  for (int64_t run = 0; run < Count(); ++run) KeepRun(run, run, &call);
  Law law = OneCall(false, std::move(call));
  for (const OutputSpec& spec : trial_.outputs()) {
    const bool linear = spec.name != "carry_theta" && spec.name != "carry_k";
    law.exponents.push_back(linear ? exponent : 0);
  }
  return law;
}

}  // namespace lockstep::verify
