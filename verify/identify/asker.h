// What the probes of all ops have in common: they call a kernel, and say what
// its answers show.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ASKER_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ASKER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/evidence.h"
#include "verify/identify/identify.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

class Asker {
 public:
  // Starts from a built-in profile.
  Asker(Candidate& candidate, Lane lane, const std::string& base);
  virtual ~Asker() = default;

  Lane lane() const { return lane_; }
  int64_t calls() const { return calls_; }

  NumericProfile profile;  // as far as it is known
  Identified found;

  void Say(const std::string& field, Word word, const std::string& evidence,
           const std::string& line = "");
  // Whether there is an answer. Without one the field's value is assumed, and
  // the evidence says why.
  template <typename T>
  bool Answered(const std::string& field, const Result<T>& answer) {
    if (!answer.ok()) Say(field, Word::kAssumed, answer.message());
    return answer.ok();
  }
  void Warn(const std::string& what) { found.warnings.push_back(what); }
  // What was found, with the profile.
  Identified Take();

 protected:
  Candidate& candidate() const { return candidate_; }
  // One call. Errors: why there is no answer, one line.
  Result<OutputSet> Call(const Case& c, const Trial& trial,
                         const NumericProfile& claims);

 private:
  Candidate& candidate_;
  Lane lane_;
  int64_t calls_ = 0;
};

// Whether the kernel itself says that it has no such output.
bool SaysNone(const Candidate& candidate, const std::string& output);

// All probes of a table, in its order. Errors: an interrupt.
template <typename Kernel, typename Table>
Status AskEach(const Table& probes, const std::atomic<bool>* stop,
               Kernel* kernel) {
  for (const auto& probe : probes) {
    if (stop != nullptr && *stop) return Status::Error("interrupted");
    probe.ask(kernel);
  }
  return {};
}

// What a round says, and again with inputs that are so much longer: a field
// that is seen otherwise there cannot be told. `round`: elements by which its
// inputs are longer.
Result<Identified> AskTwice(
    const IdentifyRequest& request,
    const std::function<Result<Identified>(int64_t)>& round);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ASKER_H_
