// The lines of check: a plain word, and what it says, as soon as it is known.
#ifndef LOCKSTEP_FUZZ_CHECK_SCREEN_H_
#define LOCKSTEP_FUZZ_CHECK_SCREEN_H_

#include <ostream>
#include <string>
#include <vector>

#include "verify/judge/verdict.h"
#include "verify/report/report.h"

namespace lockstep::fuzz::check {

class Screen {
 public:
  explicit Screen(std::ostream* out) : out_(*out) {}

  // Keeps lines back until Release(): a verdict stands before them.
  void Hold() { held_ = true; }
  void Release();
  // "right     6 of 6 shapes"; an empty label goes on with the line before.
  void Say(const std::string& label, const std::string& text);
  // Prints the line at once, before what is kept back.
  void SayFirst(const std::string& label, const std::string& text);
  // A line without a label.
  void SayLast(const std::string& text);

 private:
  void Print(const std::string& line);

  std::ostream& out_;
  bool held_ = false;
  std::vector<std::string> lines_;
};

// "1 032 of 76 800 outputs, first o[b=0 h=0 i=141 c=0] = 0.2422: right is
// -0.0408, allowed -0.0454 .. -0.0361"; otherwise the finding's own message.
std::string WrongText(const verify::CaseResult& result);

// The known bug or the number that explains a wrong answer; empty: none does.
std::string CauseText(const verify::CaseResult& result);

// A sentence where no cause is known: how the kernel broke, or that its numbers
// are wrong.
std::string OtherwiseText(const verify::CaseResult& result,
                          const std::string& kernel);

// "heads", "heads and rows", "heads, keys and rows".
std::string Listed(const std::vector<std::string>& words);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_SCREEN_H_
