// Times that a kernel reports itself, and when they count. Nothing else
// confirms them, and a launch that the host does not wait for gives a false
// time by accident.
#ifndef LOCKSTEP_BENCH_TOLD_H_
#define LOCKSTEP_BENCH_TOLD_H_

#include <string>
#include <vector>

#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::bench {

// Whether it is the kernel's own word, a device's clock included.
bool IsTold(verify::Teller teller);

// Whether a call for which the judge waited `asked` seconds may have taken
// `told`: 0.5 to 1.05 of that. The rest is the wire's, which a short call does
// not fit into: then the judge's clock decides.
bool MayBe(double told, double asked);

// Whether times count as they were told: ours do; a device's clock does, since
// its host has waited for it; a kernel's do if the median share of what was
// waited for may be. Requires: shares, told over asked.
bool IsUsed(verify::Teller teller, std::vector<double> shares);

// "told", "told, not used", "device clock". Requires: IsTold().
std::string ToldText(verify::Teller teller, bool used);

// Why no kernel takes so long, a sentence: no time at all, or more flop a
// second than `peak`, what this machine does at most (0: not known). Empty: it
// may.
std::string WhyNoTime(double told, double asked, double flop, double peak);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_TOLD_H_
