#include "verify/report/page/verdicts.h"

#include <utility>
#include <vector>

#include "verify/base/format.h"
#include "verify/base/text.h"
#include "verify/judge/one_field.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/report/gate/root_causes.h"
#include "verify/report/markup/html.h"
#include "verify/report/page/block_plan.h"
#include "verify/report/page/error_map.h"
#include "verify/report/page/guilty_keys.h"

namespace lockstep::verify {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kVerdictStyle = R"(
td.mark { font-weight: 700; } section { margin-top: 3rem;
  border-top: 3px solid var(--line); }
section h2 { margin-top: 1rem; }
table.cases th, table.cases td { text-align: left; vertical-align: top; }
table.cases td.line { font-family: ui-monospace, monospace; font-size: .85em;
  white-space: normal; overflow-wrap: anywhere; }
table.cases td.took { white-space: nowrap; }
table.cases td.candidate { white-space: normal; overflow-wrap: anywhere; }
ol.causes li { overflow-wrap: anywhere; }
p.cause { font-size: 1.15rem; font-weight: 600; max-width: 46rem;
  overflow-wrap: anywhere; }
.finding ul { margin: .2rem 0 .8rem; padding-left: 1.2rem; }
.finding li { overflow-wrap: anywhere; }
@media (max-width: 40rem) { table.cases .more { display: none; } }
)";

// Words carry the verdict; the sign is for readers who skim.
std::string Mark(const CaseResult& result) {
  if (Excused(result)) return "\xe2\x97\x8b known";
  switch (result.verdict) {
    case Verdict::kPass:
      return "\xe2\x9c\x93 pass";
    case Verdict::kFail:
      return "\xe2\x9c\x97 FAIL";
    case Verdict::kError:
      return "\xe2\x9c\x97 ERROR";
    case Verdict::kSkipped:
      return "\xe2\x80\x93 skipped";
    default:
      return std::string("? ") + VerdictName(result.verdict);
  }
}

const char* KindOf(const CaseResult& result) {
  const bool bad =
      result.verdict == Verdict::kFail || result.verdict == Verdict::kError;
  return bad                                ? "mark bad"
         : result.verdict == Verdict::kPass ? "mark good"
                                            : "mark";
}

bool IsQuiet(const CaseResult& result) {
  return result.verdict == Verdict::kPass ||
         result.verdict == Verdict::kSkipped;
}

// A finding's message, its parts between "; " on lines of their own.
std::string FindingHtml(const CaseResult& result, const Finding& finding) {
  std::string text = "<div class=\"finding\"><b>" +
                     HtmlText(std::string(TierName(finding.tier)) + " (" +
                              finding.check + ")") +
                     "</b><ul>\n";
  size_t from = 0;
  for (size_t at = 0; at != std::string::npos; from = at + 2) {
    at = finding.message.find("; ", from);
    text +=
        "<li>" + HtmlText(finding.message.substr(from, at - from)) + "</li>\n";
    if (at == std::string::npos) break;
  }
  text += "</ul>\n";
  if (!finding.line.empty() && finding.line != result.line) {
    text += "<p class=\"case\">on " + HtmlText(finding.line) + "</p>\n";
  }
  return text + "</div>\n";
}

std::string FindingsHtml(const CaseResult& result) {
  if (result.findings.empty()) return "";
  std::string text = "<h3>Found</h3>\n";
  for (const Finding& finding : result.findings) {
    text += FindingHtml(result, finding);
  }
  return text;
}

// What is wrong, in a sentence each, before anything that shows it.
std::string CausesHtml(const CaseResult& result) {
  std::string text;
  for (const Explanation& cause : result.causes) {
    text += "<p class=\"cause\">" + HtmlText(ExplanationText(cause)) + "</p>\n";
  }
  if (text.empty() && !result.no_cause.empty()) {
    text = "<p class=\"cause\">Cause: " + HtmlText(result.no_cause) + "</p>\n";
  }
  return text;
}

