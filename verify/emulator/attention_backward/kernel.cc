#include "verify/emulator/attention_backward/kernel.h"

#include <algorithm>
#include <cstddef>

#include "reference/attention_row.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "reference/mask.h"
#include "verify/emulator/attention_backward/own_forward.h"
#include "verify/emulator/attention_backward/pairs.h"
#include "verify/emulator/attention_backward/sums.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Whether channel c is behind the last whole vector of 8.
bool InTail(int64_t c, int64_t channels) {
  return c >= channels - channels % 8;
}

// One key head of one batch row.
class Group {
 public:
  Group(const AttentionBackwardProblem& problem,
        const AttentionBackwardInputs& inputs,
        const AttentionBackwardOutputs& outputs, const GradVariant& variant,
        GradFault fault, int64_t b, int64_t g)
      : p_(problem.forward),
        in_(inputs),
        out_(outputs),
        variant_(variant),
        grad_(*variant.numeric.grad),
        fault_(fault),
        pairs_(problem, inputs, variant, fault),
        b_(b),
        g_(g),
        dk_(variant.parts, p_.kv_len, p_.head_dim),
        dv_(variant.parts, p_.kv_len, p_.value_dim),
        head_dk_(dk_),
        head_dv_(dv_),
        factors_(FactorsOf(p_, fault)) {
    for (int64_t h = 0; h < p_.q_heads; ++h) {
      if (pairs_.KvHead(h) == g_) heads_.push_back(h);
    }
  }

  void Run() {
    for (const int64_t h : heads_) {
      dq_.emplace_back(variant_.parts, p_.q_len, p_.head_dim);
      auto& rows = rows_.emplace_back();
      auto& q = q_to_ds_.emplace_back();
      for (int64_t i = 0; i < p_.q_len; ++i) {
        rows.push_back(pairs_.Row(b_, h, i));
        const bool scaled = grad_.dk_scale_at == DkScaleAt::kQ;
        q.push_back(pairs_.Scaled(rows.back().q, scaled ? factors_.dk : 1.0f));
      }
    }
    for (const int64_t tile : Order(KeyTiles())) RunKeyTile(tile);
    Store();
  }

  const std::vector<int64_t>& heads() const { return heads_; }
  // In the order of the contract: query by query onto what is there.
  void AddSinks(size_t head, float* sum) const {
    for (const GradRow& row : rows_[head]) {
      if (row.lse != -kFloatInf) *sum = pairs_.AddSink(row, *sum);
    }
  }

 private:
  static int64_t Tiles(int64_t n, int64_t tile) {
    return (n + tile - 1) / tile;
  }
  int64_t KeyTiles() const { return Tiles(p_.kv_len, variant_.tile_kv); }
  int64_t QueryTiles() const { return Tiles(p_.q_len, variant_.tile_q); }

  std::vector<int64_t> Order(int64_t tiles) const {
    std::vector<int64_t> order;
    for (int64_t n = 0; n < tiles; ++n) order.push_back(n);
    if (variant_.descending) std::reverse(order.begin(), order.end());
    return order;
  }

  // Whether the lists of tiles lead from this key tile to these queries.
  bool Visits(int64_t h, int64_t key_tile, int64_t query_tile) const {
    const bool ragged_q = p_.q_len % variant_.tile_q != 0;
    const bool ragged_k = p_.kv_len % variant_.tile_kv != 0;
    if (fault_ == GradFault::kLastQueriesDropped && ragged_q &&
        query_tile == QueryTiles() - 1) {
      return false;
    }
    if (fault_ == GradFault::kLastKeysDropped && ragged_k &&
        key_tile == KeyTiles() - 1) {
      return false;
    }
    if (fault_ == GradFault::kForwardTable) {
      // Rows of the table for columns.
      return Active(h, query_tile, key_tile);
    }
    if (fault_ == GradFault::kFirstTileSkipped) {
      // The first tile of queries that sees these keys.
      return query_tile == 0 || Active(h, key_tile, query_tile - 1) ||
             !Active(h, key_tile, query_tile);
    }
    return true;
  }
  // Whether any pair of the tile is visible.
  bool Active(int64_t h, int64_t key_tile, int64_t query_tile) const {
    const int64_t q = query_tile * variant_.tile_q;
    const int64_t k = key_tile * variant_.tile_kv;
    for (int64_t i = q; i < std::min(q + variant_.tile_q, p_.q_len); ++i) {
      for (int64_t j = k; j < std::min(k + variant_.tile_kv, p_.kv_len); ++j) {
        if (reference::IsVisible(p_, in_.forward, b_, h, i, j)) return true;
      }
    }
    return false;
  }

