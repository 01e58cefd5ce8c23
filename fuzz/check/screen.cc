#include "fuzz/check/screen.h"

#include <utility>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/report/words.h"

namespace lockstep::fuzz::check {
namespace {

constexpr size_t kLabel = 10;

std::string LineOf(const std::string& label, const std::string& text) {
  const std::string shown = label.size() < kLabel ? label : label + "  ";
  return verify::Padded(shown, kLabel) + verify::Printable(text) + "\n";
}

const verify::Finding* FindingOf(const verify::CaseResult& result) {
  for (const verify::Finding& finding : result.findings) {
    if (verify::Counts(result, finding)) return &finding;
  }
  return nullptr;
}

std::string Place(const std::string& tensor, const std::string& message) {
  const size_t from = message.find('['), to = message.find(']');
  return from == message.npos || to == message.npos
             ? tensor
             : tensor + message.substr(from, to - from + 1);
}

}  // namespace

void Screen::Print(const std::string& line) {
  if (held_) {
    lines_.push_back(line);
  } else {
    out_ << line << std::flush;
  }
}

void Screen::Release() {
  held_ = false;
  for (const std::string& line : std::exchange(lines_, {})) Print(line);
}

void Screen::Say(const std::string& label, const std::string& text) {
  Print(LineOf(label, text));
}

void Screen::SayFirst(const std::string& label, const std::string& text) {
  out_ << LineOf(label, text) << std::flush;
}

void Screen::SayLast(const std::string& text) {
  out_ << verify::Printable(text) << "\n" << std::flush;
}

std::string WrongText(const verify::CaseResult& result) {
  const verify::Finding* finding = FindingOf(result);
  if (finding == nullptr) return result.reason;
  if (!finding->envelope || !finding->envelope->first) return finding->message;
  const verify::EnvelopeResult& found = *finding->envelope;
  const verify::EnvelopeWitness& first = *found.first;
  const verify::ValueSet& allowed = first.bounds.allowed;
  const std::string range =
      allowed.lo == allowed.hi
          ? verify::Format("%.4g alone is allowed", allowed.lo)
          : verify::Format("allowed are %.4g .. %.4g", allowed.lo, allowed.hi);
  return verify::Grouped(found.outside) + " of " +
         verify::Grouped(found.expected) + " outputs, first " +
         Place(found.tensor, finding->message) +
         verify::Format(" = %.4g: right is %.4g, ", first.produced,
                        first.bounds.truth) +
         range;
}

std::string CauseText(const verify::CaseResult& result) {
  if (result.causes.empty()) return "";
  const verify::Explanation& cause = result.causes.front();
  return (cause.Proved() ? "" : "perhaps ") + cause.what +
         (cause.where.empty() ? "" : ", in " + cause.where);
}

std::string OtherwiseText(const verify::CaseResult& result,
                          const std::string& kernel) {
  const verify::Finding* finding = FindingOf(result);
  if (finding != nullptr && !finding->envelope) {
    return kernel + ": " + finding->message;
  }
  return kernel +
         " gives wrong numbers, and neither a known bug nor one number "
         "explains them";
}

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t n = 0; n < words.size(); ++n) {
    text += (n == 0 ? "" : n + 1 == words.size() ? " and " : ", ") + words[n];
  }
  return text;
}

}  // namespace lockstep::fuzz::check
