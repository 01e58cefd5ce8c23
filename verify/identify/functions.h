// Errors of a kernel's function, by points: whether they are those of a
// function, and which legal value covers them.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_FUNCTIONS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_FUNCTIONS_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/identify/asker.h"

namespace lockstep::verify {

struct ErrorPoint {
  double x = 0;      // the argument
  double error = 0;  // relative
  double noise = 0;  // that reading it may add
};

struct FunctionFit {
  // 0: no legal value covers the errors.
  double value = 0;
  double largest = 0;  // relative error that was seen
  std::string why;     // of 0: one line
};

// The least of `legal`, which ascend, that covers the errors. An error comes
// from a function if it is centred and does not grow with the argument. The
// first of `legal` needs neither, because it is the strict value.
FunctionFit FitErrors(const std::vector<ErrorPoint>& points,
                      std::span<const double> legal);

// Whether the answers to two questions are the same, point by point, but for
// their noise: an error that depends on the place is no function's.
bool SameAnswers(const std::vector<ErrorPoint>& points,
                 const std::vector<ErrorPoint>& again);

// Reports a function whose argument, times one of the factors, is first rounded
// to 16 bits. Its errors come and go with those of the argument, and a hardware
// function's errors do not. Returns whether the function is of this kind.
bool ReportRoundedArgument(Asker* kernel, const char* field,
                           const std::vector<ErrorPoint>& points,
                           double (*function)(double),
                           std::span<const double> factors);

// FitErrors of a field whose error is learned only if the same answers come
// again in another order of the queries; none, and said, if it cannot be told.
// `answer`: "score".
std::optional<FunctionFit> LearnError(Asker* kernel, const char* field,
                                      const char* answer,
                                      const std::vector<ErrorPoint>& points,
                                      std::span<const double> legal,
                                      const std::function<bool()>& comes_again);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_FUNCTIONS_H_
