// Properties of a trial's problem, and the work that it asks for.
#ifndef LOCKSTEP_VERIFY_OPS_FACTS_H_
#define LOCKSTEP_VERIFY_OPS_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::verify {

// A property of the problem for receipts.
struct Fact {
  std::string name;
  std::string value;
  bool number = false;
};

// The lane that the products of a problem take: which instructions of a
// machine are a limit for it.
enum class WorkLane : uint8_t {
  kF32,
  kBf16,        // pairs, in one chain (N3, N5)
  kBf16Blocks,  // order=amx (N20)
};

// The work of a problem, which benchmarks count, whatever the algorithm does
// for it. Invisible pairs are no work.
struct Work {
  double flop = 0;   // a multiply-add is two
  double units = 0;  // what is counted: visible pairs, tokens of all heads
  const char* unit = "";
  WorkLane lane = WorkLane::kF32;
};

// What receipts and benchmarks say of a trial's problem.
class TrialFacts {
 public:
  virtual ~TrialFacts() = default;

  virtual std::vector<Fact> Facts() const { return {}; }
  // None: no work is counted for the op, and its rows have times only.
  virtual std::optional<Work> CountWork() const { return std::nullopt; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_FACTS_H_
