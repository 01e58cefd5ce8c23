// Sine and cosine of an angle in turns, in double.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_TURNS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_TURNS_H_

namespace lockstep::verify {

// Absolute errors below 2^-50.
void TurnsToSinCos(double turns, double* sine, double* cosine);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_TURNS_H_
