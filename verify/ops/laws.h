// Laws: calls whose answers agree with a trial's own, whatever the truth.
#ifndef LOCKSTEP_VERIFY_OPS_LAWS_H_
#define LOCKSTEP_VERIFY_OPS_LAWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/ops/op.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

struct Shards;       // verify/ops/shards.h
struct ShardsAsked;  // verify/ops/shards.h

// Multiply-adds of a case above which its laws are not tried: each has inputs
// of its own.
inline constexpr int64_t kLawWork = int64_t{1} << 28;

// A line of an output of one call, and of the case's own call.
struct LinePair {
  int64_t here = 0;
  int64_t own = 0;
};

// An input that is an output of another call.
struct TakenInput {
  std::string input;
  std::string output;
};

// One call of a law.
struct LawCall {
  std::unique_ptr<Trial> trial;
  // Per output: the lines that agree.
  std::vector<std::vector<LinePair>> kept;
  // Takes what the call before has left into the inputs; null: nothing.
  std::function<void(const OutputSet& before)> take;
  // What that is, by name.
  std::vector<TakenInput> taken{};
};

// `kept` of a call on the same inputs: all lines.
std::vector<std::vector<LinePair>> AllLines(const Trial& trial);

// Calls, one after the other, whose answers agree in part with the case's own,
// whatever the truth.
struct Law {
  std::string name;  // "causality", "split", ...
  // No candidate may break it by a bit. Otherwise those that claim exact bits
  // may not; the others have each call within its own envelope.
  bool structural = false;
  // Per output: elements are the case's times 2^exponent, where both are
  // normal or zero. None: they are equal.
  std::vector<int> exponents;
  // Per output: +0 and -0 are one. None: of no output.
  std::vector<bool> zeros_alike;
  // What it asks in another form that a kernel need not take. An exception in
  // that form is a refusal, too.
  bool may_be_refused = false;
  std::vector<LawCall> calls;  // none: it does not hold for these inputs
};

// The laws of a trial.
class TrialLaws {
 public:
  virtual ~TrialLaws() = default;

  // Names of the laws that have a meaning for this problem.
  virtual std::vector<std::string> LawNames() const { return {}; }
  // One of them; what it draws follows from `salt`. Errors: memory.
  virtual Result<Law> MakeLaw(const std::string& name, uint64_t salt) const {
    (void)salt;
    return Status::Error("there is no law '" + name + "'");
  }
  // The calls of the law `shard`: the trial cut along an axis. They refer to
  // it. Errors: memory, an op that is not cut so.
  virtual Result<Shards> MakeShards(const ShardsAsked& asked) const;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_LAWS_H_
