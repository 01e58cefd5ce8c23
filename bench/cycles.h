// What an elementary function costs, alone.
#ifndef LOCKSTEP_BENCH_CYCLES_H_
#define LOCKSTEP_BENCH_CYCLES_H_

#include <string>

namespace lockstep::bench {

// Clock cycles per f32 element of "exp2" or "tanh", in loops over an array in
// L1 on the best target; the clock is that of multiply-adds measured right
// after (bench/peak.h). The median of some goes; 0 where no target runs.
//   Requires: one of the two names.
double CyclesOf(const std::string& function);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_CYCLES_H_
