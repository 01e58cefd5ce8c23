// Wrong answers to a trial: by them the judge measures its own evidence.
#ifndef LOCKSTEP_VERIFY_OPS_FAULTS_H_
#define LOCKSTEP_VERIFY_OPS_FAULTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

class Trial;  // verify/ops/op.h
struct Case;  // verify/case/case.h

// A trivial answer: a case that cannot tell it from the truth proves little.
struct NullCandidate {
  std::string name;
  std::function<void(int64_t row, RowBits*)> row;
};

// One fault of a kind, planted once into the right answer. Inputs on which an
// answer with this fault would pass are no evidence against faults of that
// kind.
struct PlantedFault {
  std::string kind;  // "key", "v_row", "channel", "kv_head", "lse", ...
  std::string what;  // one line: "row 7 does not see key 4095"
  // Rows of the truth that differ from the right answer, most telling first.
  std::vector<int64_t> rows;
  std::function<void(int64_t row, RowBits*)> row;
};

// Answers to a trial that are known to be wrong, and where wrong ones show.
class TrialFaults {
 public:
  virtual ~TrialFaults() = default;

  // Rows where faults gather, most telling first: the sample begins with them.
  virtual std::vector<int64_t> TellingRows() const { return {0}; }
  // Those that have a meaning for this problem. They keep references to the
  // trial.
  virtual std::vector<NullCandidate> Nulls() const { return {}; }
  // Single faults of every kind that this problem can have, at some places that
  // follow from `salt`. The kinds of a case and of its probes are the same.
  // They keep references to the trial.
  virtual std::vector<PlantedFault> PlantFaults(uint64_t salt) const {
    (void)salt;
    return {};
  }
  // The trial's own inputs under another case of the same shapes: what a kernel
  // answers that has a number or a term of this one wrong. Errors: memory; the
  // op knows none.
  virtual Result<std::unique_ptr<Trial>> AskedAs(const Case& other) const;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_FAULTS_H_
