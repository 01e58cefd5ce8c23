// Document ids of a user's own: what the judge makes of them, before it does.
#ifndef LOCKSTEP_VERIFY_REPORT_IDS_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_REPORT_IDS_ATTENTION_FORWARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/base/io/safetensors.h"

namespace lockstep::verify {

// Ids of self-attention, one a token: [batch][tokens].
struct IdRows {
  std::vector<int32_t> ids;
  int64_t batch = 0;
  int64_t tokens = 0;
  std::optional<int32_t> pad;  // tokens with this id do not exist

  TensorView<const int32_t, 2> view() const {
    return {ids.data(), {batch, tokens}, {tokens, 1}};
  }
};

// The tensor q_seg of the file, or its only one: I32 or I64, [s] or [b, s].
// Errors: no such tensor, another type or shape, an id beyond 32 bits.
Result<IdRows> ReadIdRows(const SafetensorsFile& file,
                          std::optional<int32_t> pad);

// Errors: what no packer of whole documents makes (optimized::CheckPacked),
// with the tensors valid and num_docs [b] and loss_mask [b, s] where the file
// has them.
Status CheckPackedRows(const SafetensorsFile& file, const IdRows& ids);

// A line for each row's documents, ids that come back, padding, and a picture
// of the tokens that see each other.
std::string IdsText(const IdRows& ids);

// A file with q_seg and kv_seg [b, s] in which padding sees nothing and nothing
// sees it: its keys have an id that no query has.
Status WriteIds(const std::string& path, const IdRows& ids);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_IDS_ATTENTION_FORWARD_H_
