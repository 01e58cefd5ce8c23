// Goals: what a row of a case file is to reach.
#ifndef LOCKSTEP_BENCH_TARGETS_H_
#define LOCKSTEP_BENCH_TARGETS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::bench {

// Which figure of a row a goal is about.
enum class Metric : uint8_t {
  kFraction,       // of the machine's limit
  kOfInstruction,  // of the instruction that was used
  kOfRoof,         // of the lower one of limit and bandwidth
  kSpeedup,        // how many times as fast as another row
  kTileCost,       // time of an active tile, over that of another row
  kPlanningMs,     // planning alone, milliseconds
  kPlanningShare,  // planning over the time of a call
  kJudgingRatio,   // holding all rows against an envelope, over a call
  kExtraBytes,     // memory beside the tensors, over the tensors
  kCycles,         // of an elementary function, an f32 element
  kCasesPerSecond  // verified by the fuzzer, on one core
};

// "#: NAME METRIC >= VALUE [against NAME] [with SPEC]" on a line before its
// case. Several such lines before a case are several rows.
struct Goal {
  std::string name;
  Metric metric = Metric::kFraction;
  bool at_least = true;  // ">=", else "<="
  double value = 0;
  std::string against;  // of kSpeedup and kTileCost: the other row's name
  std::string what;     // of kCycles: "exp2" or "tanh"
  std::string spec;     // empty: the candidates of the command line

  bool Met(double measured) const {
    return at_least ? measured >= value : measured <= value;
  }
};

const char* MetricName(Metric metric);

// Errors: "WHERE: ..." what is wrong and what would be right.
Result<Goal> ParseGoal(std::string_view text, const std::string& where);

// Goals of a case file by the line of their case. Goals that need no case
// stand by the line they are on, in `alone`. Errors: a bad goal, a name that
// two have, a name that `against` has and no goal; a goal after the last case
// that needs one.
struct Goals {
  std::map<int64_t, std::vector<Goal>> of_line;
  std::vector<Goal> alone;
};
Result<Goals> ParseGoals(std::string_view text, const std::string& path);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_TARGETS_H_
