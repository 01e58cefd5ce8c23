// What the matrix unit can do at most.
#ifndef LOCKSTEP_BENCH_MATRIX_PEAK_H_
#define LOCKSTEP_BENCH_MATRIX_PEAK_H_

namespace lockstep::bench {

// Products of bf16 tiles on registers, in flop/s, for roughly so many seconds
// on this thread; 0 where there is no unit that order=amx may use
// (optimized/matrix_unit.h).
double MeasureMatrixPeak(double seconds);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_MATRIX_PEAK_H_
