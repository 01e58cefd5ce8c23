// Lists of keys, as a case with mask=index: hands them to a kernel that wants
// them. The truth is computed from the dense mask that they make.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_LISTS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_LISTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/base/random/counter_generator.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// An entry that names no key. All entries behind it are such.
inline constexpr int32_t kNoKeyListed = -1;

// Lists [batch, kv head, query, entry] in row-major order. One list in four is
// shorter than `entries`, and one entry in eight repeats the entry before.
std::vector<int32_t> DrawLists(const CounterGenerator& generator,
                               const DenseSource& source,
                               const AttentionForwardProblem& problem);

// Writes the dense mask that the lists make.
//   Requires: `lists` are of the problem, with entries below kv_len; `mask` has
//   a batch row each, and one head or query heads, and holds zeros.
void MarkListed(const AttentionForwardProblem& problem, const KeyLists& lists,
                const TensorView<uint8_t, 4>& mask);

// Lists of keys in memory of their own.
struct ListTensor {
  std::array<int64_t, 4> shape = {};  // [batch, kv head, query, entry]
  std::vector<int32_t> keys;
  TensorView<const int32_t, 4> view() const {
    return {keys.data(), shape, DenseStrides(shape)};
  }
};

// The lists of the data's mask. A list that was drawn or read stands as it is.
// Where a law or a shard has changed the mask, the list has the mask's keys in
// their order. Only queries and keys that exist count.
//   Requires: data.lists.
ListTensor ListsOf(const AttentionForwardData& data);

// ListsOf, for a kernel that stops at the end of a list: behind the first -1 of
// a list stand keys of the problem, numbers beyond them and negative ones.
//   Requires: data.lists.
ListTensor EndedLists(const AttentionForwardData& data);

// Adds the tensor indices; nothing without lists.
void AddLists(const AttentionForwardData& data, KernelInputs* inputs);

// Takes the dense mask away, whose term is then one of lists: docs/wire.md.
// Nothing without lists.
void HandOverLists(const AttentionForwardData& data, KernelInputs* inputs);

// The want of hosts that read a list up to its first -1. Without `:ended` all
// entries behind that one are -1, too.
inline constexpr const char* kEndedListsWant = "indices:ended";

// The same with EndedLists in the tensor indices.
void HandOverEndedLists(const AttentionForwardData& data, KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_LISTS_H_
