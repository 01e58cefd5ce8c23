// One call in the memory that judge and host share: inputs copied, outputs
// between red zones, and afterwards what was written where.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLACED_CALL_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLACED_CALL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/process/shared_memory.h"
#include "verify/candidate/wire/messages.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// Bits that elements of an output hold before the call, by its name.
using PoisonOf = std::map<std::string, uint32_t>;
// Those that they hold now, as the first element of each has them.
PoisonOf ReadPoison(const std::vector<NamedOutput>& outputs);

struct Placement {
  int64_t first_page = 1;  // of both memories
  int64_t shift = 0;       // elements behind a boundary of 64 bytes
  int64_t alignment = 0;   // that the host asks for, in bytes
  bool at_end = false;     // outputs end with their last page
};

class PlacedCall {
 public:
  // Of outputs and inputs as they are in `call`, which has to live on.
  // Errors: they need more than the memories have.
  static Result<PlacedCall> Place(const KernelCall& call,
                                  const Placement& placement,
                                  const PoisonOf& poison,
                                  const SharedMemory& in,
                                  const SharedMemory& out);

  const std::vector<PlacedTensor>& inputs() const { return inputs_; }
  const std::vector<PlacedTensor>& outputs() const { return outputs_; }

  // What was written between the outputs, pages included that the host keeps
  // from its kernel: "4 bytes behind o" is the fourth one there, or nothing.
  std::string Outside() const;
  // The elements into the outputs of the call.
  void CopyBack() const;
  // Where the host may have written, gaps of sparse outputs left out: offsets
  // into `out`.
  const std::vector<ByteRange>& written() const { return existing_; }

 private:
  PlacedCall(const KernelCall& call, const SharedMemory& in,
             const SharedMemory& out)
      : call_(&call), in_(&in), out_(&out) {}

  Status PlaceInputs(const Placement& placement);
  Status PlaceOutputs(const Placement& placement, const PoisonOf& poison);
  // Whether places without an element were left alone; `first`: the first one
  // that was not.
  bool Untouched(int64_t from, int64_t to, int64_t* first) const;
  bool GapsUntouched(size_t n, int64_t* first) const;

  const KernelCall* call_;
  const SharedMemory* in_;
  const SharedMemory* out_;
  std::vector<PlacedTensor> inputs_;
  std::vector<PlacedTensor> outputs_;
  int64_t begin_ = 0;  // of all outputs and zones
  int64_t end_ = 0;
  std::vector<ByteRange> existing_;  // of them, without large gaps
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLACED_CALL_H_