std::string ReplayHtml(const CaseResult& result) {
  const Finding none;
  return "<h3>See it again</h3>\n" +
         HtmlTerminal(ReplayLine(
             result, result.findings.empty() ? none : result.findings.front()));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

// What of a receipt tells one run from another.
std::string FactsHtml(const CaseResult& result) {
  const Execution& ran = result.execution;
  std::string kernel, rules, checks, compared;
  for (const Fact& fact : result.kernel) {
    kernel += (kernel.empty() ? "" : ", ") + fact.name + " " + fact.value;
  }
  for (const Baseline& baseline : result.baselines) {
    rules += (rules.empty() ? "" : ", ") + baseline.rule +
             (baseline.passes ? " passes" : " fails");
  }
  for (const Check& check : result.checks) {
    checks += (checks.empty() ? "" : ", ") + check.name +
              (check.passed ? "" : " FAILED");
  }
  if (result.rows > 0) {
    compared = std::to_string(result.rows_compared) + " of " +
               std::to_string(result.rows) + " rows";
  }
  const Facts facts = {
      {"why", result.findings.empty() ? result.reason : ""},
      {"written at", OriginText(result.origin)},
      {"candidate", result.candidate},
      {"profile", result.profile.empty() ? "" : result.profile},
      {"suggestion", OneFieldText(result)},
      {"known failure", result.known ? result.known->text : ""},
      {"kernel", kernel},
      {"executed",
       ran.backend + (ran.target.empty() ? "" : " on ") + ran.target},
      {"plan", ran.plan},
      {"fell back", ran.fallback_reason},
      {"held against the truth", compared},
      {"checks", checks},
      {"other rules", rules},
      {"inputs", result.input_digest},
      {"outputs", Joined(result.output_digests)},
      {"took", Format("%.3f s, the candidate %.3f s", result.seconds,
                      result.candidate_seconds)}};
  return "<h3>Facts</h3>\n" + HtmlFacts(facts);
}

std::string PictureHtml(const CaseResult& result) {
  if (result.verdict != Verdict::kFail) return "";
  const std::string head = "<h3>Where</h3>\n";
  if (result.picture == nullptr) {
    const std::string why = !result.no_picture.empty() ? result.no_picture
                            : FindingOfNumbers(result) == nullptr
                                ? "the finding is not a numerical error"
                                : "only the first failures of a run are";
    return head + "<p>Not drawn: " + HtmlText(why) + ".</p>\n";
  }
  const ErrorPicture& picture = *result.picture;
  const std::optional<Tile> tile = TileOf(result.execution.plan);
  std::string inputs;
  if (picture.line != result.line) {
    inputs = "<p>On the inputs of a probe:</p>\n<p class=\"case\">" +
             HtmlText(picture.line) + "</p>\n";
  }
  return head + inputs + ErrorPictureHtml(picture, tile) +
         GuiltyTilesHtml(picture, tile) + RowByKeyHtml(picture);
}

// Another case of a cause that is told already.
std::string OtherHtml(const CaseResult& result) {
  const Finding none;
  const std::vector<Explanation>& causes = result.causes;
  return "<p class=\"case\">" + HtmlText(result.line) + "</p>\n" +
         (causes.empty()
              ? ""
              : "<p>" + HtmlText(ExplanationText(causes.front())) + "</p>\n") +
         HtmlTerminal(ReplayLine(
             result, result.findings.empty() ? none : result.findings.front()));
}

// The tier and the check that the verdict rests on.
std::pair<std::string, std::string> Decided(const CaseResult& result) {
  for (const Finding& finding : result.findings) {
    if (Counts(result, finding)) return {TierName(finding.tier), finding.check};
  }
  return {"", ""};
}

std::string Title(const Totals& totals) {
  const int64_t bad = totals.fail + totals.error;
  std::string text = "lockstep: " + Count(totals.cases, "case");
  if (bad > 0) return text + ", " + std::to_string(bad) + " failed";
  const std::string wrong = WrongDraws(totals.draws);
  if (!wrong.empty()) return text + ", " + wrong;
  return text + (totals.pass == totals.cases && totals.cases > 0
                     ? ", all passed"
                     : ", none failed");
}

}  // namespace

VerdictPage::VerdictPage(const Environment& environment, ReceiptRequest request)
    : environment_(environment), request_(std::move(request)) {}

void VerdictPage::Add(const CaseResult& result) {
  ++cases_;
  const bool quiet = IsQuiet(result);
  const bool told = !quiet && told_ < kToldCases;
  if (!told && cases_ - told_ - untold_ - unlisted_ > kListedCases) {
    ++(quiet ? unlisted_ : untold_);
    return;
  }
  const auto [tier, check] = Decided(result);
  std::string line = HtmlText(result.line);
  if (told) {
    ++told_;
    Told& cause = ToldOf(result);
    if (cause.number != cases_) {
      ++cause.more;
      cause.others += OtherHtml(result);
    }
    line = Format("<a href=\"#case-%lld\">",
                  static_cast<long long>(cause.number)) +
           line + "</a>";
  }
  rows_ += "<tr>" + HtmlCell(Mark(result), KindOf(result)) +
           HtmlCell(line, "line") + HtmlCell(HtmlText(tier), "more") +
           HtmlCell(HtmlText(check), "more") +
           HtmlCell(HtmlText(result.candidate), "more candidate") +
           HtmlCell(Format("%.2f s", result.seconds), "more took") + "</tr>\n";
}

