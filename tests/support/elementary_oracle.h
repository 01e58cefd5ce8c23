// Binary64 truth for the elementary functions, and their error against it.
//
// The oracle is the C library in binary64, whose own error (1 to 2 units of
// 2^-53) is below 1e-8 ulp of f32: it may only move the last digit of a bound,
// which is rounded up to three decimals.
#ifndef LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_ORACLE_H_
#define LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_ORACLE_H_

#include "reference/contract/coefficients.h"
#include "tests/support/elementary_sides.h"

namespace lockstep::elementary {

// The stated bound. Splitting and rounding are exact: 0 ulp.
ElementaryBound BoundOf(Function function);

// False for NaN and where the result is not defined.
bool InDomain(Function function, float x);

// The result for an argument in the domain.
double Exact(Function function, float x);

// Distance of `got` from Exact(), in units of the last place of the exact
// value (2^-149 among the subnormals). An infinity is right, error 0, where
// the exact value is one or rounds to it.
double UlpError(Function function, float x, float got);

// How many results of a chunk (bits, for the arguments first + i) lack what
// holds for every argument, beside the error bound: ranges, signs, NaN to NaN
// (the canonical one but for cores).
uint32_t CountViolations(Function function, uint32_t first,
                         const uint32_t* bits);

// ...Core functions promise a NaN, not which.
bool IsCore(Function function);

}  // namespace lockstep::elementary

#endif  // LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_ORACLE_H_
