// Elementary functions in binary64, the same bits on every machine: fma, add,
// multiply and divide only, no libm.
#ifndef LOCKSTEP_VERIFY_BASE_BINARY64_H_
#define LOCKSTEP_VERIFY_BASE_BINARY64_H_

namespace lockstep::verify {

// Relative errors below 2^-50; domains: any double, log of x > 0.
double Exp2Double(double x);
double ExpDouble(double x);
double LogDouble(double x);
double TanhDouble(double x);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_BINARY64_H_
