// Scalar elementary functions: the definitions of clause N14.
//
// Each is a fixed sequence of f32 operations (add, subtract, multiply, divide,
// fma, integer arithmetic on the bits). The vector twins in
// optimized/simd/elementary-inl.h give the same bits for all 2^32 inputs. No
// libm function is called. Bounds and the arguments where the largest error
// occurs are the constants of reference/contract/coefficients.h; every one is
// measured over all inputs by tests/reference/elementary_sweep.cc. Derivations:
// docs/elementary.md.
//
// NaN: a function returns the canonical quiet NaN (N2) for every NaN and for
// every argument outside its domain. A function named ...Core is the bare
// kernel of a hot loop. It is defined on the stated domain only. For a NaN it
// returns some NaN, which is canonicalised where it is written (N13).
#ifndef LOCKSTEP_REFERENCE_ELEMENTARY_H_
#define LOCKSTEP_REFERENCE_ELEMENTARY_H_

#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::reference {

// 2^f for |f| <= 1/2: the g of N9, in [1/2, 2).
float Exp2Core(float f);

// 2^x, any x: gradual underflow, +inf above, +0 below.
float Exp2(float x);

// e^x, any x: gradual underflow, +inf above, +0 below.
float Exp(float x);

// x = z * 2^k with z in [sqrt(1/2), sqrt 2) and k integer-valued, for x > 0
// finite (subnormal included). Exact.
struct Log2Split {
  float z;
  float k;
};
Log2Split SplitForLog2(float x);

// log2(z) for z in [sqrt(1/2), sqrt 2): the log2 of N11's lse; 0 for z = 1.
float Log2Core(float z);

// log2(x): -inf for both zeros, +inf for +inf, NaN below zero.
float Log2(float x);

// tanh(x): odd, |tanh| <= 1; +-0 and subnormals are returned unchanged. The
// core differs on NaN only.
float TanhCore(float x);
float Tanh(float x);

// 1 / (1 + e^-x): in [0, 1], gradual underflow to the left.
float Sigmoid(float x);

// x * Sigmoid(x), both rounded: the gate of N15. NaN for -inf, as 0 * -inf is.
float Silu(float x);

// log(1 + e^x): the step size from its raw value; e^x to the left, gradual
// underflow, x to the right.
float Softplus(float x);

// Sine and cosine of 2 pi x for an angle x in turns, |x| <= kMaxTurns; each in
// [-1, 1]. The reduction is exact.
struct SinCos {
  float sin;
  float cos;
};
SinCos SinCosTurnsCore(float x);

// N2: round to nearest even by integer arithmetic; overflow gives infinity,
// NaN the canonical one. The lane form carries the result in f32.
Bf16 RoundToBf16(float x);
float RoundToBf16Lane(float x);

// N2: the same to binary16, with its subnormal numbers; 65520 and more give
// infinity.
F16 RoundToF16(float x);

// x in a lane, carried in f32.
float RoundToLane(float x, Lane lane);

// N10: a weight as the numerator has it. For f16 it has 11 significant bits,
// and its exponent is not limited.
float RoundWeight(float p, Lane p_lane);

// x as an element of a tensor. T: float, Bf16 or F16.
template <class T>
T ElementFrom(float x);
template <>
inline float ElementFrom<float>(float x) {
  return x;
}
template <>
inline Bf16 ElementFrom<Bf16>(float x) {
  return RoundToBf16(x);
}
template <>
inline F16 ElementFrom<F16>(float x) {
  return RoundToF16(x);
}

template <>
inline AddedElement ElementFrom<AddedElement>(float x) {
  return {added_lane.round(x)};
}

// x, or the canonical quiet NaN if x is a NaN.
float CanonicalNaN(float x);

// An element as it is written (N2, N11): rounded to the lane and carried in
// f32, never -0, NaN canonical.
float FinishElement(float x, Lane lane);

// Writes x, finished, as an element of `to`.
template <class View, class... Index>
void StoreElement(const View& to, float x, Index... at) {
  WithAnyLane(to.lane, [&](auto element) {
    using LaneElement = decltype(element);
    to.template As<LaneElement>()(at...) =
        ElementFrom<LaneElement>(FinishElement(x, to.lane));
  });
}

// N11: the stripes' sum, each half added to the other until one is left. They
// are overwritten.
float Fold(float (&stripes)[kStripes]);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ELEMENTARY_H_