VerdictPage::Told& VerdictPage::ToldOf(const CaseResult& result) {
  const std::string kind =
      result.candidate + " " + result.op + " " + KindOfFault(result);
  const std::string bug = result.causes.empty() ? "" : result.causes[0].bug;
  for (Told& cause : causes_) {
    if (cause.kind == kind && (bug.empty() || cause.bug == bug)) return cause;
  }
  Told cause;
  cause.kind = kind;
  cause.bug = bug;
  cause.number = cases_;
  cause.title = bug.empty() ? result.reason.substr(0, result.reason.find("; "))
                            : ExplanationText(result.causes.front());
  cause.head = Format("<section id=\"case-%lld\">\n<h2 class=\"%s\">",
                      static_cast<long long>(cases_), KindOf(result)) +
               Mark(result) + "</h2>\n" + CausesHtml(result) +
               "<p class=\"case\">" + HtmlText(result.line) + "</p>\n" +
               PictureHtml(result) + FindingsHtml(result) + ReplayHtml(result);
  cause.tail = FactsHtml(result) + "</section>\n";
  causes_.push_back(std::move(cause));
  return causes_.back();
}

// A list of the causes, where there are several, then each.
std::string VerdictPage::Sections() const {
  std::string list, text;
  for (const Told& cause : causes_) {
    list += Format("<li><a href=\"#case-%lld\">",
                   static_cast<long long>(cause.number)) +
            HtmlText(cause.title) + "</a>, " + Count(cause.more + 1, "case") +
            "</li>\n";
    text += cause.head;
    if (cause.more > 0) {
      text += "<details><summary>Likewise on " +
              Count(cause.more, "more case") + "</summary>\n" + cause.others +
              "</details>\n";
    }
    text += cause.tail;
  }
  if (causes_.size() < 2) return text;
  return "<ol class=\"causes\">\n" + list + "</ol>\n" + text;
}

std::string VerdictPage::Asked() const {
  std::string asked;
  for (const std::string& word : request_.arguments) {
    asked += " " + ShellWord(word);
  }
  std::vector<std::string> targets;
  for (const TargetState& target : environment_.targets) {
    targets.push_back(target.name + (target.supported ? "" : " (not here)"));
  }
  const Facts facts = {
      {"asked", "lockstep" + asked},
      {"candidates", Joined(request_.candidates)},
      {"profile", request_.profile},
      {"configuration", request_.config},
      {"at", request_.time},
      {"lockstep", environment_.version + " (" + environment_.commit +
                       (environment_.dirty ? ", changed" : "") + "), " +
                       environment_.compiler + ", " + environment_.build_type},
      {"machine", environment_.cpu + ", " +
                      std::to_string(environment_.threads) + " threads, " +
                      environment_.system},
      {"instruction sets", Joined(targets)},
      {"rounding", environment_.rounding +
                       (environment_.ftz ? ", flushing results" : "") +
                       (environment_.daz ? ", flushing operands" : "")},
      {"contract", std::to_string(environment_.contract_version)}};
  return "<h2>What was asked, and of what machine</h2>\n" + HtmlFacts(facts);
}

std::string VerdictPage::Write(const Totals& totals,
                               const RunStatistics& statistics,
                               const ClaimTable& claims, int exit_code) const {
  const std::string title = Title(totals);
  std::string body =
      "<h1>" + HtmlText(title) + "</h1>\n" + ErrorPatterns() + Sections() +
      "<h2>The run</h2>\n" +
      HtmlTerminal(ReportSummary(totals, statistics, exit_code, {}));
  body += ClaimTableHtml(claims);
  body +=
      "<h2>Cases</h2>\n<div class=\"wide\"><table class=\"cases\">\n<tr>"
      "<th>verdict</th><th>case</th><th class=\"more\">tier</th>"
      "<th class=\"more\">check</th><th class=\"more\">candidate</th>"
      "<th class=\"more\">took</th></tr>\n" +
      rows_ + "</table></div>\n";
  if (untold_ + unlisted_ > 0) {
    body += "<p>Left out here: " + std::to_string(unlisted_) +
            " that passed or were skipped, and " + std::to_string(untold_) +
            " others; --json has every case.</p>\n";
  }
  body += Asked();
  const std::string style = std::string(kPlanFigureStyle) + kErrorMapStyle +
                            kGuiltyKeysStyle + kVerdictStyle;
  return HtmlPage(title, style, body);
}

}  // namespace lockstep::verify
