// Text of strangers (file names, messages, lines of other people's files) as a
// terminal may show it.
#ifndef LOCKSTEP_VERIFY_BASE_PRINTABLE_H_
#define LOCKSTEP_VERIFY_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::verify {

// Length of the valid UTF-8 sequence at `at` that XML 1.0 allows; 0 if none.
size_t TextLength(std::string_view text, size_t at);

// One line that moves no cursor and sets no colour. Control characters, bytes
// that are no UTF-8 and marks that turn the direction of writing become \xNN,
// byte by byte. Newlines too: one message stays one line.
std::string Printable(std::string_view text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_PRINTABLE_H_
