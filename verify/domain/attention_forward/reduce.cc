// Simpler cases of attention_forward: what shrinking tries.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// The batch rows in reverse order: what SetBatch then keeps are the last ones.
void ReverseBatch(AttentionForwardCase* a) {
  for (auto* counts : {&a->valid_q, &a->valid_kv}) {
    std::reverse(counts->begin(), counts->end());
  }
  for (Segments* side : {&a->q_seg, &a->kv_seg}) {
    std::reverse(side->rows.begin(), side->rows.end());
  }
  const std::function<void(MaskExpr*)> turn = [&](MaskExpr* mask) {
    std::reverse(mask->prefix.begin(), mask->prefix.end());
    for (MaskExpr& child : mask->children) turn(&child);
  };
  turn(&a->mask);
  for (auto& [head, mask] : a->head_mask) turn(&mask);
}

// One end of the axis is cut off: counts keep their distance to it.
void CutLength(bool q, int64_t length, AttentionForwardCase* a) {
  const int64_t cut = (q ? a->q_len : a->kv_len) - length;
  std::vector<int64_t> counts = q ? a->valid_q : a->valid_kv;
  SetLength(q, length, a);
  for (int64_t& count : counts) count = std::max<int64_t>(count - cut, 0);
  (q ? a->valid_q : a->valid_kv) = counts;
}

// Smaller numbers than n, boldest first.
MaskExpr Causal() {
  MaskExpr mask;
  mask.kind = MaskExpr::Kind::kCausal;
  return mask;
}

// Trees with one node less, a term made simpler, or a count made smaller.
std::vector<MaskExpr> SmallerMasks(const MaskExpr& mask) {
  using Kind = MaskExpr::Kind;
  std::vector<MaskExpr> smaller;
  if (mask.kind == Kind::kFull) return smaller;
  smaller.push_back({});
  const auto add = [&](auto&& change) {
    MaskExpr changed = mask;
    change(&changed);
    if (changed != mask) smaller.push_back(std::move(changed));
  };
  switch (mask.kind) {
    case Kind::kWindow:
      add([](MaskExpr* m) { *m = Causal(); });
      add([](MaskExpr* m) { m->left = kUnlimited; });
      add([](MaskExpr* m) { m->right = kUnlimited; });
      for (const int64_t x : Below(mask.left, 0)) {
        add([x](MaskExpr* m) { m->left = x; });
      }
      for (const int64_t x : Below(mask.right, 0)) {
        add([x](MaskExpr* m) { m->right = x; });
      }
      break;
    case Kind::kChunked:
      add([](MaskExpr* m) { *m = Causal(); });
      for (const int64_t x : Below(mask.chunk, 1)) {
        add([x](MaskExpr* m) { m->chunk = x; });
      }
      break;
    case Kind::kPrefix:
      add([](MaskExpr* m) { *m = Causal(); });
      add([](MaskExpr* m) { m->prefix.resize(1); });
      for (size_t b = 0; b < mask.prefix.size(); ++b) {
        for (const int64_t x : Below(mask.prefix[b], 0)) {
          add([b, x](MaskExpr* m) { m->prefix[b] = x; });
        }
      }
      break;
    case Kind::kSink:
      for (const int64_t x : Below(mask.tokens, 1)) {
        add([x](MaskExpr* m) { m->tokens = x; });
      }
      break;
    case Kind::kDense:
      add([](MaskExpr* m) { *m = Causal(); });
      break;
    default:
      break;
  }
  for (size_t n = 0; n < mask.children.size(); ++n) {
    smaller.push_back(mask.children[n]);
    if (mask.children.size() > 2) {
      add([n](MaskExpr* m) {
        m->children.erase(m->children.begin() + static_cast<int64_t>(n));
      });
    }
    for (MaskExpr& child : SmallerMasks(mask.children[n])) {
      add([&](MaskExpr* m) { m->children[n] = std::move(child); });
    }
  }
  return smaller;
}

AttentionForwardCase* AttentionPart(Case* c) {
  return &c->Get<AttentionForwardCase>();
}

class AttentionReducer : SequenceReducer<&AttentionPart> {
 public:
  AttentionReducer(std::span<const Case> sequence, size_t number)
      : SequenceReducer(sequence, number),
        a_(call().Get<AttentionForwardCase>()) {}

  std::vector<std::vector<Case>> All() {
    Extents();
    Plain();
    Masks();
    Documents();
    Counts();
    Numbers();
    return Take();
  }

