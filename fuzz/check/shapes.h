// The case lines that check asks, within what a kernel computes and takes.
#ifndef LOCKSTEP_FUZZ_CHECK_SHAPES_H_
#define LOCKSTEP_FUZZ_CHECK_SHAPES_H_

#include <string>
#include <vector>

#include "fuzz/check/look.h"
#include "reference/contract/status.h"

namespace lockstep::fuzz::check {

// Lines that tell one reading from another: past every window, with more keys
// than queries and the other way round. `lane`: "f32". Errors: no legal line
// meets the kernel's condition; one line.
Result<std::vector<std::string>> ReadingLines(const Looked& looked,
                                              const std::string& lane);

// The smallest shape, a ragged one, grouped heads, one query, three tiles and
// one, a head of a real model; without those that the kernel does not take.
Result<std::vector<std::string>> ShapeLines(const Looked& looked,
                                            const std::string& lane);

// One of the size of a model's call, which is timed.
Result<std::vector<std::string>> TimedLines(const Looked& looked,
                                            const std::string& lane);

// Three of attention_backward, in f32.
Result<std::vector<std::string>> GradientLines(const Looked& looked);

// One small line, with heads and batch rows, of which claims are tried.
Result<std::vector<std::string>> ClaimLines(const Looked& looked,
                                            const std::string& lane);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_SHAPES_H_
