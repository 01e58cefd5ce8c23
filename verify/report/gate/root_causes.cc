#include "verify/report/gate/root_causes.h"

#include <filesystem>
#include <system_error>

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

const Finding* FirstThatCounts(const CaseResult& result) {
  for (const Finding& finding : result.findings) {
    if (Counts(result, finding)) return &finding;
  }
  return nullptr;
}

}  // namespace

std::string KindOfFault(const CaseResult& result) {
  const Finding* const finding = FirstThatCounts(result);
  if (finding == nullptr) return VerdictName(result.verdict);
  switch (finding->tier) {
    case Tier::kBits:
    case Tier::kProbes:
    case Tier::kEnvelope:
      return "answer:" + finding->check;
    default:
      return SignatureOf(*finding);
  }
}

void RootCauses::Add(const CaseResult& result) {
  if (result.verdict == Verdict::kPass) return;
  const Finding* finding = FirstThatCounts(result);
  const int64_t entry =
      Excused(result) ? static_cast<int64_t>(result.known->entry) : -1;
  const auto [at, added] = known_.try_emplace(
      Key{result.candidate, result.op, KindOfFault(result), entry},
      causes_.size());
  if (added) {
    RootCause cause;
    cause.candidate = result.candidate;
    cause.op = result.op;
    cause.signature = SignatureOf(result);
    cause.verdict = result.verdict;
    cause.origin = result.origin;
    cause.line = result.line;
    cause.message = finding == nullptr ? result.reason : finding->message;
    if (!result.causes.empty()) {
      cause.cause = ExplanationText(result.causes.front());
    }
    if (finding != nullptr) cause.replay = ReplayLine(result, *finding);
    cause.known = result.known;
    causes_.push_back(std::move(cause));
  }
  // A draw is no case, unless it alone shows the cause.
  if (added || result.draw_of.empty()) ++causes_[at->second].cases;
}

bool Fails(const RootCause& cause, const Totals& totals,
           const ExitPolicy& policy) {
  if (cause.known && !cause.known->expired) return false;
  switch (cause.verdict) {
    case Verdict::kPass:
      return false;
    case Verdict::kSuspicious:
      return policy.fail_on_suspicious;
    case Verdict::kSkipped:
      return TooManySkipped(totals, policy);
    case Verdict::kFail:
    case Verdict::kUntrusted:
    case Verdict::kError:
      return true;
  }
  return true;
}

std::string DescribeCause(const RootCause& cause) {
  std::string text = cause.message;
  // A reader who knows the bug needs the first wrong element, not all numbers.
  if (!cause.cause.empty()) {
    text = cause.cause + "\n" + text.substr(0, text.find("; "));
  }
  if (cause.cases > 1) {
    text += "; likewise " + std::to_string(cause.cases - 1) + " more " +
            (cause.cases == 2 ? "case" : "cases");
  }
  if (cause.known) text += "; " + cause.known->text;
  return text;
}

std::string PathBelow(const std::string& root, const std::string& file) {
  std::error_code error;
  const fs::path from = fs::weakly_canonical(root, error);
  if (root.empty() || error) return file;
  const fs::path path = fs::weakly_canonical(file, error);
  if (error) return file;
  const fs::path below = path.lexically_relative(from);
  return below.empty() || *below.begin() == ".." ? file : below.string();
}

}  // namespace lockstep::verify
