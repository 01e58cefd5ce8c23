// What the oracle's loops are made of, one primitive at a time, as loops over
// arrays: for the check at start-up (lane_check.h) of every instruction set.
#ifndef LOCKSTEP_VERIFY_ORACLE_LANE_PRIMITIVES_H_
#define LOCKSTEP_VERIFY_ORACLE_LANE_PRIMITIVES_H_

#include <array>
#include <cstddef>

namespace lockstep::oracle {

// out[i] = primitive(a[i], b[i], c[i]); count is a multiple of kPanel.
struct LaneArrays {
  const double* a = nullptr;
  const double* b = nullptr;
  const double* c = nullptr;
  double* out = nullptr;
  size_t count = 0;
};
using LaneLoop = void (*)(const LaneArrays&);

// In this order; lane_check.cc has their scalar twins.
enum Primitive : size_t {
  kLaneAdd,          // a + b
  kLaneSubtract,     // a - b
  kLaneMultiply,     // a * b
  kLaneDivide,       // a / b
  kLaneMultiplyAdd,  // a * b + c in two roundings: nothing contracts it
  kLaneFma,          // a * b + c in one rounding
  kLaneAbs,          // |a|
  kLaneRound,        // the nearest integer, halves to even
  kLaneLess,         // 1 where a < b, 0 elsewhere
  kLaneSelect,       // b where a < b, c elsewhere
  kLaneMax,          // b where one is NaN
  kLaneMin,
  kLanePowerOfTwo,  // 2^a
  kLaneExp,         // the functions of elementary.h
  kLaneExpMinusOne,
  kLaneTanh,
  kLaneTanhSlope,
  kPrimitives
};
using LaneLoops = std::array<LaneLoop, kPrimitives>;

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_LANE_PRIMITIVES_H_