 private:
  void Extents() {
    // Strides bind the extents: without them first.
    if (a_.strides != StrideOverrides{}) {
      Try([](AttentionForwardCase* a) { a->strides = {}; });
    }
    Pages();
    if (a_.layout == Layout::kVarlen) {
      Try([](AttentionForwardCase* a) { a->layout = Layout::kThd; });
    }
    Try([](AttentionForwardCase* a) { a->v_in_k = 0; });
    Fp8();
    for (const int64_t n : Below(std::min(a_.q_len, a_.kv_len), 1)) {
      Try([n](AttentionForwardCase* a) {
        SetLength(true, n, a);
        SetLength(false, n, a);
      });
    }
    for (const bool q : {true, false}) {
      for (const int64_t n : Below(q ? a_.q_len : a_.kv_len, 1)) {
        Try([q, n](AttentionForwardCase* a) { SetLength(q, n, a); });
        Try([q, n](AttentionForwardCase* a) { CutLength(q, n, a); });
      }
    }
    for (const int64_t n : Below(a_.batch, 1)) {
      Try([n](AttentionForwardCase* a) { SetBatch(n, a); });
      Try([n](AttentionForwardCase* a) {
        ReverseBatch(a);
        SetBatch(n, a);
      });
    }
    if (a_.q_heads > 1) {
      const std::pair<int64_t, int64_t> heads[] = {
          {1, 1}, {2, 1}, {2, 2}, {4, 2}};
      for (const auto& [q, kv] : heads) {
        if (q >= a_.q_heads && (q > a_.q_heads || kv >= a_.kv_heads)) continue;
        Try([q, kv](AttentionForwardCase* a) { SetHeads(q, kv, a); });
      }
    }
    for (const int64_t n : Below(a_.head_dim, 1)) {
      Try([n](AttentionForwardCase* a) { SetChannels(n, n, a); });
      Try([n](AttentionForwardCase* a) { SetChannels(n, a->value_dim, a); });
    }
    for (const int64_t n : Below(a_.value_dim, 1)) {
      Try([n](AttentionForwardCase* a) { SetChannels(a->head_dim, n, a); });
    }
  }

  // Shared pages bind the batch and the counts, too.
  void Pages() {
    if (!a_.page.any()) return;
    Try([](AttentionForwardCase* a) {
      if (a->page.any()) a->strides.k = a->strides.v = std::nullopt;
      a->page = {};
    });
    Try([](AttentionForwardCase* a) { a->page = a->page.Drawn(); });
    Try([](AttentionForwardCase* a) { a->page.nhd = false; });
    for (const int64_t n : Below(a_.page.size, 1)) {
      Try([n](AttentionForwardCase* a) {
        if (a->page.any()) a->page.size = n;
      });
    }
  }

  // Without fp8, in e4m3, or with fewer and simpler scales.
  void Fp8() {
    if (!a_.kv_lane) return;
    Try([](AttentionForwardCase* a) {
      a->kv_lane.reset();
      a->q_lane.reset();
      a->k_scale = a->v_scale = a->q_scale = {};
    });
    Try([](AttentionForwardCase* a) {
      a->q_lane.reset();
      a->q_scale = {};
    });
    Try([](AttentionForwardCase* a) { a->kv_lane = Lane::kE4m3; });
    Try([](AttentionForwardCase* a) {
      if (a->q_lane) a->q_lane = Lane::kE4m3;
    });
    Try([](AttentionForwardCase* a) { a->k_scale = a->v_scale = {}; });
    for (const auto member :
         {&AttentionForwardCase::k_scale, &AttentionForwardCase::v_scale,
          &AttentionForwardCase::q_scale}) {
      Try([member](AttentionForwardCase* a) { a->*member = {}; });
      const ScaleSpec& own = a_.*member;
      if (!own.any()) continue;
      Try([member](AttentionForwardCase* a) {
        if ((a->*member).any()) a->*member = ConstantScales(0.5);
      });
      for (const int64_t n : Below(own.layout.block, 1)) {
        Try([member, n](AttentionForwardCase* a) {
          if ((a->*member).layout.block > 0) (a->*member).layout.block = n;
        });
      }
    }
  }

