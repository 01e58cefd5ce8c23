// Elementary functions of the scan's witnesses in binary64: fma, add, multiply
// and divide only, so that truth has the same bits everywhere. Relative errors
// below 2^-49, but for sin and cos, where they are absolute.
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_FUNCTIONS_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_FUNCTIONS_H_

namespace lockstep::oracle {

struct SinCos {
  double sin = 0;
  double cos = 1;
};

double ScanExp(double x);      // 0 below -745; inf above 709
double ScanTanh(double x);     // NaN to NaN
double ScanSigmoid(double x);  // 1 / (1 + e^-x)
// Of an angle in turns; any finite number of them.
SinCos SinCosOfTurns(double turns);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_FUNCTIONS_H_
