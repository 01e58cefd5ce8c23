#include "verify/inputs/attention_forward_clone.h"

#include <cstdint>
#include <utility>

#include "verify/base/tensor.h"

namespace lockstep::verify {
namespace {

// Copies one by one; the first error stays.
class Cloner {
 public:
  const Status& status() const { return status_; }

  void Take(const LaneTensor& from, LaneTensor* to) {
    Take(from.buffer, &to->buffer);
    to->view = from.view;
    to->view.data = to->buffer.data();
  }

  void Take(const GuardedBuffer& from, GuardedBuffer* to) {
    if (!status_.ok() || from.data() == nullptr) return;
    auto buffer = from.Copy();
    if (!buffer.ok()) {
      status_ = buffer.status();
      return;
    }
    *to = std::move(buffer.value());
  }

 private:
  Status status_;
};

}  // namespace

Result<AttentionForwardData> Clone(const AttentionForwardData& data) {
  AttentionForwardData copy;
  copy.problem = data.problem;
  copy.inputs = data.inputs;
  copy.lists = data.lists;
  copy.pages = data.pages;
  copy.varlen = data.varlen;
  Cloner cloner;
  cloner.Take(data.q, &copy.q);
  cloner.Take(data.k, &copy.k);
  if (!data.problem.v_in_k) cloner.Take(data.v, &copy.v);
  cloner.Take(data.q_seg, &copy.q_seg);
  cloner.Take(data.kv_seg, &copy.kv_seg);
  cloner.Take(data.sink, &copy.sink);
  cloner.Take(data.k_scale, &copy.k_scale);
  cloner.Take(data.v_scale, &copy.v_scale);
  cloner.Take(data.q_scale, &copy.q_scale);
  copy.dense_masks.resize(data.dense_masks.size());
  for (size_t i = 0; i < data.dense_masks.size(); ++i) {
    cloner.Take(data.dense_masks[i], &copy.dense_masks[i]);
  }
  if (!cloner.status().ok()) return cloner.status();
  AttentionForwardInputs& in = copy.inputs;
  in.q = copy.q.const_view();
  in.k = copy.k.const_view();
  if (data.problem.v_in_k) {
    PutValuesInKeys(&copy);
  } else {
    in.v = copy.v.const_view();
  }
  in.q_seg.data = reinterpret_cast<const int32_t*>(copy.q_seg.data());
  in.kv_seg.data = reinterpret_cast<const int32_t*>(copy.kv_seg.data());
  in.sink.data = reinterpret_cast<const float*>(copy.sink.data());
  in.k_scale.data = reinterpret_cast<const float*>(copy.k_scale.data());
  in.v_scale.data = reinterpret_cast<const float*>(copy.v_scale.data());
  in.q_scale.data = reinterpret_cast<const float*>(copy.q_scale.data());
  for (size_t i = 0; i < copy.dense_masks.size(); ++i) {
    in.dense_masks[i].data = copy.dense_masks[i].data();
  }
  return copy;
}

}  // namespace lockstep::verify
