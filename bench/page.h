// What a run found, as one page without a script or another file. It is
// readable on a narrow screen, on paper, and as text.
#ifndef LOCKSTEP_BENCH_PAGE_H_
#define LOCKSTEP_BENCH_PAGE_H_

#include <string>
#include <vector>

#include "bench/report.h"
#include "verify/report/markup/html.h"

namespace lockstep::bench {

std::string ReportPage(const Report& report);

// The parts of it. A heat map of a sweep of tiles; bars of a sweep of anything
// else, of threads with the speedup that they would ideally have.
std::string HeatMap(const Report& report, const SweepResult& sweep);
std::string Bars(const Report& report, const SweepResult& sweep);
// Rows in a roofline: flop a byte of their tensors against flop/s, below the
// limit and what each level of the memory lets through. Empty where no row has
// counted work.
std::string Roofline(const Report& report);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_PAGE_H_
