// Outputs of a trial for ragged batches (layout=varlen), in memory of their own
// for one call, or one file.
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
  // Holds no output.
  TokenOutputs() = default;
  // Replaces those of `outputs` that TrialWants::RowsEndToEnd names. The new
  // memory begins with the bits that they hold. Errors: memory.
  static Result<TokenOutputs> Make(const Trial& trial,
                                   std::vector<NamedOutput>* outputs);

  // The output of that name, [1, h, tokens, c].  Requires: there is one.
  const LaneTensor& Find(const std::string& name) const;
  // The text of an error for the first write of a call behind the last row,
  // where no kernel may write; empty if there is none.
  std::string Behind() const;
  // Copies the outputs row by row to the trial's.
  void Return() const;

 private:
  struct Packed {
    TokenRows rows;
    LaneTensor memory;
    NamedOutput own;     // the trial's
    NamedOutput tokens;  // of `memory`
    uint32_t bits = 0;   // the first content of `memory`
  };
  std::vector<Packed> packed_;
};

// The outputs in the form of files: dense, [tokens, heads, channels], or
// [heads, tokens]. Without a ragged batch they are the trial's own outputs.
class FileOutputs {
 public:
  // Refers to the trial and to `own`, which Trial::Allocate made.
  // Errors: memory.
  static Result<FileOutputs> Make(const Trial& trial, const OutputSet& own);
  // The shapes and names in files.
  static std::vector<OutputSpec> Specs(const Trial& trial);

  const std::vector<OutputSpec>& specs() const { return specs_; }
  const OutputSet& set() const {
    return dense_.tensors.empty() ? *own_ : dense_;
  }
  // Copies what a file had to the trial's outputs.
  void Read() const { Move(true); }
  // Copies the trial's outputs to what a file will have.
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
