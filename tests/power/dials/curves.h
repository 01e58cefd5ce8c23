// How likely a bug is found, by how severe it is.
#ifndef LOCKSTEP_TESTS_POWER_DIALS_CURVES_H_
#define LOCKSTEP_TESTS_POWER_DIALS_CURVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"
#include "verify/report/json_text.h"
#include "verify/selftest/rates.h"

namespace lockstep::verify {

// One setting of a dial, over all cases whose answer some setting of it changes
// by a bit.
struct CurvePoint {
  int64_t setting = 0;
  Rate own;     // found on the case's own inputs, by the envelope
  Rate probed;  // there or on a probe
};

struct DialCurve {
  const MutantInfo* info = nullptr;
  std::vector<CurvePoint> points;  // most severe first
};

// Of counts (keys, rescales, growth) more is more severe; of bits of precision,
// and of the N of a factor 1 + 2^-N, less.
bool MoreIsMilder(const MutantInfo& info);

// Every mutant of attention with a dial, as a bf16 flash kernel has it, on
// `draws` draws of the data of each of these cases; none of 0. Errors: a line
// that is no single case.
Result<std::vector<DialCurve>> MeasureCurves(
    const std::vector<std::string>& lines, int64_t draws, int threads);

// "curve attn.drop_last_key, keys found/own/of: 4096 10/10/10 ...", one line
// each: found anywhere, on the case's own inputs, of so many cases.
std::string CurvesText(const std::vector<DialCurve>& curves);
Json CurvesJson(const std::vector<DialCurve>& curves);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_DIALS_CURVES_H_
