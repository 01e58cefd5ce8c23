// The rows of a large case on which known bugs are compared with a wrong
// answer: a few, spread over wrong and right rows.
#ifndef LOCKSTEP_VERIFY_CAUSES_SAMPLE_H_
#define LOCKSTEP_VERIFY_CAUSES_SAMPLE_H_

#include <cstdint>
#include <span>
#include <string>

#include "verify/causes/fit.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// A row that was compared with the truth. Size: of its largest error in units
// of what other arithmetic may err by; above 1 it is plainly wrong, 0: right.
struct RowError {
  int64_t row = 0;
  double size = 0;
};

// How many rows, and of how many heads of batch rows, whose keys and values
// each emulated kernel has to read.
struct SampleSize {
  int64_t rows = 0;
  int64_t heads = 0;
};
// For all known bugs; for the few that are left, to tell them apart.
SampleSize FirstSampleOf(const Trial& trial);
// For all known bugs in all tiles, on a smaller case of a large one.
SampleSize SampleOfTwin();
SampleSize SecondSampleOf(const Trial& trial);

// Rows of `errors`, ascending: three of four wrong, the worst among them,
// and none of `without`. A pure function of what is given; empty: none is left.
//   Requires: `errors` ascend.
LookedAt SampleRows(const Trial& trial, std::span<const RowError> errors,
                    const SampleSize& size, const LookedAt& without = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_SAMPLE_H_
