// Questions near a case's own. A kernel that answers one of them rightly has a
// number or a term of the case wrong: no bug of the catalogue, but a cause.
#ifndef LOCKSTEP_VERIFY_CAUSES_QUESTIONS_H_
#define LOCKSTEP_VERIFY_CAUSES_QUESTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/causes/explanation.h"
#include "verify/causes/fit.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct Question {
  std::string name;       // "scale"
  bool measured = false;  // a number to be found; otherwise `factor` is 1
  std::function<void(double factor, Case* c)> ask;  // null with `make`
  std::function<std::string(double factor)> say;
  // Makes a trial whose inputs are others, where no key of a case says so.
  std::function<Result<std::unique_ptr<Trial>>(const Trial& own, double factor)>
      make = nullptr;
};
// Each lists the questions of a case of its ops, and none for other cases.
//   Requires: ValidateCase passes.
std::vector<Question> AttentionQuestions(const Case& c);
std::vector<Question> ScanQuestions(const Case& c);

// ", as exp2 without log2(e) makes them" where the factor is one of the bases.
std::string BaseText(double factor);

// How many rows emulated kernels and the envelope look at.
struct AskedRows {
  LookedAt fitted;  // empty: all
  LookedAt judged;  // empty: all
};

struct AskedOtherwise {
  const Case& call;
  const Trial& trial;
  const OutputSet& produced;
  const NumericProfile* profile;  // null: the exact contract
  AskedRows rows;
};

// The questions that the produced answer is right for, best first: a number is
// fitted by emulated kernels, and the answer then has to lie within what the
// profile allows there. `work`: multiply-adds that it may take, and what is
// left of them.
std::vector<Explanation> FindQuestions(const AskedOtherwise& from,
                                       double* work);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_QUESTIONS_H_