  void RunKeyTile(int64_t tile);
  void RunTile(size_t head, int64_t key_tile, int64_t query_tile);
  void AddHead();
  void AddToKeys(size_t head, int64_t part, int64_t query_begin,
                 int64_t query_end);
  void AddToQueries(size_t head, int64_t key_tile, int64_t query_begin,
                    int64_t query_end);
  float AddTile(const Chain& chain, float sum, const Accumulator& how) const {
    if (!variant_.tiles_apart) return Accumulate(chain, sum, how);
    return AddTo(sum, Accumulate(chain, 0.0f, how), how);
  }
  void RoundState(NumberType type, int64_t channels, float* state) const {
    for (int64_t c = 0; c < channels; ++c) state[c] = RoundTo(state[c], type);
  }
  void Write(const MutableLaneView& out, int64_t h, int64_t i, int64_t c,
             float x) const {
    reference::StoreElement(out, pairs_.Written(x, out.lane), b_, h, i, c);
  }
  void Store();

  const AttentionForwardProblem& p_;
  const AttentionBackwardInputs& in_;
  const AttentionBackwardOutputs& out_;
  const GradVariant& variant_;
  const GradNumeric& grad_;
  const GradFault fault_;
  const GradPairs pairs_;
  const int64_t b_, g_;
  std::vector<int64_t> heads_;
  // Of the group, and where heads are apart of the head at hand.
  GradSums dk_, dv_, head_dk_, head_dv_;
  std::vector<GradSums> dq_;
  std::vector<std::vector<GradRow>> rows_;
  std::vector<std::vector<std::vector<float>>>
      q_to_ds_;  // their q, as dS meets it
  const GradFactors factors_;
  // Of the key tile.
  int64_t key_begin_ = 0, key_end_ = 0;
  std::vector<std::vector<float>> k_, v_;
  std::vector<std::vector<float>> dq_k_;  // as dS meets it
  // Of the tile, [query][key].
  std::vector<std::vector<GradPair>> tile_;
};

void Group::RunKeyTile(int64_t tile) {
  key_begin_ = tile * variant_.tile_kv;
  key_end_ = std::min(key_begin_ + variant_.tile_kv, p_.kv_len);
  k_.clear();
  dq_k_.clear();
  v_.clear();
  for (int64_t j = key_begin_; j < key_end_; ++j) {
    if (pairs_.Guarded(b_, j)) {
      k_.emplace_back(static_cast<size_t>(p_.head_dim));
      v_.emplace_back(static_cast<size_t>(p_.value_dim));
      dq_k_.push_back(k_.back());
      continue;
    }
    k_.push_back(
        pairs_.Operand(in_.forward.k, b_, g_, j, variant_.numeric.operand_qk));
    v_.push_back(
        pairs_.Operand(in_.forward.v, b_, g_, j, variant_.numeric.operand_v));
    dq_k_.push_back(grad_.dq_scale_at == DqScaleAt::kK
                        ? pairs_.Scaled(pairs_.Operand(in_.forward.k, b_, g_, j,
                                                       NumberType::kF32),
                                        factors_.dq)
                        : k_.back());
  }
  for (size_t n = 0; n < heads_.size(); ++n) {
    const size_t head = variant_.heads_descending ? heads_.size() - 1 - n : n;
    for (const int64_t query_tile : Order(QueryTiles())) {
      if (!Visits(heads_[head], tile, query_tile)) continue;
      RunTile(head, tile, query_tile);
      if (fault_ == GradFault::kQueryTileTwice && query_tile == 0) {
        RunTile(head, tile, query_tile);
      }
    }
    if (variant_.heads_apart) AddHead();
  }
}

// The head at hand to the sums of the group; it starts anew.
void Group::AddHead() {
  const float scale =
      grad_.dk_scale_at == DkScaleAt::kHead ? factors_.dk : 1.0f;
  const auto add = [&](float factor, GradSums* from, GradSums* to) {
    for (int64_t part = 0; part < variant_.parts; ++part) {
      for (int64_t j = key_begin_; j < key_end_; ++j) {
        for (int64_t c = 0; c < to->channels; ++c) {
          float* const x = &from->At(part, j)[c];
          float* const sum = &to->At(part, j)[c];
          *sum += RoundTo(*x * factor, grad_.dkv_state);
          if (variant_.group_rounded) *sum = RoundTo(*sum, grad_.dkv_state);
          *x = 0.0f;
        }
      }
    }
  };
  add(scale, &head_dk_, &dk_);
  add(1.0f, &head_dv_, &dv_);
}

