// V in k, as in attention with a latent that heads share.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

struct SharedChannels {
  int64_t d, dv;
};

// The most multiply-adds of a case whose channels are drawn anew.
constexpr int64_t kMostLatentWork = 1 << 20;

}  // namespace

void DropValueTerms(AttentionForwardCase* a) {
  std::erase_if(a->fill,
                [](const FillTerm& term) { return term.tensors == kFillV; });
  if (a->fill.empty()) a->fill = AttentionForwardCase().fill;
}

std::vector<Case> WithAlias(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(20)) return sequence;
  const auto wide = draw->Of<SharedChannels>({{40, 32},
                                              {72, 64},
                                              {80, 72},
                                              {96, 80},
                                              {112, 96},
                                              {128, 112},
                                              {192, 128},
                                              {256, 192},
                                              {256, 256},
                                              {576, 512}});
  const bool drawn = draw->OneIn(2);
  const bool one_head = !draw->OneIn(4);
  const int64_t share = draw->In(0, 7);
  std::vector<Case> aliased = sequence;
  for (Case& c : aliased) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    DropValueTerms(&a);
    a.strides.v = std::nullopt;
    if (one_head) a.kv_heads = 1;
    const int64_t d = a.head_dim;
    // Without drawn channels the case keeps its own, and v has some of them.
    SharedChannels channels = {d, std::max<int64_t>(1, d - d * share / 8)};
    if (drawn) channels = wide;
    SetChannels(channels.d, channels.dv, &a);
    a.v_in_k = channels.dv;
    if (drawn) {
      a.strides = {};  // they belong to other channels
      while (WorkOf(a) > kMostLatentWork && a.q_len > 1) {
        SetLength(true, (a.q_len + 1) / 2, &a);
      }
    }
    a.strides.o = std::nullopt;
    std::optional<Case> legal = NormalForm(c);
    if (!legal) return sequence;
    c = *legal;
  }
  return aliased;
}

}  // namespace lockstep::verify
