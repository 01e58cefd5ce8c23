#include "tests/power/attention_forward_nulls.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/mixing.h"
#include "verify/candidate/mutant_attention_forward.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/judge/statistics/statistics.h"
#include "verify/ops/envelopes.h"
#include "verify/registry/ops.h"
#include "verify/report/json_text.h"
#include "verify/selftest/pool.h"
#include "verify/selftest/program.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kNullBlock = 500;
constexpr size_t kMostNullAlarms = 20;

// A case with rows enough for statistics, of everything that moves roundings:
// masks, sinks, documents, groups of heads, caps, scales of the inputs.
std::string NullLine(uint64_t seed, int64_t keys,
                     const NumericProfile& profile) {
  uint64_t state = Mix(seed);
  const auto pick = [&](const auto& list) -> std::string {
    return list[NextMixed(&state) % std::size(list)];
  };
  constexpr const char* kHeads[] = {"", " hq=2", " hq=4 hkv=2", " b=2 hq=2",
                                    " hq=3 hkv=1"};
  constexpr const char* kMasks[] = {"", " mask=causal align=br",
                                    " mask=causal&window:40,0 align=br",
                                    " mask=random:0.5"};
  constexpr const char* kShapes[] = {" d=8", " d=16 dv=24", " d=32", " d=64"};
  constexpr const char* kCaps[] = {"", " cap=50", " cap=15", " cap=2"};
  constexpr const char* kFills[] = {
      "",
      " fill=normal:1",
      " fill=normal:0.5",
      " fill=uniform:-2,3",
      " fill=normal:4",
      " fill=q.normal:1+k.normal:2+v.normal:0.01"};
  const auto length =
      keys > 0 ? keys : static_cast<int64_t>(24 + NextMixed(&state) % 232);
  const auto queries = static_cast<int64_t>(32 + NextMixed(&state) % 33);
  std::string line = "attention_forward sq=" + std::to_string(queries) +
                     " skv=" + std::to_string(length) + pick(kHeads);
  line += pick(kShapes);
  line += pick(kMasks);
  line += pick(kCaps);
  line += pick(kFills);
  if (NextMixed(&state) % 4 == 0) line += " sinklogit=normal:1";
  if (NextMixed(&state) % 4 == 0) {
    const std::string half = std::to_string(length / 2);
    line += " q_seg=ids:0*" + std::to_string(queries / 2) + ",1*" +
            std::to_string(queries - queries / 2) + " kv_seg=ids:0*" + half +
            ",1*" + std::to_string(length - length / 2);
  }
  line += LaneWord(profile);
  return line + " seed=" + std::to_string(seed);
}

struct NullOutcome {
  std::string kernel;
  std::string line;
  std::string broken;  // why it could not be judged at all
  std::optional<StatisticsResult> found;
};

Result<Subject> KernelNamed(const std::string& name) {
  const Result<Mutant> mutant = ParseMutant(name);
  if (mutant.ok()) {
    return Subject{
        MakeEmulatedAttention("mutant", name, mutant->variant, mutant->dial),
        mutant->variant.numeric};
  }
  return kAttentionForwardSelftest.correct(name);
}

NullOutcome TryOne(const std::string& kernel, uint64_t seed, int64_t keys) {
  NullOutcome outcome{kernel, "", "", std::nullopt};
  Result<Subject> subject = KernelNamed(kernel);
  if (!subject.ok()) {
    outcome.broken = subject.message();
    return outcome;
  }
  Trialist trialist(std::move(subject.value()));
  outcome.line = NullLine(seed, keys, trialist.profile());
  const Result<Case> c = ParseCase(outcome.line);
  if (!c.ok()) {
    outcome.broken = c.message();
    return outcome;
  }
  const Result<Answer> answer = trialist.Run(c.value());
  if (!answer.ok()) {
    outcome.broken = answer.message();
    return outcome;
  }
  const auto allowed = answer->trial->envelopes().Envelope(
      trialist.profile(), AllRows(*answer->trial), 1);
  outcome.found = JudgeErrors(allowed->Errors(answer->outputs));
  return outcome;
}

