#include "verify/judge/one_field.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::verify {
namespace {

struct Saying {
  const char* field;
  const char* value;
  bool convention = false;
  // What of a case it leaves unjudged; null: nothing.
  const char* open = nullptr;
  // A second field without which the first is half of what a kernel does, and
  // its value; null: the first one's.
  const char* also = nullptr;
  const char* also_value = nullptr;

  const char* Also() const { return also_value ? also_value : value; }
  std::string Text() const {
    std::string text = std::string(field) + " = " + value;
    if (also != nullptr) text += std::string(", ") + also + " = " + Also();
    return text;
  }
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
    {"empty_row", "unspecified", true, "rows that see no key"},
    {"masked_nan_safe", "padding", true,
     "rows beside NaN in keys that other rows see"},
    {"masked_nan_safe", "no", true,
     "rows beside NaN in keys that they do not see"},
    {"nan", "unspecified", true,
     "elements that NaN or infinity of the inputs reaches"},
    {"ftz", "yes"},
    {"lse", "f32"},
    {"lse", "bf16"},
    {"mask", "select_finite"},
    {"mask", "add_finite"},
    {"tanh_rel", "0x1p-11"},
    {"tanh_rel", "0x1p-10"},
    {"exp_rel", "0x1p-18"},
    {"exp_rel", "0x1p-13"},
    {"cap_div", "folded"},
    {"cap_div", "reciprocal"},
    {"sink", "bf16"},
    {"sink", "f16"},
    {"scale_at", "q_f32"},
    {"operand_qk", "bf16", false, nullptr, "operand_v"},
    {"score", "bf16"},
    {"score", "bf16", false, nullptr, "score_round", "each"},
    {"score", "f16"},
    {"score", "f16", false, nullptr, "score_round", "each"},
    {"scale_at", "q_lane"},
    {"l_from", "rounded"},
    {"out_round", "faithful"},
    {"normalise", "before"},
    {"p", "tf32"},
    {"p", "bf16"},
    {"operand_qk", "tf32"},
};
// Of gradients, before those of attention.
constexpr Saying kGradients[] = {
    {"grad.ds_from", "rounded_p"},
    {"grad.delta_from", "weights"},
    {"grad.dk_scale_at", "head"},
    {"grad.dk_scale_at", "ds"},
    {"grad.dk_scale_at", "q"},
    {"grad.dq_scale_at", "ds"},
    {"grad.dq_scale_at", "k"},
    {"grad.dq_scale_at", "ds", false, nullptr, "grad.dk_scale_at"},
    // Of kernels that hand back what they are asked for, by name.
    {"grad.from", "own"},
};
constexpr Saying kScan[] = {
    {"scan.pairing", "neighbours", true},
    {"scan.pairing", "halves", true},
    {"scan.empty_run", "unspecified", true, "runs without tokens"},
    {"masked_nan_safe", "no", true, "tokens before NaN of the same chunk"},
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

// The text of a profile with that said; of gradients, also where nothing was.
std::string Said(std::string text, std::string_view field, const char* value) {
  const std::string key = std::string(field) + " = ";
  size_t at = text.starts_with(key) ? 0 : text.find("\n" + key);
  if (at == std::string::npos) {
    // Nothing was said of gradients, or the first word of a later field.
    const bool later = field == "sink" || field == "score_round";
    return later || field.starts_with("grad.") ? text + key + value + "\n" : "";
  }
  at += (at > 0 ? 1 : 0) + key.size();
  return text.replace(at, text.find('\n', at) - at, value);
}

// The profile with that said; none where it is said already, or contradicts
// what else is said.
std::optional<NumericProfile> With(const NumericProfile& profile,
                                   const Saying& saying) {
  std::string text = Said(ProfileText(profile), saying.field, saying.value);
  if (saying.also != nullptr) text = Said(text, saying.also, saying.Also());
  if (text.empty()) return std::nullopt;
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

const Saying* Find(const std::string& said) {
  for (const auto table :
       {std::span<const Saying>(kAttention), std::span<const Saying>(kScan)}) {
    for (const Saying& saying : table) {
      if (said == saying.Text()) return &saying;
    }
  }
  return nullptr;
}

// Outputs that the kernel itself says it does not have.
std::string Lacking(const Candidate& candidate) {
  const Introduction kernel = candidate.Introduce();
  for (const Fact& fact : kernel.identity) {
    if (fact.name == "lacks") return fact.value;
  }
  return "";
}

// What is tried. A q that was scaled in bf16 is a place of the scale in
// gradients, too: those fields say it.
std::vector<Saying> SayingsFor(const CaseResult& failed) {
  if (failed.claims->scan) return {std::begin(kScan), std::end(kScan)};
  std::vector<Saying> all(std::begin(kAttention), std::end(kAttention));
  // Scores and sinks of another type than the tensors' are bugs; only an fp8
  // tensor is widened to bf16 and no further.
  const std::string lane = LaneName(failed.claims->lane.value_or(Lane::kF32));
  std::erase_if(all, [&](const Saying& saying) {
    const std::string_view field = saying.field;
    const bool beside = failed.line.find("sink") == std::string::npos;
    if (field == "sink" && beside) return true;
    if (field == "score" || field == "sink") return saying.value != lane;
    return field == "operand_qk" && saying.also != nullptr &&
           failed.line.find(" kvlane=") == std::string::npos;
  });
  const bool gradients =
      std::any_of(failed.outputs.begin(), failed.outputs.end(),
                  [](const OutputSpec& spec) { return spec.name == "dq"; });
  if (!gradients) return all;
  std::erase_if(all, [](const Saying& saying) {
    return std::string_view(saying.value) == "q_lane";
  });
  all.insert(all.begin(), std::begin(kGradients), std::end(kGradients));
  return all;
}

bool Fails(Verdict verdict) {
  return verdict == Verdict::kFail || verdict == Verdict::kError;
}

}  // namespace

std::string OneFieldText(const CaseResult& failed) {
  if (failed.one_field.empty()) return "";
  const Saying* const saying = Find(failed.one_field);
  const std::string field = "`" + failed.one_field + "`";
  const bool passes = failed.one_field_verdict == Verdict::kPass;
  const std::string verdict =
      passes ? "passes" : VerdictName(failed.one_field_verdict);
  if (saying == nullptr || saying->open == nullptr) {
    return verdict + " with " + field +
           ": say so if it is what the kernel does";
  }
  // A field that leaves something open makes nothing right.
  return std::string(passes ? "wrong in " : "perhaps wrong in ") +
         saying->open + " alone: without them (" + field + ") the case " +
         (passes ? "passes" : "is " + verdict);
}

void FindOneField(const CaseRequest& request, Candidate& candidate,
                  const JudgeOptions& options, CaseResult* failed) {
  if (!failed->claims || failed->claims->exact || !OfNumbers(*failed)) return;
  JudgeOptions whole = options;
  whole.only_verdict = true;
  whole.one_field = false;
  whole.causes = false;
  whole.canaries = false;
  whole.repeats = 0;
  // Only what failed, before the whole judge is asked.
  JudgeOptions quick = whole;
  quick.invariance = false;
  quick.evidence = false;
  quick.only_probes = ProbesOf(*failed);
  std::vector<Saying> sayings = SayingsFor(*failed);
  // To no other kernel it is said that it may do without an output.
  const std::string lacks = Lacking(candidate);
  if (!lacks.empty()) {
    const bool scan = failed->claims->scan.has_value();
    sayings.insert(sayings.begin(), scan ? Saying{"scan.lacks", lacks.c_str()}
                                         : Saying{"lse", "none"});
  }
  for (const Saying& saying : sayings) {
    if (options.stop != nullptr && *options.stop) return;
    const auto profile = With(*failed->claims, saying);
    if (!profile) continue;
    quick.profile = whole.profile = profile;
    if (Fails(VerdictOf(request, candidate, quick))) continue;
    const Verdict verdict = VerdictOf(request, candidate, whole);
    const bool passes = verdict == Verdict::kPass;
    // A skipped case is no evidence for a convention, unless the convention
    // leaves open why it was skipped.
    const bool ran = verdict != Verdict::kSkipped || saying.open != nullptr;
    const bool silent = saying.convention && ran && !Fails(verdict);
    if (!passes && !(silent && failed->one_field.empty())) continue;
    failed->one_field = saying.Text();
    failed->one_field_verdict = verdict;
    if (passes) return;
  }
}

}  // namespace lockstep::verify
