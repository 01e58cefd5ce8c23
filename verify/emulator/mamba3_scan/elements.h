// What the emulated scans do to single numbers.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ELEMENTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ELEMENTS_H_

#include <cstddef>
#include <cstdint>

#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

inline constexpr double kPi = 3.14159265358979323846;

inline size_t Z(int64_t n) { return static_cast<size_t>(n); }

// The value of x in a type that may be f32 itself.
inline float Cast(float x, NumberType type) {
  return type == NumberType::kF32 ? x : RoundTo(x, type);
}

// The same of an operand of a matrix unit.
inline float Operand(float x, NumberType type, const ScanNumeric& sites) {
  if (type == NumberType::kF32) return x;
  return sites.operand_round == OperandRound::kTruncate ? TruncateTo(x, type)
                                                        : RoundTo(x, type);
}

// An element of a tensor of any lane.
template <typename View, typename... Index>
float Load(const View& x, Index... at) {
  return x.Float(at...);
}

// Into a tensor of any lane, which has the value.
template <typename View, typename... Index>
void StoreRounded(const View& to, float x, Index... at) {
  WithAnyLane(to.lane, [&](auto element) {
    using LaneElement = decltype(element);
    to.template As<LaneElement>()(at...) =
        reference::ElementFrom<LaneElement>(x);
  });
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ELEMENTS_H_
