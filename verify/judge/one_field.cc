#include "verify/judge/one_field.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace lockstep::verify {
namespace {

struct Saying {
  const char* field;
  const char* value;
  bool convention = false;
};

// Conventions first, each from the narrow to the wide; then errors of functions
// as hardware and fast libraries have them, and where a kernel rounds. What
// frees more than that would make anything pass.
constexpr Saying kAttention[] = {
    {"lse_base", "2", true},
    {"lse_base", "e", true},
    {"empty_row", "zero", true},
    {"empty_row", "zero_posinf", true},
    {"empty_row", "zero_zero", true},
    {"empty_row", "unspecified", true},
    {"masked_nan_safe", "no", true},
    {"nan", "unspecified", true},
    {"ftz", "yes"},
    {"lse", "bf16"},
    {"lse", "none"},
    {"mask", "select_finite"},
    {"mask", "add_finite"},
    {"tanh_rel", "0x1p-11"},
    {"tanh_rel", "0x1p-10"},
    {"exp_rel", "0x1p-18"},
    {"exp_rel", "0x1p-13"},
    {"cap_div", "folded"},
    {"cap_div", "reciprocal"},
    {"scale_at", "q_f32"},
    {"scale_at", "q_lane"},
    {"l_from", "rounded"},
    {"out_round", "faithful"},
    {"normalise", "before"},
    {"p", "tf32"},
    {"p", "bf16"},
    {"operand_qk", "tf32"},
};
constexpr Saying kScan[] = {
    {"scan.pairing", "neighbours", true},
    {"scan.pairing", "halves", true},
    {"scan.empty_run", "unspecified", true},
    {"masked_nan_safe", "no", true},
    {"scan.lacks", "carry_theta carry_h carry_k carry_v"},
    {"ftz", "yes"},
    {"scan.angle_carry", "bf16"},
    {"scan.carry_key", "bf16"},
    {"out_round", "faithful"},
    {"tanh_rel", "0x1p-11"},
    {"scan.trig_abs", "0x1p-11"},
    {"scan.sigmoid_rel", "0x1p-11"},
    {"scan.angle_form", "radians"},
    {"scan.angle_form", "unreduced"},
    {"scan.angle", "bf16"},
    {"scan.query", "bf16"},
    {"scan.key", "bf16"},
    {"scan.state", "bf16"},
    {"scan.operand_round", "truncate"},
};

// The profile with that said; none where it is said already, or contradicts
// what else is said.
std::optional<NumericProfile> With(const NumericProfile& profile,
                                   const Saying& saying) {
  std::string text = ProfileText(profile);
  const std::string key = std::string(saying.field) + " = ";
  size_t at = text.starts_with(key) ? 0 : text.find("\n" + key);
  if (at == std::string::npos) return std::nullopt;
  at += (at > 0 ? 1 : 0) + key.size();
  text.replace(at, text.find('\n', at) - at, saying.value);
  const Result<NumericProfile> other = ParseProfile(text, profile.name);
  if (!other.ok() || other.value() == profile) return std::nullopt;
  if (!LintProfile(other.value()).empty()) return std::nullopt;
  return other.value();
}

// Whether numbers alone are at fault: a kernel that gives other bits when run
// again is wrong under any profile.
bool OfNumbers(const CaseResult& failed) {
  return std::all_of(failed.findings.begin(), failed.findings.end(),
                     [](const Finding& finding) {
                       const bool law = !LawOf(finding.check).empty();
                       return finding.tier == Tier::kEnvelope ||
                              finding.tier == Tier::kProbes ||
                              finding.tier == Tier::kCalibrated ||
                              finding.tier == Tier::kPower ||
                              (law && finding.tier == Tier::kInvariance);
                     });
}

// The probes that found something.
std::vector<std::string> ProbesOf(const CaseResult& failed) {
  std::vector<std::string> lines;
  for (const Finding& finding : failed.findings) {
    if (finding.tier == Tier::kProbes && !finding.line.empty()) {
      lines.push_back(finding.line);
    }
  }
  return lines;
}

Verdict VerdictOf(const CaseRequest& request, Candidate& candidate,
                  const JudgeOptions& options) {
  CaseRequest asked = request;
  asked.claims = &*options.profile;
  return JudgeCase(asked, candidate, options, nullptr).verdict;
}

bool Fails(Verdict verdict) {
  return verdict == Verdict::kFail || verdict == Verdict::kError;
}

}  // namespace

void FindOneField(const CaseRequest& request, Candidate& candidate,
                  const JudgeOptions& options, CaseResult* failed) {
  if (!failed->claims || failed->claims->exact || !OfNumbers(*failed)) return;
  JudgeOptions whole = options;
  whole.one_field = false;
  whole.causes = false;
  whole.canaries = false;
  // Only what failed, before the whole judge is asked.
  JudgeOptions quick = whole;
  quick.invariance = false;
  quick.evidence = false;
  quick.only_probes = ProbesOf(*failed);
  const bool scan = failed->claims->scan.has_value();
  const Saying* const first = scan ? std::begin(kScan) : std::begin(kAttention);
  const Saying* const end = scan ? std::end(kScan) : std::end(kAttention);
  for (const Saying* saying = first; saying != end; ++saying) {
    if (options.stop != nullptr && *options.stop) return;
    const auto profile = With(*failed->claims, *saying);
    if (!profile) continue;
    quick.profile = whole.profile = profile;
    if (Fails(VerdictOf(request, candidate, quick))) continue;
    const Verdict verdict = VerdictOf(request, candidate, whole);
    const bool passes = verdict == Verdict::kPass;
    const bool silent = saying->convention && !Fails(verdict);
    if (!passes && !(silent && failed->one_field.empty())) continue;
    failed->one_field = std::string(saying->field) + " = " + saying->value;
    failed->one_field_verdict = verdict;
    if (passes) return;
  }
}

}  // namespace lockstep::verify
