#include "fuzz/text.h"

#include <algorithm>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/domain/features.h"
#include "verify/report/json_text.h"
#include "verify/report/report.h"

namespace lockstep::fuzz {
namespace {

using verify::Count;
using verify::Printable;

std::string Fixed(double x, int digits) {
  return verify::Format("%.*f", digits, x);
}

double Rate(const Report& report) {
  return report.judging_seconds > 0
             ? static_cast<double>(report.computed) / report.judging_seconds
             : 0;
}

// Cases for each feature of a domain, on average, before one that was never
// met is worth its name in a summary. --json always has the names.
constexpr int64_t kCasesPerFeature = 10;

// What was never tried, since the kernel refuses it.
std::string LeftOutText(const Report& report, const verify::Domain& domain) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += (text.empty() ? "left out  " : "          ") + line + "\n";
  };
  for (const LeftOut& left : report.left_out) {
    add(Count(left.cases, "case") +
        (left.feature ? std::string(" with ") + domain.features()[*left.feature]
                      : "") +
        ", refused: " + Printable(left.reason));
  }
  if (report.put_off > 0) {
    add(Count(report.put_off, "case") +
        " postponed, with features that no case had tried yet");
  }
  return text;
}

void AddCount(int64_t n, const char* name, std::string* text) {
  if (n == 0) return;
  if (!text->empty()) *text += ", ";
  *text += std::to_string(n) + " " + name;
}

// Lengths and sizes that no case had: a kernel is often made for few of them.
std::string UnmetSizes(const std::vector<std::string>& missing) {
  std::string text;
  for (const std::string& name : missing) {
    if (!name.starts_with(verify::kSizeFeature)) continue;
    text +=
        (text.empty() ? "" : ", ") + name.substr(verify::kSizeFeature.size());
  }
  return text.empty() ? "" : "sizes     not met: " + text + "\n";
}

// Which canaries passed, and what that says.
std::string MissedText(const Report& report) {
  const Counts& n = report.counts;
  if (n.canaries_missed == 0) return "";
  std::string text =
      "missed    at most " +
      Fixed(100 * WilsonUpper(n.canaries_missed, n.canaries), 2) +
      " % of all canaries (95 %); " +
      (CanariesHold(n) ? "tolerated below " : "too many: want below ") +
      Fixed(100 * kMostMissRate, 0) + " %\n";
  for (const MissedCanary& missed : report.missed) {
    text +=
        std::string("          ") + (missed.drawn ? "case " : "corpus line ") +
        std::to_string(missed.index) + ": " + Printable(missed.line) +
        (missed.canary.empty() ? "" : "  " + Printable(missed.canary)) + "\n";
  }
  return text;
}

}  // namespace

std::string FaultText(const Fault& fault) {
  const Shrunk& shrunk = fault.shrunk;
  std::string text = (fault.convention.empty() ? "FOUND " : "NAN   ") +
                     Printable(shrunk.outcome.signature) + " by " +
                     (fault.drawn ? "case " : "corpus line ") +
                     std::to_string(fault.index) + " after " +
                     Fixed(fault.seconds, 2) + " s\n";
  text += "      found:  " + Printable(fault.line) + "\n";
  if (shrunk.tried > 0) {
    text += "      shrunk: " + Printable(verify::MinimalLine(shrunk.sequence)) +
            "\n" + "              " + Count(shrunk.steps, "step") + ", " +
            Count(shrunk.tried, "case") + " tried, " +
            Fixed(shrunk.seconds, 2) + " s" +
            (shrunk.finished ? "" : "; time was up before it was smallest") +
            "\n";
  }
  if (!shrunk.alone) {
    text +=
        "              does not repeat in a fresh process: it needs what "
        "earlier cases left behind\n";
  }
  if (!fault.convention.empty()) text += "      " + fault.convention + "\n";
  return text + "      " + Printable(shrunk.outcome.message) +
         "\n      replay: " + Printable(shrunk.outcome.replay) + "\n";
}

std::string SummaryText(const Report& report, const verify::Domain& domain,
                        int exit_code) {
  const Counts& n = report.counts;
  std::string counts;
  AddCount(n.pass, "pass", &counts);
  AddCount(n.fail, "fail", &counts);
  AddCount(n.suspicious, "suspicious", &counts);
  AddCount(n.untrusted, "untrusted", &counts);
  AddCount(n.skipped, "skipped", &counts);
  AddCount(n.error, "error", &counts);
  std::string text;
  const std::vector<std::string> missing = report.Missing(domain);
  const auto all = static_cast<int64_t>(report.features.size());
  const auto met = all - static_cast<int64_t>(missing.size());
  text += "features  " + std::to_string(met) + " of " + std::to_string(all) +
          " met";
  // After few cases nothing is remarkable about a feature that did not come.
  if (!missing.empty() && n.cases < kCasesPerFeature * all) {
    text += "; too few cases to name the rest";
  } else if (!missing.empty()) {
    text += "; never produced:";
    for (const std::string& name : missing) text += " " + name;
  }
  text += "\n" + UnmetSizes(missing);
  if (n.canaries > 0) {
    text += "canaries  " + std::to_string(n.canaries - n.canaries_missed) +
            " of " + Count(n.canaries, "known-bad kernel") + " caught\n";
  }
  text += MissedText(report);
  text += verify::LawLine(report.laws);
  text += LeftOutText(report, domain);
  if (const auto unproved = report.Unproved(); !unproved.empty()) {
    text += "claims    never judged:";
    for (const std::string& claim : unproved) text += " " + Printable(claim);
    text += "; the kernel says that it computes this\n";
  }
  if (report.not_so > 0) {
    text += "not so    " + Count(report.not_so, "drawn case") +
            " that cannot have the keys of --where\n";
  }
  if (!report.unfinished.empty()) {
    text += "not run   ended inside " + Printable(report.unfinished) + "\n";
  }
  text += Count(n.cases, "case") + (counts.empty() ? "" : ": " + counts) +
          "; " + Count(report.Findings(), "finding");
  if (!report.conventions.empty()) {
    const auto told = static_cast<int64_t>(report.conventions.size());
    text += ", " + Count(told, "convention") + " of NaN";
  }
  text += "; " + Fixed(report.seconds, 2) + " s";
  if (report.computed > 0) {
    text += ", " + Fixed(Rate(report), 0) + " cases/s";
  }
  if (report.interrupted) text += "; interrupted";
  if (exit_code != 0) text += "; exit " + std::to_string(exit_code);
  return text + "\n";
}

