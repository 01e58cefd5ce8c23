// Outputs of a trial whose rows lie end to end (layout=varlen), in memory of
// their own for one call, or one file.
#ifndef LOCKSTEP_VERIFY_OPS_VARLEN_TOKEN_OUTPUTS_H_
#define LOCKSTEP_VERIFY_OPS_VARLEN_TOKEN_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/named_tensor.h"
#include "verify/inputs/varlen/token_rows.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

class TokenOutputs {
 public:
  // None yet.
  TokenOutputs() = default;
  // Takes the place of those of `outputs` that Trial::RowsEndToEnd names, and
  // begins with the bits that they hold. Errors: memory.
  static Result<TokenOutputs> Make(const Trial& trial,
                                   std::vector<NamedOutput>* outputs);

  // That of the name, [1, h, tokens, c].  Requires: it is one of them.
  const LaneTensor& Find(const std::string& name) const;
  // What a call wrote behind the last row of one, where nobody may write, as an
  // error says it; empty: nothing.
  std::string Behind() const;
  // Row by row to where the trial has them.
  void Return() const;

 private:
  struct Packed {
    TokenRows rows;
    LaneTensor memory;
    NamedOutput own;     // the trial's
    NamedOutput tokens;  // of `memory`
    uint32_t bits = 0;   // that it began with
  };
  std::vector<Packed> packed_;
};

// The same as files have them: dense, [tokens, heads, channels], or [heads,
// tokens]. Of a trial without such rows they are its own outputs.
class FileOutputs {
 public:
  // Refers to the trial and to `own`, which Trial::Allocate made.
  // Errors: memory.
  static Result<FileOutputs> Make(const Trial& trial, const OutputSet& own);
  // Shapes and names as files have them.
  static std::vector<OutputSpec> Specs(const Trial& trial);

  const std::vector<OutputSpec>& specs() const { return specs_; }
  const OutputSet& set() const {
    return dense_.tensors.empty() ? *own_ : dense_;
  }
  // What a file had -> the trial's.
  void Read() const { Move(true); }
  // The trial's -> what a file shall have.
  void Write() const { Move(false); }

 private:
  void Move(bool read) const;

  const Trial* trial_ = nullptr;
  const OutputSet* own_ = nullptr;
  std::vector<OutputSpec> specs_;
  OutputSet dense_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_VARLEN_TOKEN_OUTPUTS_H_
