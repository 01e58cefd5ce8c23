// The loops of lane_primitives.h over any lane type of lanes.h; instantiated in
// the same file per instruction set as the kernels.
#ifndef LOCKSTEP_VERIFY_ORACLE_LANE_LOOPS_H_
#define LOCKSTEP_VERIFY_ORACLE_LANE_LOOPS_H_

#include <cstddef>
#include <utility>

#include "verify/oracle/elementary.h"
#include "verify/oracle/lane_primitives.h"
#include "verify/oracle/lanes.h"

namespace lockstep::oracle {

template <typename B, size_t kPrimitive>
inline B ApplyPrimitive(B a, B b, B c) {
  if constexpr (kPrimitive == kLaneAdd) return a + b;
  if constexpr (kPrimitive == kLaneSubtract) return a - b;
  if constexpr (kPrimitive == kLaneMultiply) return a * b;
  if constexpr (kPrimitive == kLaneDivide) return a / b;
  if constexpr (kPrimitive == kLaneMultiplyAdd) return a * b + c;
  if constexpr (kPrimitive == kLaneFma) return Fma(a, b, c);
  if constexpr (kPrimitive == kLaneAbs) return Abs(a);
  if constexpr (kPrimitive == kLaneRound) return Round(a);
  if constexpr (kPrimitive == kLaneLess) return Select(a < b, B(1.0), B(0.0));
  if constexpr (kPrimitive == kLaneSelect) return Select(a < b, b, c);
  if constexpr (kPrimitive == kLaneMax) return Max(a, b);
  if constexpr (kPrimitive == kLaneMin) return Min(a, b);
  if constexpr (kPrimitive == kLanePowerOfTwo) return PowerOfTwo(a);
  if constexpr (kPrimitive == kLaneExp) return Exp(a);
  if constexpr (kPrimitive == kLaneExpMinusOne) return ExpMinusOne(a);
  if constexpr (kPrimitive == kLaneTanh) return TanhWithSlope(a).tanh;
  if constexpr (kPrimitive == kLaneTanhSlope) return TanhWithSlope(a).slope;
}

template <typename B, size_t kPrimitive>
void RunLanes(const LaneArrays& x) {
  for (size_t i = 0; i < x.count; i += B::size) {
    Store(ApplyPrimitive<B, kPrimitive>(Load<B>(x.a + i), Load<B>(x.b + i),
                                        Load<B>(x.c + i)),
          x.out + i);
  }
}

template <typename B, size_t... kIndex>
constexpr LaneLoops MakeLaneLoops(std::index_sequence<kIndex...>) {
  return {&RunLanes<B, kIndex>...};
}
template <typename B>
constexpr LaneLoops MakeLaneLoops() {
  return MakeLaneLoops<B>(std::make_index_sequence<kPrimitives>());
}

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_LANE_LOOPS_H_