std::string ProgressText(const Report& report, double elapsed,
                         const verify::Budget& budget) {
  const auto cases = static_cast<double>(report.fresh);
  const double rate = elapsed > 0 ? cases / elapsed : 0;
  double left = -1;
  if (budget.seconds) left = std::max(0.0, *budget.seconds - elapsed);
  if (budget.cases && rate > 0) {
    const auto most = static_cast<double>(*budget.cases);
    left = std::max(0.0, (most - cases) / rate);
  }
  std::string text =
      Count(report.counts.cases, "case") + ", " + Fixed(rate, 0) + "/s";
  if (left >= 0) text += ", " + Fixed(left, 0) + " s left";
  return text + ", " + Count(report.Findings(), "finding");
}

std::string FaultEvent(const Fault& fault, const Target& target) {
  const Shrunk& shrunk = fault.shrunk;
  verify::Json json;
  json["kind"] = fault.convention.empty() ? "finding" : "convention";
  if (!fault.convention.empty()) json["convention"] = fault.convention;
  json["signature"] = shrunk.outcome.signature;
  json["verdict"] = verify::VerdictName(shrunk.outcome.verdict);
  json["from"] = fault.drawn ? "generator" : "corpus";
  json["index"] = fault.index;
  json["found"] = fault.line;
  json["case"] = verify::MinimalLine(shrunk.sequence);
  json["canonical"] = verify::CanonicalLine(shrunk.sequence);
  json["candidate"] = target.candidate;
  json["profile"] = target.profile_spec;
  json["replay"] = shrunk.outcome.replay;
  json["message"] = shrunk.outcome.message;
  json["shrink_steps"] = shrunk.steps;
  json["shrink_cases"] = shrunk.tried;
  json["shrink_seconds"] = shrunk.seconds;
  json["shrink_finished"] = shrunk.finished;
  json["alone"] = shrunk.alone;
  json["found_seconds"] = fault.seconds;
  return verify::DumpJson(json, -1) + "\n";
}

std::string SummaryEvent(const Report& report, const verify::Domain& domain,
                         int exit_code) {
  const Counts& n = report.counts;
  verify::Json json;
  json["kind"] = "summary";
  json["schema"] = 1;
  json["op"] = domain.op;
  json["generator"] = verify::kDomainVersion;
  json["cases"] = n.cases;
  json["cases_per_second"] = Rate(report);
  json["pass"] = n.pass;
  json["fail"] = n.fail;
  json["suspicious"] = n.suspicious;
  json["untrusted"] = n.untrusted;
  json["skipped"] = n.skipped;
  json["error"] = n.error;
  json["findings"] = report.Findings();
  json["conventions"] = report.conventions.size();
  if (report.faults.empty()) {
    json["first_finding_s"] = nullptr;
  } else {
    json["first_finding_s"] = report.faults[0].seconds;
  }
  json["features_missing"] = report.Missing(domain);
  verify::Json features = verify::Json::object();
  for (size_t f = 0; f < report.features.size(); ++f) {
    features[domain.features()[f]] = report.features[f];
  }
  json["features"] = features;
  json["claims_unproved"] = report.Unproved();
  json["canaries"] = n.canaries;
  json["canaries_caught"] = n.canaries - n.canaries_missed;
  if (n.canaries_missed > 0) {
    json["canaries_missed"] = verify::Json::array();
    for (const MissedCanary& missed : report.missed) {
      json["canaries_missed"].push_back(
          {{"index", missed.index},
           {"from", missed.drawn ? "generator" : "corpus"},
           {"canary", missed.canary},
           {"case", missed.line}});
    }
    json["canary_miss_rate_at_most"] =
        WilsonUpper(n.canaries_missed, n.canaries);
  }
  if (!report.left_out.empty()) {
    json["left_out"] = verify::Json::array();
    for (const LeftOut& left : report.left_out) {
      verify::Json one = {{"reason", left.reason}, {"cases", left.cases}};
      if (left.feature) one["feature"] = domain.features()[*left.feature];
      json["left_out"].push_back(std::move(one));
    }
  }
  if (report.put_off > 0) json["put_off"] = report.put_off;
  if (report.not_so > 0) json["not_so"] = report.not_so;
  verify::Json laws = verify::Json::object();
  for (const auto& [name, times] : report.laws) laws[name] = times;
  json["laws"] = laws;
  json["seconds"] = report.seconds;
  json["interrupted"] = report.interrupted;
  if (!report.unfinished.empty()) json["unfinished"] = report.unfinished;
  json["exit"] = exit_code;
  return verify::DumpJson(json, -1) + "\n";
}

}  // namespace lockstep::fuzz
