// Words of messages.
#ifndef LOCKSTEP_VERIFY_BASE_TEXT_H_
#define LOCKSTEP_VERIFY_BASE_TEXT_H_

#include <span>
#include <string>
#include <string_view>

namespace lockstep::verify {

// "'a', 'b' or 'c'".
std::string ListNames(std::span<const std::string_view> names);

// Quotes for a POSIX shell; the second only where they are needed.
std::string ShellQuote(const std::string& word);
std::string ShellWord(const std::string& word);

// 'text', cut where it is long: messages stay on one line.
std::string Quote(std::string_view text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_TEXT_H_
