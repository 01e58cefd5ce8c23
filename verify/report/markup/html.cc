#include "verify/report/markup/html.h"

#include "verify/report/junit.h"

namespace lockstep::verify {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #667;
  --line: #d5d9e0; --accent: #1f6feb; --good: #1a7f37; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #14171c;
  --soft: #9aa3b2; --line: #343b46; --accent: #6aa6ff; --good: #5bc77a;
  --bad: #ff8b7e; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
p.case { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
p.soft, td.soft { color: var(--soft); }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
@media (max-width: 40rem) {
  th, td { white-space: normal; padding: .25rem .2rem; font-size: .75rem; }
  th:first-child, td:first-child { min-width: 4rem; } }
.good { color: var(--good); } .bad { color: var(--bad); }
svg { width: 100%; height: auto; max-width: 46rem; display: block; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .axis { stroke: var(--line); }
)";

// What the pages of verdicts, plans and the selftest have in common.
constexpr const char* kReadingStyle = R"(
pre.map { white-space: pre; width: max-content; line-height: 1.1; }
h3 { font-size: 1rem; margin-top: 1.5rem; }
a { color: var(--accent); }
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .5rem 0; padding: .5rem .7rem;
  border: 1px solid var(--line); border-radius: 4px; }
table.text th, table.text td { text-align: left; }
table.text td { white-space: normal; overflow-wrap: anywhere;
  vertical-align: top; min-width: 5rem; }
table.text td:first-child { white-space: nowrap; }
dl.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr;
  gap: .15rem 1rem; margin: .5rem 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
@media (max-width: 40rem) {
  dl.facts { grid-template-columns: 6rem 1fr; column-gap: .6rem; } }
figure { margin: 1rem 0; } figcaption { margin-bottom: .4rem; }
)";

}  // namespace

std::string HtmlText(const std::string& text) { return XmlEscape(text); }

std::string HtmlPage(const std::string& title, const std::string& style,
                     const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
         "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
         "content=\"width=device-width\"/>\n<title>" +
         HtmlText(title) + "</title>\n<style>" + kStyle + kReadingStyle +
         style + "</style>\n</head>\n<body>\n" + body + "</body>\n</html>\n";
}

std::string HtmlCell(const std::string& text, const char* kind) {
  const std::string attribute =
      *kind == '\0' ? "" : std::string(" class=\"") + kind + "\"";
  return "<td" + attribute + ">" + text + "</td>";
}

std::string HtmlRow(const std::vector<std::string>& cells,
                    const char* element) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) {
    text += std::string("<") + element + ">" + HtmlText(cell) + "</" + element +
            ">";
  }
  return text + "</tr>\n";
}

std::string HtmlTable(const std::vector<std::string>& head,
                      const std::vector<std::vector<std::string>>& rows,
                      const char* kind) {
  const std::string attribute =
      *kind == '\0' ? "" : std::string(" class=\"") + kind + "\"";
  std::string text =
      "<div class=\"wide\"><table" + attribute + ">\n" + HtmlRow(head, "th");
  for (const auto& row : rows) text += HtmlRow(row);
  return text + "</table></div>\n";
}

std::string HtmlFacts(
    const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string text = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    text += "<dt>" + HtmlText(name) + "</dt><dd>" + HtmlText(value) + "</dd>\n";
  }
  return text + "</dl>\n";
}

std::string HtmlTerminal(const std::string& text) {
  return "<pre>" + HtmlText(text) + "</pre>\n";
}

}  // namespace lockstep::verify
