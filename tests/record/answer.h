// What the judge makes of one question of the record: a kernel and a case line.
#ifndef LOCKSTEP_TESTS_RECORD_ANSWER_H_
#define LOCKSTEP_TESTS_RECORD_ANSWER_H_

#include <string>
#include <string_view>

namespace lockstep::record {

// The columns of the answer, "name=value" with tabs between them, empty ones
// left out. They are the same on every CPU: nothing in them depends on a
// target, a number of threads or a time.
//   `kernel`: the spec of a candidate, and behind it " --profile NAME" or
//   " --claims", if need be; the latter asks for the claims of bits alone.
//   `line`: a case, or a call sequence; names in what follows are those that
//   any of its calls has, digests are those of all its calls.
//
//   exit      the exit code of the line alone
//   say       why it is refused, skipped or an error
//   verdict   of each call
//   found     TIER:CHECK of each finding
//   cause     known bugs that give the same answer, `?` where it is not proved
//   field     of the profile that the failure comes from
//   probes    that the kernel met, *N of that name; `-` without an answer
//   laws      that were looked at, `!` one that broke
//   nulls     trivial answers, `!` one that passed, `=` one that is the truth
//   faults    that were planted, `!` one that would pass, `?` not looked at
//   skips     checks that were not tried
//   canary    the wrong kernel in the candidate's place, `!` not caught
//   shards    elements that were compared, or why none
//   claims    of bits that were tried, `!` broken, `?` not run
//   in        digest of inputs
//   out       digest of outputs, and
//   judged    of all that sets of allowed values found: of our own kernels,
//             since libraries of others compute by what the CPU has
//   truth     digest of the reference's bits on the rows that are compared,
//             where these are not the outputs
//   lo, hi    digests of every bound of these rows
//   sets      digest of what every probe allows
std::string AnswerTo(std::string_view kernel, std::string_view line);

}  // namespace lockstep::record

#endif  // LOCKSTEP_TESTS_RECORD_ANSWER_H_
