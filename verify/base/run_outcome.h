// What came of asking a kernel for outputs.
#ifndef LOCKSTEP_VERIFY_BASE_RUN_OUTCOME_H_
#define LOCKSTEP_VERIFY_BASE_RUN_OUTCOME_H_

#include <cstdint>
#include <string>

namespace lockstep::verify {

// What came of asking a candidate for outputs.
struct RunOutcome {
  enum class State : uint8_t {
    kRan,
    kUnsupported,  // on this machine: `message` says why
    kMismatch,     // output `tensor` has another shape or lane
    kError,        // the candidate broke: `message` says how
    kAbsent,       // of answers computed elsewhere: none to this call is there
  };
  State state = State::kRan;
  std::string message;
  std::string tensor;
  // Of kError: what broke, as findings name it; empty: "run".
  std::string check{};
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_RUN_OUTCOME_H_
