#include "bench/rules.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>

#include "verify/base/format.h"
#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"
#include "verify/judge/verdict.h"

namespace lockstep::bench {
namespace {

constexpr std::string_view kHeader = "lockstep-gate 1";

constexpr std::string_view kDefaultRules =
    R"(lockstep-gate 1
# Thresholds. A claim that one kernel is faster needs both of the first two.
chance = 1e-4          # of a claim where there is no difference, a shape
floor = 0.02           # smaller differences are none
unpaired_floor = 0.05  # the same for two files that were measured apart

# Decisions: the first line that applies.
delete when verdict == wrong: the judge has proved it wrong
delete when verdict == broken: it broke, so it has no verdict or no time
experimental when verdict == unproved: no verdict, no promotion
undecided when verdict == untimed: the judge passed it, but it was not timed, for the reason above
keep-out when cold_seconds >= 0.1: its first call of a shape takes that much longer than the baseline's, so keep it out of loops whose shapes change from step to step
delete when wins == 0 and losses >= 1: slower somewhere and faster nowhere
undecided when wins == 0 and undecided >= 1: too noisy to tell: give it a larger --budget, or a quieter machine
delete when wins == 0: a tie does not pay for its upkeep
experimental when losses >= 1: faster on some shapes and slower on others
experimental when wins < 2: a win at one narrow shape
experimental when share < 0.5: faster on fewer than half of the shapes
promote when structure == less: faster because it does less, on many shapes
promote when gain >= 0.05: faster on many shapes
experimental otherwise: faster, but little, and it does as much work
)";

struct DecisionRow {
  Decision decision;
  const char* name;
  int exit_code;
};
constexpr DecisionRow kDecisions[] = {
    {Decision::kPromote, "promote", verify::kExitPass},
    {Decision::kExperimental, "experimental", verify::kExitSuspicious},
    {Decision::kDelete, "delete", verify::kExitFail},
    {Decision::kKeepOut, "keep-out", verify::kExitSuspicious},
    {Decision::kUndecided, "undecided", verify::kExitVacuous},
};

struct Word {
  const char* name;
  double value;
};
// Of the facts verdict and structure.
constexpr Word kWords[] = {{"wrong", 0},   {"broken", 1}, {"unproved", 2},
                           {"untimed", 3}, {"pass", 4},   {"less", -1},
                           {"same", 0},    {"more", 1}};

std::optional<double> ValueOf(const std::string& text) {
  for (const Word& word : kWords) {
    if (text == word.name) return word.value;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<Comparator> ComparatorOf(const std::string& text) {
  if (text == "==") return Comparator::kEqual;
  if (text == "!=") return Comparator::kUnequal;
  if (text == "<") return Comparator::kLess;
  if (text == ">=") return Comparator::kAtLeast;
  return std::nullopt;
}

bool Holds(const Condition& condition, double fact) {
  switch (condition.comparator) {
    case Comparator::kEqual:
      return fact == condition.value;
    case Comparator::kUnequal:
      return fact != condition.value;
    case Comparator::kLess:
      return fact < condition.value;
    case Comparator::kAtLeast:
      break;
  }
  return fact >= condition.value;
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

Result<Condition> ParseCondition(std::istringstream* words,
                                 const std::string& where) {
  Condition condition;
  std::string comparator, value;
  if (!(*words >> condition.fact >> comparator >> value)) {
    return Status::Error(where + ": want 'when FACT >= VALUE and ...'");
  }
  const auto& known = FactNames();
  const bool found =
      std::any_of(known.begin(), known.end(),
                  [&](const FactName& f) { return f.name == condition.fact; });
  if (!found) {
    return Status::Error(where + ": unknown fact " +
                         verify::Quote(condition.fact) + "; " +
                         verify::NearestIs(condition.fact, known,
                                           [](auto& f) { return f.name; }));
  }
  const auto parsed = ComparatorOf(comparator);
  if (!parsed) {
    return Status::Error(where + ": " + verify::Quote(comparator) +
                         " compares nothing; want ==, !=, < or >=");
  }
  condition.comparator = *parsed;
  const auto number = ValueOf(value);
  if (!number) {
    return Status::Error(where + ": " + verify::Quote(value) +
                         " is no number, and none of wrong, broken, "
                         "unproved, untimed, pass, less, same, more");
  }
  condition.value = *number;
  condition.text = condition.fact + " " + comparator + " " + value;
  return condition;
}

Result<Rule> ParseRule(const std::string& line, const std::string& where) {
  const size_t colon = line.find(':');
  if (colon == line.npos || Trim(line.substr(colon + 1)).empty()) {
    return Status::Error(where + ": want 'DECISION when CONDITIONS: REASON'");
  }
  Rule rule;
  rule.reason = Trim(line.substr(colon + 1));
  std::istringstream words(line.substr(0, colon));
  std::string decision, when;
  words >> decision >> when;
  const auto* row = std::find_if(
      std::begin(kDecisions), std::end(kDecisions),
      [&](const DecisionRow& known) { return decision == known.name; });
  if (row == std::end(kDecisions)) {
    return Status::Error(where + ": unknown decision " +
                         verify::Quote(decision) + "; " +
                         verify::NearestIs(decision, kDecisions,
                                           [](auto& d) { return d.name; }));
  }
  rule.decision = row->decision;
  if (when != "when" && when != "otherwise") {
    return Status::Error(where + ": after '" + decision +
                         "' want when or otherwise");
  }
  std::string join = "and";
  while (when == "when" && join == "and") {
    ASSIGN_OR_RETURN(Condition condition, ParseCondition(&words, where));
    rule.conditions.push_back(std::move(condition));
    if (!(words >> join)) return rule;
  }
  if (when == "otherwise" && !(words >> join)) return rule;
  return Status::Error(where + ": unexpected " + verify::Quote(join) +
                       "; conditions are joined by and");
}

Status SetThreshold(const std::string& name, const std::string& text,
                    const std::string& where, Rules* rules) {
  const auto value = ValueOf(text);
  if (!value || !(*value > 0 && *value < 1)) {
    return Status::Error(where + ": " + name +
                         " wants a number between 0 and "
                         "1, not " +
                         verify::Quote(text));
  }
  if (name == "chance") {
    rules->paired.chance = *value;
  } else if (name == "floor") {
    rules->paired.floor = *value;
  } else if (name == "unpaired_floor") {
    rules->unpaired_floor = *value;
  } else {
    return Status::Error(where + ": unknown threshold " + verify::Quote(name) +
                         "; want chance, floor or unpaired_floor");
  }
  return {};
}

std::string NumberText(double value) { return verify::Format("%.3g", value); }

}  // namespace

const char* DecisionName(Decision decision) {
  return kDecisions[static_cast<size_t>(decision)].name;
}

int ExitCodeOf(Decision decision) {
  return kDecisions[static_cast<size_t>(decision)].exit_code;
}

const std::vector<FactName>& FactNames() {
  static const std::vector<FactName> kNames = {
      {"verdict",
       "of the judge, the worst of all shapes: wrong, broken, unproved "
       "(skipped, suspicious or untrusted), untimed or pass"},
      {"shapes", "cases that were compared"},
      {"wins", "shapes on which it is faster by the floor"},
      {"losses", "shapes on which it is slower by the floor"},
      {"ties", "shapes on which the difference lies inside the floor"},
      {"undecided", "shapes on which neither is shown"},
      {"share", "wins over shapes"},
      {"gain", "how much less time the shapes take, geometric mean"},
      {"structure",
       "less: fewer scores visited, rows redone or bytes "
       "beside the tensors, and none of them more; same; more"},
      {"cold_seconds",
       "by how much longer a first call prepares than the baseline's, the "
       "most"},
  };
  return kNames;
}

std::string_view DefaultRules() { return kDefaultRules; }

Result<Rules> ParseRules(std::string_view text, const std::string& name) {
  Rules rules;
  std::istringstream lines{std::string(text)};
  std::string line;
  bool begun = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = name + ":" + std::to_string(number);
    const std::string code = Trim(line.substr(0, line.find('#')));
    if (!begun && code != kHeader) {
      return Status::Error(where +
                           ": no rules of this version; want the "
                           "line '" +
                           std::string(kHeader) + "' first");
    }
    if (!begun || code.empty()) {
      begun = true;
      continue;
    }
    const size_t equals = code.find(" = ");
    if (equals != code.npos && code.find(':') == code.npos) {
      RETURN_IF_ERROR(SetThreshold(Trim(code.substr(0, equals)),
                                   Trim(code.substr(equals + 3)), where,
                                   &rules));
      continue;
    }
    ASSIGN_OR_RETURN(Rule rule, ParseRule(code, where));
    rules.rules.push_back(std::move(rule));
  }
  if (rules.rules.empty() || !rules.rules.back().conditions.empty()) {
    return Status::Error(name +
                         ": the last rule has to be 'DECISION "
                         "otherwise: REASON', so that one always applies");
  }
  return rules;
}

Judgement Decide(const Rules& rules, const Facts& facts) {
  for (const Rule& rule : rules.rules) {
    std::string because;
    const bool applies =
        std::all_of(rule.conditions.begin(), rule.conditions.end(),
                    [&](const Condition& condition) {
                      const double fact = facts.at(condition.fact);
                      because += (because.empty() ? "" : ", ") +
                                 condition.text + " (" + NumberText(fact) + ")";
                      return Holds(condition, fact);
                    });
    if (applies) return {rule.decision, rule.reason, because};
  }
  return {};
}

}  // namespace lockstep::bench