void Group::RunTile(size_t head, int64_t key_tile, int64_t query_tile) {
  const int64_t begin = query_tile * variant_.tile_q;
  const int64_t end = std::min(begin + variant_.tile_q, p_.q_len);
  tile_.clear();
  for (int64_t i = begin; i < end; ++i) {
    auto& line = tile_.emplace_back();
    for (size_t j = 0; j < k_.size(); ++j) {
      line.push_back(pairs_.Pair(rows_[head][static_cast<size_t>(i)],
                                 key_begin_ + static_cast<int64_t>(j),
                                 k_[j].data(), v_[j].data()));
    }
  }
  const bool first = fault_ == GradFault::kFirstHeadOnly && head > 0;
  const bool last =
      fault_ == GradFault::kLastHeadOnly && head + 1 < heads_.size();
  if (!first && !last) {
    const int64_t part = query_tile * variant_.parts / QueryTiles();
    AddToKeys(head, part, begin, end);
    const bool again =
        fault_ == GradFault::kFirstHeadTwice && head == 0 && heads_.size() > 1;
    if (again) AddToKeys(head, part, begin, end);
  }
  AddToQueries(head, key_tile, begin, end);
  if (fault_ == GradFault::kDiagonalTwice && key_tile == query_tile) {
    AddToQueries(head, key_tile, begin, end);
  }
}

void Group::AddToKeys(size_t head, int64_t part, int64_t query_begin,
                      int64_t query_end) {
  for (size_t j = 0; j < k_.size(); ++j) {
    const int64_t key = key_begin_ + static_cast<int64_t>(j);
    const bool apart = variant_.heads_apart;
    float* dk = (apart ? head_dk_ : dk_).At(part, key);
    float* dv = (apart ? head_dv_ : dv_).At(part, key);
    if (fault_ == GradFault::kDkOverwritten) {
      std::fill_n(dk, p_.head_dim, 0.0f);
    }
    // The terms of the tile, as one chain a channel.
    std::vector<float> p, ds, q, d_o;
    // A key that no query of the tile sees has no terms, yet its columns are
    // addressed below; reserved storage is never null.
    q.reserve(static_cast<size_t>((query_end - query_begin) * p_.head_dim));
    d_o.reserve(static_cast<size_t>((query_end - query_begin) * p_.value_dim));
    for (int64_t i = query_begin; i < query_end; ++i) {
      const GradPair& pair = tile_[static_cast<size_t>(i - query_begin)][j];
      if (!pair.to_key) continue;
      const GradRow& row = rows_[head][static_cast<size_t>(i)];
      p.push_back(pair.p);
      ds.push_back(pair.ds_to_key);
      const auto& row_q = q_to_ds_[head][static_cast<size_t>(i)];
      q.insert(q.end(), row_q.begin(), row_q.end());
      d_o.insert(d_o.end(), row.d_o_to_v.begin(), row.d_o_to_v.end());
    }
    if (fault_ == GradFault::kListScatterOverwrites && !p.empty()) {
      std::fill_n(dk, p_.head_dim, 0.0f);
      std::fill_n(dv, p_.value_dim, 0.0f);
      std::fill(p.begin(), p.end() - 1, 0.0f);
      std::fill(ds.begin(), ds.end() - 1, 0.0f);
    }
    const auto n = static_cast<int64_t>(p.size());
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      dk[c] = AddTile({ds.data(), 1, q.data() + c, p_.head_dim, n}, dk[c],
                      grad_.acc_dkv);
    }
    for (int64_t c = 0; c < p_.value_dim; ++c) {
      dv[c] = AddTile({p.data(), 1, d_o.data() + c, p_.value_dim, n}, dv[c],
                      grad_.acc_dkv);
    }
    NumberType state = grad_.dkv_state;
    if (fault_ == GradFault::kDkvInBf16) state = NumberType::kBf16;
    if (fault_ == GradFault::kF16DkvF16) state = NumberType::kF16;
    RoundState(state, p_.head_dim, dk);
    RoundState(state, p_.value_dim, dv);
  }
}

