// One kernel before the tiers that prove: its answers to a case, to the case's
// probes, and to the same case again. Knows trials and candidates, no op.
#ifndef LOCKSTEP_VERIFY_SELFTEST_TRIALIST_H_
#define LOCKSTEP_VERIFY_SELFTEST_TRIALIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {

// What a tier says about an answer.
struct Found {
  bool outside = false;   // it is proved wrong
  bool unlikely = false;  // allowed, and unlikely
  std::string what;       // " 3 of o": of which outputs how many elements
};

// An answer, with the trial that it answers.
struct Answer {
  std::unique_ptr<Trial> trial;
  OutputSet outputs;
};

class Trialist {
 public:
  explicit Trialist(Subject subject) : subject_(std::move(subject)) {}

  const NumericProfile& profile() const { return subject_.profile; }
  bool exact() const { return subject_.profile.exact; }

  // Errors, of all that run it: the case cannot be opened, or the kernel does
  // not answer. The kernel remembers earlier calls, if it is one that does.
  Result<Answer> Run(const Case& c);
  // An answer against the bits of the reference, on a sample of rows where
  // that is slow.
  Found Bits(const Answer& answer) const;
  // An answer against the envelope; nothing is found where the op has none.
  Found Envelope(const Answer& answer) const;
  // The inputs of every probe of the case, or of one: number `which` modulo
  // their count.
  Result<Found> Probes(const Case& c, std::optional<uint64_t> which);
  // Whether two more runs differ from the answer or from each other, or leave
  // an element as it was.
  Result<Found> Invariant(const Case& c, const Answer& answer);

  // Probes judged so far.
  int64_t probes() const { return probes_; }

 private:
  Status Fill(const Case& c, const Trial& trial, const OutputSet& outputs);

  Subject subject_;
  int64_t probes_ = 0;
};

// The case in the lane that the profile claims.
Case InLane(Case c, const NumericProfile& profile);
// The case made concrete for a kernel of the profile. Errors: no judge, memory,
// files.
Result<std::unique_ptr<Trial>> OpenTrial(const Case& c,
                                         const NumericProfile& profile);
std::vector<int64_t> AllRows(const Trial& trial);

// What an expectation says about an answer.
Found Judge(const AllowedResults& allowed, const OutputSet& outputs);

// The elements of an output as numbers, in the order of its lines.
std::vector<double> Numbers(const Answer& answer, size_t output);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_TRIALIST_H_