  void Plain() {
    Try([](AttentionForwardCase* a) {
      a->fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
    });
    // caps stands in the way of a case without a cap, and so on.
    for (size_t n = 0; a_.fill.size() > 1 && n < a_.fill.size(); ++n) {
      Try([n](AttentionForwardCase* a) {
        if (n < a->fill.size()) {
          a->fill.erase(a->fill.begin() + static_cast<std::ptrdiff_t>(n));
        }
      });
    }
    Try([](AttentionForwardCase* a) { a->layout = Layout::kBhsd; });
    Try([](AttentionForwardCase* a) { a->sinklogit.reset(); });
    Try([](AttentionForwardCase* a) { a->softcap.reset(); });
    Try([](AttentionForwardCase* a) { a->order = ProductOrder::kChain; });
    for (const int64_t n : Below(a_.split, 1)) {
      Try([n](AttentionForwardCase* a) { a->split = n; });
    }
    Try([](AttentionForwardCase* a) { a->lane = Lane::kF32; });
    Try([](AttentionForwardCase* a) { a->p_lane = Lane::kF32; });
    Try([](AttentionForwardCase* a) {
      a->scale.value = 1.0 / std::sqrt(static_cast<double>(a->head_dim));
    });
    Try([](AttentionForwardCase* a) { a->align = {}; });
    Try([](AttentionForwardCase* a) { a->head_mask.clear(); });
    Try([](AttentionForwardCase* a) {
      a->q_seg = {};
      a->kv_seg = {};
    });
    Try([](AttentionForwardCase* a) { a->valid_q = {a->q_len}; });
    Try([](AttentionForwardCase* a) { a->valid_kv = {a->kv_len}; });
  }

  void Masks() {
    for (const MaskExpr& mask : SmallerMasks(a_.mask)) {
      Try([&](AttentionForwardCase* a) { a->mask = mask; });
    }
    for (const auto& [head, own] : a_.head_mask) {
      Try([h = head](AttentionForwardCase* a) {
        a->mask = a->head_mask.contains(h) ? a->head_mask[h] : a->mask;
        a->head_mask.clear();
        SetHeads(1, 1, a);
      });
      Try([h = head](AttentionForwardCase* a) { a->head_mask.erase(h); });
      for (const MaskExpr& mask : SmallerMasks(own)) {
        Try([h = head, &mask](AttentionForwardCase* a) {
          a->head_mask[h] = mask;
        });
      }
    }
    for (size_t n = 0; n < a_.dense.size(); ++n) {
      if (a_.dense[n].listed()) Lists(n);
      if (a_.dense[n].from_file() || a_.dense[n].listed()) continue;
      if (a_.dense[n].density.value == 0.5) continue;
      Try([n](AttentionForwardCase* a) {
        if (n < a->dense.size()) a->dense[n].density.value = 0.5;
      });
    }
  }

  // Shorter lists, and lists of the plainest kind.
  void Lists(size_t n) {
    for (const int64_t entries : Below(a_.dense[n].entries, 1)) {
      Try([n, entries](AttentionForwardCase* a) {
        if (n < a->dense.size()) a->dense[n].entries = entries;
      });
    }
    Try([n](AttentionForwardCase* a) {
      if (n < a->dense.size()) a->dense[n].draw = {};
    });
  }

  void Documents() {
    if (a_.q_seg.rows.size() > 1 || a_.kv_seg.rows.size() > 1) {
      Try([](AttentionForwardCase* a) {
        a->q_seg.rows.resize(1);
        a->kv_seg.rows.resize(1);
      });
    }
    for (const bool q : {true, false}) {
      const auto& rows = (q ? a_.q_seg : a_.kv_seg).rows;
      for (size_t b = 0; b < rows.size(); ++b) {
        for (const auto& runs : SmallerRuns(rows[b])) {
          Try([&, q, b](AttentionForwardCase* a) {
            auto& own = (q ? a->q_seg : a->kv_seg).rows;
            if (b < own.size()) own[b] = runs;
          });
        }
      }
    }
  }

  void Counts() {
    for (const bool q : {true, false}) {
      const auto& counts = q ? a_.valid_q : a_.valid_kv;
      if (counts.size() > 1) {
        Try([q](AttentionForwardCase* a) {
          (q ? a->valid_q : a->valid_kv).resize(1, 0);
        });
      }
    }
    if (a_.align.kind != Alignment::Kind::kOffset) return;
    for (const int64_t x : {int64_t{1}, int64_t{-1}, a_.align.offset / 2}) {
      if (std::abs(x) >= std::abs(a_.align.offset)) continue;
      Try([x](AttentionForwardCase* a) { a->align.offset = x; });
    }
  }

  void Numbers() {
    if (a_.softcap && a_.softcap->value != 1 && a_.softcap->value != 2) {
      Try([](AttentionForwardCase* a) { a->softcap = Number{2}; });
    }
    for (size_t n = 0; n < a_.fill.size() && a_.fill.size() > 1; ++n) {
      Try([n](AttentionForwardCase* a) {
        if (n >= a->fill.size()) return;
        a->fill.erase(a->fill.begin() + static_cast<int64_t>(n));
      });
    }
    TryShards();
    TrySeeds();
  }

  const AttentionForwardCase& a_;
};

}  // namespace

std::vector<std::vector<Case>> ReduceAttentionForward(
    std::span<const Case> sequence, size_t call) {
  return AttentionReducer(sequence, call).All();
}

}  // namespace lockstep::verify
