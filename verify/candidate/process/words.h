// A command in one text, split by our own quoting; no shell sees it.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_WORDS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Words between separators. '...' keeps everything, "..." everything but \,
// which keeps the next character there and outside of quotes. Errors: a quote
// without its end, a \ at the end, control characters, no word at all.
Result<std::vector<std::string>> SplitWords(std::string_view text,
                                            char separator = ' ');

// One text that SplitWords takes apart into these words, quoted where needed.
std::string JoinWords(const std::vector<std::string>& words,
                      char separator = ' ');

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_WORDS_H_
