// Laws of keys in pages, of ragged batches, of v in k, of index lists, and of
// fp8.
#include <memory>
#include <utility>

#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward/plain_numbers.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/laws.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {

bool AttentionLaws::HasPlainForm() const {
  return data_.problem.kv_lane && HasPlainNumbers(data_, MostSpread());
}

Result<Law> AttentionLaws::Encoding() const {
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  data.pages.reset();
  data.varlen.reset();
  data.lists.reset();  // their mask stays
  if (data.problem.v_in_k) RETURN_IF_ERROR(TakeValuesOut(&data));
  const bool plain = HasPlainForm();
  if (plain) RETURN_IF_ERROR(TakePlainNumbers(&data));
  Case together = case_;
  auto& attention = together.Get<AttentionForwardCase>();
  attention.page = {};
  attention.v_in_k = 0;
  if (data_.varlen) attention.layout = Layout::kBhsd;
  // A dense mask; the line cannot say of which keys.
  if (data_.lists) attention.dense[data_.lists->dense] = DenseSource();
  attention.strides.k = attention.strides.v = std::nullopt;
  if (plain) {
    attention.kv_lane = attention.q_lane = std::nullopt;
    attention.q_scale = attention.k_scale = attention.v_scale = {};
    attention.strides.q = std::nullopt;
  }
  Law law;
  law.name = "encoding";
  law.may_be_refused = true;
  const std::vector<LinePair> kept = ThatAreThere(AllLines());
  law.calls.push_back(
      {std::make_unique<AttentionForwardTrial>(together, std::move(data)),
       {kept, kept},
       nullptr});
  return law;
}

Result<Law> AttentionLaws::Pages() const {
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  data.pages->seed = Mix(data.pages->seed ^ salt_);
  data.pages->large_entries = true;
  Law law = Of("pages", std::move(data), AllLines());
  law.structural = true;
  return law;
}

}  // namespace lockstep::verify
