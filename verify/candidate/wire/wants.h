// What hosts want made of the inputs, and layouts that they ask for.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_WANTS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_WANTS_H_

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/candidate/wire/messages.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/op.h"
#include "verify/ops/varlen/token_outputs.h"

namespace lockstep::verify {

// A call as a host wants it. Its outputs may lie in `storage`; they come back
// to those of the trial by Return().
class WantedCall {
 public:
  // Errors: what cannot be had, one line. `call` is taken over.
  // `wide`: outputs of 16 bits are f32 to the host, and rounded when they
  // return.
  static Result<WantedCall> Make(const Trial& trial, const HostHello& hello,
                                 bool wide, KernelCall call);

  const KernelCall& call() const { return call_; }
  // Writes the outputs to the trial's memory; outputs that the kernel lacks are
  // NaN. Returns the text of an error for a write to memory that is not to be
  // written; empty if there was none.
  std::string Return() const;

 private:
  // One output twice: as the trial has it, and as the host writes it, both
  // with the trial's axes.
  struct Moved {
    NamedOutput trial;
    NamedOutput host;
  };

  Status Apply(const Trial& trial, const std::string& want);
  Status Lay(const std::string& layout);
  void MakeDense();
  Status Widen();
  void DropLacking(const std::vector<std::string>& lacks);

  KernelCall call_;
  std::list<std::vector<uint8_t>> storage_;
  std::vector<GuardedBuffer> wide_;
  std::vector<Moved> moved_;
  std::vector<NamedOutput> lacking_;
  TokenOutputs tokens_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_WANTS_H_
