// Preloaded by verdicts_test.py: a process whose rounding mode is wrong.
#include <cfenv>

namespace {

__attribute__((constructor)) void RoundUpward() { std::fesetround(FE_UPWARD); }

}  // namespace
