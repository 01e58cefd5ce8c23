// The man page, in the macros of man(7).
#include <algorithm>
#include <string>

#include "verify/cli/help/describe.h"

namespace lockstep::verify::cli {
namespace {

// Text that roff takes for nothing else: a backslash stays one, a hyphen can be
// searched and pasted, a line that begins with a dot or quote is no request.
std::string Plain(const std::string& text) {
  std::string plain;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) plain += "\\&";
    start = c == '\n';
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else if (c == '\'') {
      plain += "\\(aq";
    } else {
      plain += c;
    }
  }
  return plain;
}

// Lines as they are.
std::string Block(const std::string& text) {
  if (text.empty()) return "";
  return ".PP\n.nf\n" + Plain(text) + "\n.fi\n";
}

std::string Head(const OptionText& option) {
  if (!option.argument.empty()) {
    return "\\fI" + Plain(option.argument) + "\\fR";
  }
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + ("\\fB" + Plain(name) + "\\fR");
  }
  if (!option.type.empty()) head += " \\fI" + Plain(option.type) + "\\fR";
  return head;
}

// Help, and the words it does not name itself.
std::string Body(const OptionText& option) {
  const bool named = std::all_of(
      option.words.begin(), option.words.end(), [&](const std::string& word) {
        return option.help.find(word) != std::string::npos;
      });
  std::string body = Plain(option.help);
  if (!named) {
    body += " (";
    for (const std::string& word : option.words) {
      body += (&word == &option.words.front() ? "" : ", ") + Plain(word);
    }
    body += ")";
  }
  return body + (option.required ? "; required" : "");
}

std::string PageOf(const VerbText& verb) {
  std::string text = ".SS lockstep " + Plain(verb.name) + "\n" +
                     Plain(verb.description) + ".\n";
  for (const OptionText& option : verb.options) {
    text += ".TP\n" + Head(option) + "\n" + Body(option) + ".\n";
  }
  return text + Block(verb.footer);
}

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B NO_COLOR
If set and not empty, nothing is coloured unless \fB\-\-color\fR says so.
.TP
.BR OMP_NUM_THREADS ", " OMP_THREAD_LIMIT
Threads of kernels that name no number of their own. Without them: as many as
the cores that the process may use, by its affinity and its control group.
.TP
.BR KMP_BLOCKTIME ", " OMP_WAIT_POLICY ", " KMP_LIBRARY ", " GOMP_SPINCOUNT
How threads wait between two calls, those of a kernel in a process of its own,
too. Without them they sleep, except in
\fBlockstep bench\fR and \fBgate\fR.
.SH FILES
Case files hold a case line per line, with comments behind #. Inputs and outputs
travel as safetensors.
.SH SEE ALSO
The pages of docs/: cases.md, verdicts.md, verification.md, invariance.md,
fuzzing.md, plans.md.
)";

}  // namespace

std::string ManPage(const ProgramText& program, const std::string& version) {
  std::string text =
      ".\\\" Made from the parser by: lockstep man\n.TH LOCKSTEP 1 \"\" \"" +
      Plain(version) + "\" \"User Commands\"\n.SH NAME\nlockstep \\- " +
      Plain(program.description) +
      "\n.SH SYNOPSIS\n.B lockstep\n\\fIVERB\\fR [\\fIARGUMENT\\fR]...\n.br\n"
      ".B lockstep\n\\fIVERB\\fR \\fB\\-\\-help\\fR\n.br\n.B lockstep\n"
      "\\fB\\-\\-version\\fR\n.SH DESCRIPTION\n" +
      Plain(program.description) + "\n" + Block(program.footer) + ".SH VERBS\n";
  for (const VerbText& verb : program.verbs) text += PageOf(verb);
  return text + kEnvironment;
}

}  // namespace lockstep::verify::cli
