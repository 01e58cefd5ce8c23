// The form of all pages: one file that needs no script and no other file. It is
// readable on a narrow screen, on paper, without colour, and as text. Pages are
// well-formed XML, too, unless their author writes entities.
#ifndef LOCKSTEP_VERIFY_REPORT_MARKUP_HTML_H_
#define LOCKSTEP_VERIFY_REPORT_MARKUP_HTML_H_

#include <string>
#include <utility>
#include <vector>

namespace lockstep::verify {

// Text with what HTML takes for markup escaped; bytes that no page may hold
// become '?'.
std::string HtmlText(const std::string& text);

// A whole document. `style`: rules beside those of all pages. `body`: markup.
std::string HtmlPage(const std::string& title, const std::string& style,
                     const std::string& body);

// A cell of a table. `text`: markup; `kind`: its class, or empty.
std::string HtmlCell(const std::string& text, const char* kind = "");
// A row of cells of one element, "td" or "th". `cells`: plain text.
std::string HtmlRow(const std::vector<std::string>& cells,
                    const char* element = "td");
// A table that scrolls by itself where it is wider than the screen.
std::string HtmlTable(const std::vector<std::string>& head,
                      const std::vector<std::vector<std::string>>& rows,
                      const char* kind = "");
// Names and what they are, a pair a line; those without a value are left out.
// Plain text.
std::string HtmlFacts(
    const std::vector<std::pair<std::string, std::string>>& facts);
// What stands in a terminal: kept as it is, wrapped.
std::string HtmlTerminal(const std::string& text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_MARKUP_HTML_H_
