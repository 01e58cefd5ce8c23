// Claims in a terminal and on a page.
#include <algorithm>
#include <string>
#include <vector>

#include "verify/base/printable.h"
#include "verify/base/text.h"
#include "verify/judge/claims/claims.h"
#include "verify/report/claims/claim_table.h"
#include "verify/report/claims/claim_words.h"
#include "verify/report/markup/html.h"
#include "verify/report/words.h"

namespace lockstep::verify {
namespace {

using Cells = std::vector<std::string>;

const Cells kHead = {"claim",   "claimed", "pairs", "broken",
                     "differs", "max ulp", "result"};

// "kept to 64 batch rows, 4097 keys", "broken from 5 batch rows, 257 keys".
std::string ResultOf(const ClaimRow& row) {
  const ClaimTried& begins = row.begins;
  const ClaimTried& widest = row.widest;
  const bool broken = row.broken_cases > 0;
  const std::string sizes =
      broken ? SizeWords(begins.begins_width, begins.unit, begins.begins_length,
                         begins.length_unit)
             : SizeWords(widest.widest, widest.unit, widest.longest,
                         widest.length_unit);
  if (row.pairs == 0 || sizes.empty()) return StateOf(row);
  return StateOf(row) + (broken ? " from " : " to ") + sizes;
}

Cells CellsOf(const ClaimRow& row) {
  const bool broken = row.broken_cases > 0;
  return {ClaimName(row.claim),
          row.claimed ? "yes" : "no",
          Grouped(row.pairs),
          Grouped(row.broken),
          broken ? Grouped(row.differing) + " of " + Grouped(row.elements) : "",
          row.max_ulp > 0 ? std::to_string(row.max_ulp) : "",
          ResultOf(row)};
}

// Columns as wide as their widest cell, two blanks between; numbers stand to
// the right.
std::string Columns(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(kHead.size());
  for (const Cells& row : rows) {
    for (size_t n = 0; n < row.size(); ++n) {
      widths[n] = std::max(widths[n], row[n].size());
    }
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t n = 0; n < row.size(); ++n) {
      const bool number = n >= 2 && n < 6;
      const std::string blanks(widths[n] - row[n].size(), ' ');
      line +=
          (n == 0 ? "" : "  ") + (number ? blanks + row[n] : row[n] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// What shows that the claim is broken, a line each.
Cells WitnessLines(const ClaimRow& row) {
  const ClaimWitness& witness = row.witness;
  Cells lines = {"case: " + witness.line};
  if (!witness.pair.empty()) lines.push_back("pair: " + witness.pair);
  if (!witness.element.empty()) {
    lines.push_back("first: " + witness.element + " " + witness.one +
                    " against " + witness.other + "; " + witness.counts);
  }
  lines.push_back("replay: " + witness.replay);
  return lines;
}

// "not tried on 3 cases: the op has no batch", a line each.
Cells UntriedLines(const ClaimRow& row) {
  Cells lines;
  for (const auto& [why, cases] : row.untried) {
    lines.push_back("not tried on " + Count(cases, "case") + ": " + why);
  }
  return lines;
}

std::string Paragraph(const ClaimRow& row, const ReportStyle& style) {
  std::string text;
  if (row.broken_cases > 0) {
    const char* color = row.claimed ? kRed : kYellow;
    text =
        Colored(std::string("broken ") + ClaimName(row.claim), color, style) +
        (row.claimed ? "" : ", which is not claimed") + ", on " +
        std::to_string(row.broken_cases) + " of " + Count(row.cases, "case") +
        "\n";
    for (const std::string& line : WitnessLines(row)) {
      text += "      " + Printable(line) + "\n";
    }
  }
  return text;
}

std::string UntriedText(const ClaimTable& table) {
  std::string text;
  for (const ClaimRow& row : table.rows()) {
    for (const std::string& line : UntriedLines(row)) {
      text += Padded(ClaimName(row.claim), 10) + Printable(line) + "\n";
    }
  }
  return text;
}

// "6 claims: 4 kept, 1 broken, 1 not tried".
std::string CountsOf(const ClaimTable& table) {
  int64_t kept = 0, broken = 0, untried = 0;
  for (const ClaimRow& row : table.rows()) {
    ++(row.pairs == 0 ? untried : row.broken_cases > 0 ? broken : kept);
  }
  std::string counts;
  const auto add = [&](int64_t n, const char* word) {
    if (n == 0) return;
    counts += (counts.empty() ? "" : ", ") + std::to_string(n) + " " + word;
  };
  add(kept, "kept");
  add(broken, "broken");
  add(untried, "not tried");
  return Count(static_cast<int64_t>(table.rows().size()), "claim") +
         (counts.empty() ? "" : ": " + counts);
}

// Verdicts that say something that the table does not.
std::string OtherVerdicts(const Totals& totals) {
  std::string text;
  const auto add = [&](int64_t n, Verdict verdict) {
    if (n > 0) text += ", " + std::to_string(n) + " " + VerdictName(verdict);
  };
  add(totals.error, Verdict::kError);
  add(totals.skipped, Verdict::kSkipped);
  return text;
}

}  // namespace

std::string DifferenceWords(int64_t differing, int64_t elements,
                            uint64_t max_ulp) {
  std::string text =
      std::to_string(differing) + " of " + Count(elements, "element");
  if (max_ulp > 0) text += ", max " + std::to_string(max_ulp) + " ulp";
  return text;
}

std::string StateOf(const ClaimRow& row) {
  return ClaimStateName(row.broken_cases > 0 ? ClaimState::kBroken
                        : row.pairs > 0      ? ClaimState::kKept
                                             : row.state);
}

std::string ClaimReplayLine(const CaseResult& result, const ClaimTried& tried) {
  Finding finding;
  finding.check = ClaimCheck(tried.claim);
  finding.line = tried.whole_line;
  return ReplayLine(result, finding);
}

std::string ClaimTableText(const ClaimTable& table, const ReportStyle& style) {
  if (table.rows().empty()) return "";
  std::vector<Cells> rows = {kHead};
  for (const ClaimRow& row : table.rows()) rows.push_back(CellsOf(row));
  std::string text = Columns(rows);
  for (const ClaimRow& row : table.rows()) text += Paragraph(row, style);
  return text + UntriedText(table);
}

std::string ClaimTableHtml(const ClaimTable& table) {
  if (table.rows().empty()) return "";
  std::vector<Cells> rows;
  std::string broken;
  for (const ClaimRow& row : table.rows()) {
    rows.push_back(CellsOf(row));
    if (row.broken_cases > 0) {
      std::string lines;
      for (const std::string& line : WitnessLines(row)) lines += line + "\n";
      broken += "<h3 class=\"bad\">" + HtmlText(ClaimName(row.claim)) +
                " is broken" + (row.claimed ? "" : ", which is not claimed") +
                "</h3>\n" + HtmlTerminal(lines);
    }
  }
  const std::string untried = UntriedText(table);
  return "<h2>Claims</h2>\n" + HtmlTable(kHead, rows, "claims") + broken +
         (untried.empty() ? ""
                          : "<h3>Not tried</h3>\n" + HtmlTerminal(untried));
}

std::string InvarianceSummary(const ClaimTable& table, const Totals& totals,
                              const RunStatistics& statistics, int exit_code,
                              const ReportStyle& style) {
  std::string text = ExecutedLine(statistics) + ClaimTableText(table, style);
  for (const Claim claim : table.Unproved()) {
    text += std::string("unproved  ") + ClaimName(claim) +
            " is claimed, and no pair of calls was compared\n";
  }
  text += SkippedLine(statistics);
  text += CountsOf(table) + "; " + Count(totals.cases, "case") +
          OtherVerdicts(totals);
  if (totals.not_run > 0) {
    text += "; " + Count(totals.not_run, "case") + " not run";
  }
  if (totals.interrupted) text += "; interrupted";
  text += "; " + Count(totals.runs, "run") + "; " + Seconds(totals.seconds);
  if (exit_code != 0) text += "; exit " + std::to_string(exit_code);
  return text + "\n";
}

}  // namespace lockstep::verify
