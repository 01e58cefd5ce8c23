// Laws of keys in pages, of ragged batches, of v in k, and of index lists.
#include <memory>
#include <utility>

#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/laws.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {

Result<Law> AttentionLaws::Encoding() const {
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  data.pages.reset();
  data.varlen.reset();
  data.lists.reset();  // their mask stays
  if (data.problem.v_in_k) RETURN_IF_ERROR(TakeValuesOut(&data));
  Case together = case_;
  auto& attention = together.Get<AttentionForwardCase>();
  attention.page = {};
  attention.v_in_k = 0;
  if (data_.varlen) attention.layout = Layout::kBhsd;
  // A dense mask; the line cannot say of which keys.
  if (data_.lists) attention.dense[data_.lists->dense] = DenseSource();
  attention.strides.k = attention.strides.v = std::nullopt;
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
