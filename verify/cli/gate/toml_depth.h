// How deep the keys of a TOML text go, before the parser of tables reads it.
#ifndef LOCKSTEP_VERIFY_CLI_GATE_TOML_DEPTH_H_
#define LOCKSTEP_VERIFY_CLI_GATE_TOML_DEPTH_H_

#include <string_view>

namespace lockstep::verify::cli {

// No key of lockstep.toml has more than one part. toml++ makes a table of each
// part and destroys tables by recursion, so a key of 100 000 parts overflows
// the stack. toml++ itself counts values that nest.
inline constexpr int kMostKeyParts = 8;

// The line (from 1) of the first key with more than kMostKeyParts parts, or 0.
// Strings and comments are skipped; a text that is no TOML gets any answer that
// is right up to its first error, where toml++ stops.
int LineOfDeepKey(std::string_view text);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_GATE_TOML_DEPTH_H_
