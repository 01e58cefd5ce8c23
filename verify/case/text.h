// Reading and writing the words of case lines: integers, reals, names, with
// the column of whatever is wrong.
#ifndef LOCKSTEP_VERIFY_CASE_TEXT_H_
#define LOCKSTEP_VERIFY_CASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/base/nearest_name.h"
#include "verify/base/text.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// A stretch [position, end) of a line, read from left to right. Errors name
// the 1-based column in the whole line.
class Scanner {
 public:
  Scanner(std::string_view line, size_t begin, size_t end)
      : line_(line), position_(begin), end_(end) {}

  bool AtEnd() const { return position_ == end_; }
  size_t position() const { return position_; }
  // The rest, without consuming it.
  std::string_view Rest() const {
    return line_.substr(position_, end_ - position_);
  }
  // The next character, or 0 at the end.
  char Peek() const { return AtEnd() ? '\0' : line_[position_]; }

  // Consume what is given, if it is next.
  bool Accept(char c);
  bool AcceptWord(std::string_view word);  // a whole word

  // The longest run of lower-case letters and digits; may be empty.
  std::string_view Word();
  // Everything before the first character of `stop`, or to the end.
  std::string_view Until(std::string_view stop);

  // Decimal, in the range of the type; never a silent overflow.
  Result<int64_t> Int();
  Result<uint64_t> Unsigned();
  Result<int64_t> Count();  // Int, not negative
  // Decimal or hexadecimal (0x1.8p+3), inf, -inf, nan.
  Result<Number> Real();

  // "column N: message", at the current or a given position.
  Status Error(const std::string& message) const;
  Status ErrorAt(size_t position, const std::string& message) const;

 private:
  std::string_view line_;
  size_t position_;
  size_t end_;
};

// Shortest text that Scanner::Real reads back to the same bits.
std::string FormatNumber(Number number);

// 32 lower-case hex digits, consumed.
Result<std::string> ScanDigest(Scanner& in);

// PATH or PATH#DIGEST; the path ends before a '#' or a character of `stop`.
// Error: there is none after `what`.
Status ScanPinned(Scanner& in, std::string_view what, std::string_view stop,
                  std::string* path, std::string* digest);
// Inverse of ScanPinned.
std::string FormatPinned(const std::string& path, const std::string& digest);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_TEXT_H_
