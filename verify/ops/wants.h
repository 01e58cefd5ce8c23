// What a trial hands to hosts that read inputs in another form than the case's
// own (docs/wire.md, "What a host may want").
#ifndef LOCKSTEP_VERIFY_OPS_WANTS_H_
#define LOCKSTEP_VERIFY_OPS_WANTS_H_

#include <optional>
#include <string>
#include <vector>

#include "verify/inputs/named_tensor.h"
#include "verify/inputs/varlen/token_rows.h"

namespace lockstep::verify {

// The wants of hosts that read keys and values in pages, and ragged batches.
inline constexpr const char* kPagesWant = "pages";
inline constexpr const char* kVarlenWant = "varlen";
// The key of a case that needs the want, for the text "the case has ...".
inline std::string NeedOf(const std::string& want) {
  return want == kVarlenWant ? "layout=varlen" : want;
}
// The want of hosts that read keys and values in fp8, and their scales.
inline constexpr const char* kFp8KeysWant = "kvlane";
// And of q in fp8.
inline constexpr const char* kFp8QueriesWant = "qlane";
// The want of hosts that read lists of keys in place of their dense mask. A
// kernel without it gets the mask.
inline constexpr const char* kListsWant = "indices";

class TrialWants {
 public:
  virtual ~TrialWants() = default;

  // Adds what a host wants made of the inputs (docs/wire.md, "What a host may
  // want"). Returns why it cannot be; empty: it is done.
  virtual std::string AddWanted(const std::string& want,
                                KernelInputs* inputs) const {
    (void)inputs;
    return "'" + want + "' has no meaning for this op";
  }

  // The wants that a kernel needs for this case. A kernel that lacks one is not
  // asked.
  virtual std::vector<std::string> NeededWants() const { return {}; }

  // The layout of an output's rows for a kernel with these wants; none: that of
  // the trial.
  virtual std::optional<TokenRows> RowsEndToEnd(
      const std::string& output) const {
    (void)output;
    return std::nullopt;
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_WANTS_H_
