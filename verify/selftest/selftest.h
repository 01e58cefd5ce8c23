// Lockstep judged by itself: which tier, and which foreign rule, kills which
// known bug, and whether a proof tier ever accuses a correct kernel.
#ifndef LOCKSTEP_VERIFY_SELFTEST_SELFTEST_H_
#define LOCKSTEP_VERIFY_SELFTEST_SELFTEST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"
#include "verify/judge/rules/foreign_rules.h"
#include "verify/registry/ops.h"
#include "verify/selftest/rates.h"
#include "verify/selftest/row.h"
#include "verify/tables/mutants.h"

namespace lockstep::verify {

// Tiers that prove. kBits judges the mutant in the contract's arithmetic.
// kProbes and kEnvelope judge the same bug in a base that claims a profile
// only, on exact probes and on the pattern's own inputs. kOrdinary is kEnvelope
// on the ordinary cases alone, as the foreign rules are.
enum class ProofTier : uint8_t {
  kBits,
  kProbes,
  kEnvelope,
  kInvariance,
  kOrdinary
};
inline constexpr size_t kProofTiers = 5;
const char* ProofTierName(ProofTier tier);

struct SelftestOptions {
  // Cases such as a kernel author would try, of ordinary random data: every
  // foreign rule is judged on these, by a bf16 flash kernel with the bug.
  std::vector<std::string> ordinary;
  int64_t variations = 40;   // of the pattern, by seed
  double seconds_each = 60;  // per mutant
  // Judged of each op, all variants together; see SelftestRow::fewer.
  int64_t zoo_cases = 100000;
  // Draws the zoo's cases; null: the op's row does, small ones of any shape.
  std::function<Result<Case>(const SelftestRow&, const NumericProfile&,
                             uint64_t seed)>
      draw;
  // Correct kernels whose names begin with one of these; empty: all.
  std::vector<std::string> zoo_only;
  // Only cases whose lines have one of these keys (zoo/draw.h), and only ops
  // that have such cases; empty: all.
  std::vector<std::string> zoo_with;
  int threads = 0;  // of the zoo; 0: as many as the machine has
  uint64_t seed = 0;
  // Which ops' mutants and zoo, and the ops that lines are of.
  std::span<const SelftestRow* const> rows = SelftestRows();
  OpRows ops = Ops();
  bool plans = true;  // the planted defects of block tables, too
  std::function<void(const std::string&)> progress;  // may be null
};

struct KillRow {
  const MutantInfo* mutant = nullptr;
  std::array<bool, kProofTiers> killed{};
  std::array<bool, kForeignRules> foreign{};
  int64_t cases = 0;   // until the first kill
  double seconds = 0;  // the same
  std::string by;      // case line of the first kill
  std::string envelope_by;

  bool Killed() const;
};

// A planted defect of block tables, before CheckPlan in its own case.
struct PlanKill {
  const PlanMutantInfo* mutant = nullptr;
  bool named = false;  // the invariant that it breaks is among those found
  bool sound = false;  // nothing is found without the defect
  double seconds = 0;

  bool Killed() const { return named && sound; }
};

struct ZooAlarm {
  std::string variant;
  std::string line;
  std::string what;
};

// What the correct kernels of one op gave.
struct ZooCount {
  const char* op = nullptr;
  int64_t variants = 0;
  int64_t cases = 0;
  int64_t proof_alarms = 0;
};

struct SelftestResult {
  uint64_t seed = 0;
  std::vector<ZooCount> zoo;  // by op
  std::vector<KillRow> kills;
  std::vector<PlanKill> plan_kills;
  int64_t zoo_variants = 0;
  int64_t zoo_cases = 0;
  int64_t zoo_probes = 0;  // cases judged on a probe's inputs, too
  // Judged cases with each key of SelftestOptions::zoo_with.
  std::map<std::string, int64_t> zoo_with;
  int64_t proof_false_alarms = 0;
  int64_t statistics_false_alarms = 0;  // cases with an unlikely element
  double zoo_seconds = 0;
  std::vector<ZooAlarm> alarms;      // the first few
  std::vector<ZooAlarm> suspicious;  // and of those with an unlikely element
  // Rules that reject a correct flash kernel on the ordinary cases: their
  // kills are worth nothing.
  std::array<bool, kForeignRules> rejects_correct{};

  // Of kills and plan_kills together.
  int64_t Mutants() const;
  int64_t Killed() const;
  double SlowestKill() const;
  int64_t KilledByRule(ForeignRule rule) const;
  // No proof-tier alarm, something judged.
  bool ZooPassed() const;
  // That, and every mutant killed.
  bool Passed() const;
};

// Errors: a line that is no case.
Result<SelftestResult> RunSelftest(const SelftestOptions& options);
// The zoo alone. The same whatever the number of threads.
SelftestResult RunZoo(const SelftestOptions& options);

// The tables a person reads, and the same as JSON.
std::string SelftestText(const SelftestResult& result);
std::string ZooText(const SelftestResult& result);
std::string SelftestJson(const SelftestResult& result);
// And as a page; parts that did not run are left out.
std::string SelftestPage(const SelftestResult& result);
// Bugs killed, by family; of block tables "plan/..."
std::map<std::string, Rate> KillsByFamily(const SelftestResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_SELFTEST_H_
