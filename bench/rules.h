// The rule of the gate: a table that a team can edit.
#ifndef LOCKSTEP_BENCH_RULES_H_
#define LOCKSTEP_BENCH_RULES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/duel.h"
#include "reference/contract/status.h"

namespace lockstep::bench {

enum class Decision : uint8_t {
  kPromote,
  kExperimental,
  kDelete,
  kKeepOut,    // of loops whose shapes change from step to step
  kUndecided,  // the measurement was too poor to decide anything
};
const char* DecisionName(Decision decision);
// 0 promote, 4 experimental and keep-out, 1 delete, 5 undecided.
int ExitCodeOf(Decision decision);

// What a comparison found, by name; words such as the verdict are one of a few
// numbers (FactNames()).
using Facts = std::map<std::string, double>;
struct FactName {
  const char* name;
  const char* description;
};
const std::vector<FactName>& FactNames();

enum class Comparator : uint8_t { kEqual, kUnequal, kLess, kAtLeast };
struct Condition {
  std::string fact;
  Comparator comparator = Comparator::kEqual;
  double value = 0;
  std::string text;  // as written: "wins >= 2"
};
struct Rule {
  Decision decision = Decision::kUndecided;
  std::vector<Condition> conditions;  // all hold; none: always
  std::string reason;
};
struct Rules {
  Thresholds paired;             // of measurements in turns
  double unpaired_floor = 0.05;  // of two files
  std::vector<Rule> rules;       // the first that applies decides
};

// A line "lockstep-gate 1"; then lines "NAME = VALUE" of thresholds (chance,
// floor, unpaired_floor), and lines "DECISION when FACT >= VALUE and ...:
// REASON" or "DECISION otherwise: REASON"; '#' begins a comment. Errors:
// "NAME:LINE: ..." what is wrong and what would be right; no rule "otherwise"
// at the end.
Result<Rules> ParseRules(std::string_view text, const std::string& name);
// What holds without --rules.
std::string_view DefaultRules();

struct Judgement {
  Decision decision = Decision::kUndecided;
  std::string reason;
  std::string because;  // "wins = 3 >= 2, losses = 0 == 0"
};
// Requires: every fact of FactNames().
Judgement Decide(const Rules& rules, const Facts& facts);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_RULES_H_
