// Whether the inputs that a candidate received would have shown a fault of
// every kind that its problem can have. Single faults are planted into the
// right answer (Trial::Faults). The case's own sets, its bits, or a probe that
// the candidate really answered has to reject each of them.
#ifndef LOCKSTEP_VERIFY_JUDGE_EVIDENCE_EVIDENCE_H_
#define LOCKSTEP_VERIFY_JUDGE_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/faults.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Work of all planted faults of a case, in multiply-adds of the reference,
// which does about 2e8 a second. Beyond it a kind of fault counts as not tried.
// The first kind, "key", is looked at whatever it costs. Of answers from files
// every kind decides, which is worth 20 s. A quarter is for the case's own
// inputs, which at great lengths show little.
inline constexpr int64_t kEvidenceWork = int64_t{1} << 29;
inline constexpr int64_t kEvidenceWorkOfFiles = int64_t{1} << 32;
// Rows of a fault that one set of inputs is asked about.
inline constexpr size_t kFaultRows = 4;

// What judges a row's bits: the rows it judges, ascending, and whether it
// rejects what row (*rows)[n] holds. Null: it judges every row, n is its
// number.
struct RowJudge {
  const std::vector<int64_t>* rows = nullptr;
  std::function<bool(size_t n, const RowBits& bits)> rejects;
  // What is not rejected is the right answer itself.
  bool by_bits = false;
};
// By a set of allowed results, and by the reference's bits. The rows are those
// of the truth; where the others were held against the optimized path, they are
// all rows.
RowJudge BySets(const AllowedResults& allowed);
RowJudge ByBits(const Trial& trial, const Truth& truth, bool every_row);

class EvidenceBook {
 public:
  // `salt`: of the case; its probes plant at the same places.
  EvidenceBook(const Trial& own, uint64_t salt, int64_t work = kEvidenceWork);

  // Asks the judge of the case itself about every fault. Where bits are judged,
  // a fault that changes none of them is no fault of an answer to this case,
  // and is struck out. Examples are a key that weighs nothing and a channel of
  // zeros.
  void LookAtOwn(const Trial& own, const RowJudge& judge,
                 const std::string& line);
  // Asks the judge of a probe about the faults not yet shown. A fault of the
  // case is shown by the one of the same words; where the probe has none, by
  // all of its kind together. Returns whether it rejects any.
  bool LookAtProbe(const Trial& probe, const RowJudge& judge,
                   const std::string& line);

  // One entry per fault of the case, kinds together, "key" first.
  std::vector<Evidence> Take() { return std::move(book_); }

 private:
  enum class Answer : uint8_t { kRejects, kAllows, kJudgesNoRow, kTooDear };
  // Of one fault; `reserve`: work to be left.
  Answer Ask(const PlantedFault& fault, const Trial& trial,
             const RowJudge& judge, int64_t reserve);

  uint64_t salt_;
  int64_t left_;
  int64_t for_probes_;
  std::vector<Evidence> book_;
};

// Whether the set rejects any answer that knows nothing (Trial::Nulls).
bool RejectsANull(const Trial& trial, const AllowedResults& allowed);

// Kinds of which some fault is not shown, in order; `looked_at`: those that
// were looked at, or those that were not.
std::vector<std::string> UnshownKinds(const CaseResult& result, bool looked_at);

// Forgets faults of outputs that the profile does not claim to have: those
// whose kind is the name of an output that was not judged.
void DropUnclaimed(CaseResult* result);

// A finding of the power tier where a fault that would not show makes the case
// untrusted. For answers from elsewhere that is any kind, for candidates that
// run it is "key". A case that is itself a probe is untrusted only if it shows
// nothing at all.
struct EvidenceRule {
  bool repeatable = true;
  bool own_probe = false;
};
void FindUnshown(const EvidenceRule& rule, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_EVIDENCE_EVIDENCE_H_
