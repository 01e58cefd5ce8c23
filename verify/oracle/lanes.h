// One vocabulary over xsimd batches and a plain double. Every function treats
// each lane alone and has one result in IEEE binary64, so that a kernel written
// with them gives the same bits for any number of lanes.
#ifndef LOCKSTEP_VERIFY_ORACLE_LANES_H_
#define LOCKSTEP_VERIFY_ORACLE_LANES_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <xsimd/xsimd.hpp>

namespace lockstep::oracle {

// Adding it to an integer-valued double |n| <= 1023 leaves n + 1023 in the
// lowest bits of the significand.
inline constexpr double kExponentMagic = 0x1.8p52 + 1023.0;

// The scalar lane: plain C++, std::fma where the CPU has no instruction.
struct ScalarLane {
  static constexpr size_t size = 1;
  ScalarLane() = default;
  ScalarLane(double x) : value(x) {}  // NOLINT: a broadcast, as in xsimd
  double value = 0;
};
inline ScalarLane operator+(ScalarLane a, ScalarLane b) {
  return {a.value + b.value};
}
inline ScalarLane operator-(ScalarLane a, ScalarLane b) {
  return {a.value - b.value};
}
inline ScalarLane operator*(ScalarLane a, ScalarLane b) {
  return {a.value * b.value};
}
inline ScalarLane operator/(ScalarLane a, ScalarLane b) {
  return {a.value / b.value};
}
inline bool operator<(ScalarLane a, ScalarLane b) { return a.value < b.value; }
inline ScalarLane Fma(ScalarLane a, ScalarLane b, ScalarLane c) {
  return {std::fma(a.value, b.value, c.value)};
}
inline ScalarLane Abs(ScalarLane a) { return {std::fabs(a.value)}; }
inline ScalarLane Round(ScalarLane a) { return {std::nearbyint(a.value)}; }
inline ScalarLane Select(bool mask, ScalarLane a, ScalarLane b) {
  return mask ? a : b;
}
// 2^n for integer-valued n, -1022 <= n <= 1023.
inline ScalarLane PowerOfTwo(ScalarLane n) {
  const auto bits = std::bit_cast<uint64_t>(n.value + kExponentMagic);
  return {std::bit_cast<double>(bits << 52)};
}
template <typename B>
  requires std::is_same_v<B, ScalarLane>
B Load(const double* from) {
  return {*from};
}
inline void Store(ScalarLane a, double* to) { *to = a.value; }

template <typename A>
using Batch = xsimd::batch<double, A>;

// Of these xsimd::fma is one rounding: it is the instruction. For every other
// set it may fall back to a * b + c, which has two roundings and gives other
// bits. So a batch does not compile until it has an Fma of its own.
template <typename A>
inline constexpr bool kFusedInLibrary = false;
template <typename Base>
inline constexpr bool kFusedInLibrary<xsimd::fma3<Base>> = true;

template <typename A>
inline Batch<A> Fma(Batch<A> a, Batch<A> b, Batch<A> c) {
  static_assert(kFusedInLibrary<A>, "this instruction set wants its own Fma");
  return xsimd::fma(a, b, c);
}
#if defined(__AVX512F__)
// xsimd 8 has none for 512 bits and falls back to two roundings.
inline Batch<xsimd::avx512bw> Fma(Batch<xsimd::avx512bw> a,
                                  Batch<xsimd::avx512bw> b,
                                  Batch<xsimd::avx512bw> c) {
  return _mm512_fmadd_pd(a, b, c);
}
#endif
template <typename A>
inline Batch<A> Abs(Batch<A> a) {
  return xsimd::abs(a);
}
template <typename A>
inline Batch<A> Round(Batch<A> a) {
  return xsimd::nearbyint(a);
}
template <typename A>
inline Batch<A> Select(xsimd::batch_bool<double, A> mask, Batch<A> a,
                       Batch<A> b) {
  return xsimd::select(mask, a, b);
}
template <typename A>
inline Batch<A> PowerOfTwo(Batch<A> n) {
  const auto bits = xsimd::bitwise_cast<xsimd::batch<int64_t, A>>(
      n + Batch<A>(kExponentMagic));
  return xsimd::bitwise_cast<Batch<A>>(bits << 52);
}
template <typename B>
  requires(!std::is_same_v<B, ScalarLane>)
B Load(const double* from) {
  return B::load_unaligned(from);
}
template <typename A>
inline void Store(Batch<A> a, double* to) {
  a.store_unaligned(to);
}

// The larger of two; b if one is NaN.
template <typename B>
inline B Max(B a, B b) {
  return Select(b < a, a, b);
}
// The smaller of two; b if one is NaN.
template <typename B>
inline B Min(B a, B b) {
  return Select(a < b, a, b);
}

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_LANES_H_
