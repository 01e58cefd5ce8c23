// Kernels that a test writes itself, and the numbers that causes say of them.
#ifndef LOCKSTEP_TESTS_VERIFY_WRONG_KERNEL_H_
#define LOCKSTEP_TESTS_VERIFY_WRONG_KERNEL_H_

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"

namespace lockstep::verify {

// Answers every trial by a function.
class WrongKernel final : public Candidate {
 public:
  using Answer = std::function<void(const Trial&, const OutputSet&)>;
  explicit WrongKernel(Answer answer)
      : Candidate({.backend = "test"}), answer_(std::move(answer)) {}
  std::string Spec(const Variation&) const override { return "test"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution*) override {
    answer_(trial, outputs);
    return {};
  }

 private:
  const Answer answer_;
};

// Reads "0.4995" of "... (0.4995 times)" or of "0.4995 times as large"; 0:
// none.
inline double NumberIn(const std::string& text) {
  const size_t times = text.find(" times");
  if (times == std::string::npos) return 0;
  const size_t from = text.find_last_of(" (", times - 1) + 1;
  return std::strtod(text.c_str() + from, nullptr);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_WRONG_KERNEL_H_