void CountNull(const NullOutcome& outcome, NullResult* result) {
  if (!outcome.found) {
    ++result->not_looked_at["broken: " + outcome.broken];
    return;
  }
  const StatisticsResult& found = *outcome.found;
  if (!found.why_not.empty()) {
    ++result->not_looked_at[found.why_not];
    return;
  }
  ++result->cases;
  result->tests += found.tests;
  result->rows += found.rows;
  const Statistic& best = found.strongest;
  result->close += best.log_p - best.limit < 2 ? 1 : 0;
  if (found.alarms.empty()) return;
  ++result->alarmed;
  if (result->alarms.size() < kMostNullAlarms) {
    result->alarms.push_back(
        {outcome.kernel, outcome.line,
         DescribeStatistic(found.alarms.front()) +
             Format(" (ln p %.1f, limit %.1f)", found.alarms.front().log_p,
                    found.alarms.front().limit)});
  }
}

std::vector<std::string> Kernels(const NullOptions& options) {
  if (!options.kernel.empty()) return {options.kernel};
  std::vector<std::string> names;
  for (const AttentionVariant& variant : AttentionZoo()) {
    if (!variant.numeric.exact) names.push_back(variant.name());
  }
  return names;
}

}  // namespace

double NullResult::Rate() const {
  return cases > 0 ? static_cast<double>(alarmed) / static_cast<double>(cases)
                   : 0;
}

bool NullResult::Passed() const {
  const double mean = static_cast<double>(cases) * kStatisticsRate;
  return cases > 0 &&
         static_cast<double>(alarmed) <= mean + 4 * std::sqrt(mean);
}

NullResult RunNulls(const NullOptions& options) {
  const Clock::time_point start = Clock::now();
  NullResult result;
  result.seed = options.seed;
  const std::vector<std::string> names = Kernels(options);
  result.kernels = static_cast<int64_t>(names.size());
  for (int64_t first = 0; first < options.cases; first += kNullBlock) {
    const int64_t count = std::min(kNullBlock, options.cases - first);
    std::vector<NullOutcome> outcomes(static_cast<size_t>(count));
    ForEach(count, options.threads, [&](int64_t n) {
      const auto number = static_cast<size_t>(first + n);
      outcomes[static_cast<size_t>(n)] = TryOne(
          names[number % names.size()],
          options.seed * 1000003 + static_cast<uint64_t>(number), options.keys);
    });
    for (const NullOutcome& outcome : outcomes) CountNull(outcome, &result);
    if (options.progress) {
      options.progress("statistics " + std::to_string(first + count));
    }
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::string NullText(const NullResult& result) {
  std::string text =
      "statistics: " + std::to_string(result.kernels) + " kernels, " +
      std::to_string(result.cases) + " cases, " + std::to_string(result.rows) +
      " rows, " + std::to_string(result.tests) + " tests, " +
      std::to_string(result.alarmed) + " cases alarm" +
      Format(" (rate %.2g, stated %g), ", result.Rate(), kStatisticsRate) +
      std::to_string(result.close) + " close, " +
      Format("%.1f s\n", result.seconds);
  for (const auto& [why, cases] : result.not_looked_at) {
    text += "not looked at: " + std::to_string(cases) + " cases, " + why + "\n";
  }
  for (const NullAlarm& alarm : result.alarms) {
    text +=
        "alarm: " + alarm.kernel + "  " + alarm.line + "  " + alarm.what + "\n";
  }
  return text;
}

std::string NullJson(const NullResult& result) {
  Json alarms = Json::array();
  for (const NullAlarm& alarm : result.alarms) {
    alarms.push_back({{"variant", alarm.kernel},
                      {"case", alarm.line},
                      {"what", alarm.what}});
  }
  const Json json = {{"kind", "selftest_statistics"},
                     {"program", ProgramJson()},
                     {"seed", result.seed},
                     {"kernels", result.kernels},
                     {"cases", result.cases},
                     {"rows", result.rows},
                     {"tests", result.tests},
                     {"alarmed", result.alarmed},
                     {"stated_rate", kStatisticsRate},
                     {"close", result.close},
                     {"not_looked_at", result.not_looked_at},
                     {"alarms", alarms},
                     {"seconds", result.seconds}};
  return DumpJson(json, 2);
}

}  // namespace lockstep::verify