void Group::AddToQueries(size_t head, int64_t key_tile, int64_t query_begin,
                         int64_t query_end) {
  const int64_t part = key_tile * variant_.parts / KeyTiles();
  if (fault_ == GradFault::kDqTileLost && key_tile == 0 && KeyTiles() > 1) {
    return;
  }
  for (int64_t i = query_begin; i < query_end; ++i) {
    float* dq = dq_[head].At(part, i);
    std::vector<float> ds, k;
    const auto& line = tile_[static_cast<size_t>(i - query_begin)];
    for (size_t j = 0; j < k_.size(); ++j) {
      if (!line[j].to_query) continue;
      ds.push_back(line[j].ds_to_query);
      k.insert(k.end(), dq_k_[j].begin(), dq_k_[j].end());
    }
    const auto n = static_cast<int64_t>(ds.size());
    if (n == 0) continue;
    if (fault_ == GradFault::kDqOverwritten) {
      std::fill_n(dq, p_.head_dim, 0.0f);
    }
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      dq[c] = AddTile({ds.data(), 1, k.data() + c, p_.head_dim, n}, dq[c],
                      grad_.acc_dq);
    }
    RoundState(
        fault_ == GradFault::kDqInBf16 ? NumberType::kBf16 : grad_.dq_state,
        p_.head_dim, dq);
  }
}

void Group::Store() {
  const bool dq_last = grad_.dq_scale_at == DqScaleAt::kUnsaid ||
                       grad_.dq_scale_at == DqScaleAt::kEnd;
  const bool dk_last = grad_.dk_scale_at == DkScaleAt::kUnsaid ||
                       grad_.dk_scale_at == DkScaleAt::kSum;
  float of_dq = dq_last ? factors_.dq : 1.0f;
  float of_dk = dk_last ? factors_.dk : 1.0f;
  float of_dv = 1.0f;
  if (fault_ == GradFault::kScaleOnDv) of_dv = static_cast<float>(p_.scale);
  if (fault_ == GradFault::kGroupMean) {
    of_dv /= static_cast<float>(p_.group());
  }
  if (fault_ == GradFault::kZeros) of_dq = of_dk = of_dv = 0.0f;
  const int64_t parts = variant_.parts;
  for (int64_t j = 0; j < p_.kv_len; ++j) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      const bool lost =
          fault_ == GradFault::kDkTailZero && InTail(c, p_.head_dim);
      Write(out_.dk, g_, j, c, lost ? 0.0f : dk_.Total(j, c, parts) * of_dk);
    }
    for (int64_t c = 0; c < p_.value_dim; ++c) {
      const bool lost =
          fault_ == GradFault::kDvTailZero && InTail(c, p_.value_dim);
      Write(out_.dv, g_, j, c, lost ? 0.0f : dv_.Total(j, c, parts) * of_dv);
    }
  }
  if (fault_ == GradFault::kDqUnwritten) return;
  for (size_t head = 0; head < heads_.size(); ++head) {
    for (int64_t i = 0; i < p_.q_len; ++i) {
      for (int64_t c = 0; c < p_.head_dim; ++c) {
        Write(out_.dq, heads_[head], i, c,
              dq_[head].Total(i, c, parts) * of_dq);
      }
    }
  }
}

}  // namespace

void GradEmulator::RunWith(GradFault fault,
                           const AttentionBackwardProblem& problem,
                           const AttentionBackwardInputs& inputs,
                           const AttentionBackwardOutputs& outputs,
                           const AttentionForwardOutputs& own) const {
  const AttentionForwardProblem& p = problem.forward;
  const OwnForwardPass forward(problem, inputs, variant_, fault);
  forward.HandBack(own);
  std::vector<float> sinks(static_cast<size_t>(p.q_heads), 0.0f);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t g = 0; g < p.kv_heads; ++g) {
      Group group(problem, forward.inputs(), outputs, variant_, fault, b, g);
      group.Run();
      const bool skip = fault == GradFault::kSinkMissing ||
                        (fault == GradFault::kSinkFirstRow && b > 0);
      for (size_t n = 0; p.sink && !skip && n < group.heads().size(); ++n) {
        group.AddSinks(n, &sinks[static_cast<size_t>(group.heads()[n])]);
      }
    }
  }
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    outputs.dsink(h) = reference::FinishElement(
        fault == GradFault::kZeros ? 0.0f : sinks[static_cast<size_t>(h)],
        Lane::kF32);
  }
}

}  // namespace lockstep::verify
