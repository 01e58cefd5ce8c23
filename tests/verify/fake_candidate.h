// Candidates with planted defects: the reference, and then something wrong.
#ifndef LOCKSTEP_TESTS_VERIFY_FAKE_CANDIDATE_H_
#define LOCKSTEP_TESTS_VERIFY_FAKE_CANDIDATE_H_

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Changes outputs (or more) after the reference has computed them. `run` is
// the number of the run, from 0.
using Defect =
    std::function<RunOutcome(int64_t run, const Variation& how,
                             const OutputSet& outputs, Execution* execution)>;

class FakeCandidate final : public Candidate {
 public:
  explicit FakeCandidate(Defect defect)
      : Candidate({.backend = "optimized", .ours = true}),
        defect_(std::move(defect)) {}

  std::string Spec(const Variation& how) const override {
    return "builtin:optimized" + how.Suffix();
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override {
    std::vector<Variation> variations(3);
    variations[0].check = "threads";
    variations[0].threads = 2;
    variations[1].check = "tiles";
    variations[1].tile = {3, 48};
    variations[2].check = "targets";
    variations[2].target = "OTHER";
    return variations;
  }
  void Begin(const CaseRequest& request, const Trial&, const Variation&,
             const OutputSet&) override {
    asked.push_back("begin " + request.line);
  }
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override {
    asked.push_back("run " + request.line);
    if (!skip_computing) trial.kernels().RunReference(outputs, execution);
    execution->backend = "optimized";
    return defect_(runs++, how, outputs, execution);
  }

  bool& repeatable = mutable_traits().repeatable;
  bool& parts = mutable_traits().parts;
  bool& apart = mutable_traits().apart;
  bool skip_computing = false;
  int64_t runs = 0;
  std::vector<std::string> asked;  // "begin LINE", "run LINE", in order

 private:
  Defect defect_;
};

// Element n in memory order of an f32 output.
inline float& ElementOf(const OutputSet& outputs, size_t tensor, int64_t n) {
  return static_cast<float*>(outputs.tensors[tensor].view.data)[n];
}

inline void FlipBit(float* value) {
  *value = std::bit_cast<float>(std::bit_cast<uint32_t>(*value) ^ 1u);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_FAKE_CANDIDATE_H_
