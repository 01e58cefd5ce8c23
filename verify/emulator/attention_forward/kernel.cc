#include "verify/emulator/attention_forward/kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "reference/contract/lanes.h"
#include "reference/elementary.h"
#include "verify/emulator/attention_forward/addresses.h"
#include "verify/emulator/attention_forward/far/taken_far.h"
#include "verify/emulator/attention_forward/fp8/taken_numbers.h"
#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/attention_forward/stores.h"
#include "verify/emulator/attention_forward/tiles.h"
#include "verify/emulator/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// An element of a tensor, widened to f32; padding is 0.
float Read(const LaneView& x, const Element& e) {
  if (e.row < 0 || e.row >= x.shape[2]) return 0.0f;
  const float value = x.Float(e.b, e.h, e.row, e.channel);
  return e.factor == 1 ? value : value * e.factor;
}

// All channels of a row; padding is 0.
void ReadRow(const LaneView& x, const Element& e, std::vector<float>* to) {
  const auto channels = static_cast<size_t>(x.shape[3]);
  if (e.row < 0 || e.row >= x.shape[2]) {
    to->insert(to->end(), channels, 0.0f);
    return;
  }
  if (x.lane == Lane::kF32 && x.strides[3] == 1) {
    const float* const from = &x.As<float>()(e.b, e.h, e.row, 0);
    to->insert(to->end(), from, from + channels);
    return;
  }
  for (int64_t c = 0; c < x.shape[3]; ++c) {
    to->push_back(x.Float(e.b, e.h, e.row, c));
  }
}

// One call: the loops over heads, query tiles and rows.
struct Call {
  const AttentionForwardProblem& problem;
  const AttentionForwardInputs& inputs;
  const AttentionVariant& variant;
  const FaultDial& dial;
  const AttentionArithmetic& arithmetic;
  bool flip;
  // Rows of [b, h, i] that are computed, ascending; where each has its result.
  std::vector<int64_t> rows;
  std::vector<RowResult> results;
  std::vector<bool> written;
  float pair_max = 0;  // of the row before, for a fault
  HeadTensors loaded;
  int64_t loaded_of = -1;  // kv head over all batch rows
  // N25: scales that all keys, or all queries, of the head share multiply the
  // scores.
  std::optional<AttentionForwardProblem> scaled;
  std::optional<AttentionArithmetic> scaled_arithmetic;
  std::optional<double> stale_cap;

  void LoadScales(int64_t b, int64_t h);
  void ShareScales(int64_t b, int64_t h);
  const AttentionForwardProblem& OfScores() const {
    return scaled ? *scaled : problem;
  }
  const AttentionArithmetic& Arithmetic() const {
    return scaled ? *scaled_arithmetic : arithmetic;
  }

  // The place of a row that is computed.
  size_t At(int64_t row) const {
    const int64_t all = problem.batch * problem.q_heads * problem.q_len;
    if (std::ssize(rows) == all) return static_cast<size_t>(row);
    return static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), row) -
                               rows.begin());
  }
  HeadTensors Load(int64_t b, int64_t h) const;
  bool Guarded(const Visibility& sees, int64_t b, int64_t j) const;
  void Head(int64_t b, int64_t h);
  float MaxOfPadding(const HeadTensors& head, const std::vector<float>& q,
                     float q_scale, int64_t b) const;
  void Row(const HeadTensors& head, const QueryTile& tile, int64_t b, int64_t h,
           int64_t i, int64_t r);
  void Store(int64_t row, const RowResult& result, bool empty);
};

// Whether key j is one that the kernel never reads: no query of batch row b, of
// any head, sees it.
bool Call::Guarded(const Visibility& sees, int64_t b, int64_t j) const {
  for (int64_t h = 0; h < problem.q_heads; ++h) {
    for (int64_t i = 0; i < problem.q_len; ++i) {
      if (sees({b, h, i, j})) return false;
    }
  }
  return true;
}

HeadTensors Call::Load(int64_t b, int64_t h) const {
  const Addresses addresses(problem, variant, dial);
  HeadTensors head;
  const auto keys = static_cast<size_t>(problem.kv_len);
  head.k.reserve(keys * static_cast<size_t>(problem.head_dim));
  head.v.reserve(keys * static_cast<size_t>(problem.value_dim));
  const bool keys_by_row = addresses.KeysByRow();
  const bool values_by_row = addresses.ValuesByRow();
  const bool guards = variant.numeric.masked_nan_safe == MaskedNan::kPadding;
  const Visibility sees(problem, inputs, dial);
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    if (guards && Guarded(sees, b, j)) {
      head.k.resize(head.k.size() + static_cast<size_t>(problem.head_dim));
      head.v.resize(head.v.size() + static_cast<size_t>(problem.value_dim));
      continue;
    }
    if (keys_by_row) ReadRow(inputs.k, addresses.Key({b, h, j}), &head.k);
    for (int64_t c = 0; !keys_by_row && c < problem.head_dim; ++c) {
      head.k.push_back(Read(inputs.k, addresses.Key({b, h, j, c})));
    }
    if (values_by_row) ReadRow(inputs.v, addresses.Value({b, h, j}), &head.v);
    for (int64_t c = 0; !values_by_row && c < problem.value_dim; ++c) {
      head.v.push_back(Read(inputs.v, addresses.Value({b, h, j, c})));
    }
  }
  using Input = AttentionArithmetic::Input;
  arithmetic.Misread(Input::kK, &head.k);
  arithmetic.Misread(Input::kV, &head.v);
  arithmetic.FlushInputs(&head.k);
  arithmetic.FlushInputs(&head.v);
  arithmetic.Prescale(Input::kK, &head.k);
  arithmetic.RoundOperandsQk(&head.k);
  arithmetic.RoundOperandsV(&head.v);
  for (const float x : head.v) {
    const float magnitude = std::fabs(x);
    if (magnitude > 0 &&
        (head.smallest_v == 0 || magnitude < head.smallest_v)) {
      head.smallest_v = magnitude;
    }
  }
  return head;
}

// Loads the scales of the loaded head, kv head h of batch row b.
void Call::LoadScales(int64_t b, int64_t h) {
  const KeyScales& of_k = problem.k_scales;
  const KeyScales& of_v = problem.v_scales;
  const ValueScaleAt place = variant.numeric.vscale_at;
  const bool in_o = !of_v.by_key() && place != ValueScaleAt::kP &&
                    place != ValueScaleAt::kAcc;
  loaded.scales_sums = of_v.any() && place == ValueScaleAt::kAcc;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    // There may be no scales for keys that do not exist.
    const bool there = j < inputs.ValidKv(problem, b);
    const auto of = [&](const KeyScales& scales, const KeyScaleView& view) {
      return there ? KeyScaleOf(scales, view, b, h, j) : 1.0f;
    };
    if (of_k.by_key()) loaded.k_scale.push_back(of(of_k, inputs.k_scale));
    if (!in_o) loaded.v_scale.push_back(of(of_v, inputs.v_scale));
  }
  if (in_o) {
    loaded.output_scale = KeyScaleOf(of_v, inputs.v_scale, b, h, 0);
  }
}

// Takes the scales that all keys and queries of query head h share.
void Call::ShareScales(int64_t b, int64_t h) {
  const KeyScales& of_k = problem.k_scales;
  const KeyScales& of_q = problem.q_scales;
  const bool k = of_k.shared();
  const bool q = of_q.shared();
  if (!k && !q) return;
  scaled = problem;
  const auto multiply = [&](float scale) {
    scaled->scale *= static_cast<double>(scale);
  };
  if (k) multiply(KeyScaleOf(of_k, inputs.k_scale, b, h / problem.group(), 0));
  if (q) multiply(KeyScaleOf(of_q, inputs.q_scale, b, h, 0));
  scaled_arithmetic.emplace(*scaled, variant, dial, stale_cap);
}

void Call::Store(int64_t row, const RowResult& result, bool empty) {
  const size_t at = At(row);
  if (dial.Is(Fault::kRowUnwritten) && (row + 1) % problem.q_len == 0) return;
  const bool keeps = dial.Is(Fault::kEmptyRowKeepsPrevious) && empty && row > 0;
  const bool kept = keeps && at > 0 && rows[at - 1] == row - 1;
  results[at] = kept ? results[at - 1] : result;
  if (dial.Is(Fault::kScratchReused) && row >= problem.q_len) {
    const RowResult& before = results[At(row - problem.q_len)];
    for (size_t c = 0; c < before.o.size(); ++c) {
      float& x = results[at].o[c];
      x = arithmetic.Output(x + before.o[c]);
    }
  }
  written[at] = true;
}

void Call::Row(const HeadTensors& head, const QueryTile& tile, int64_t b,
               int64_t h, int64_t i, int64_t r) {
  RowTask task{.problem = OfScores(),
               .variant = variant,
               .dial = dial,
               .arithmetic = Arithmetic(),
               .head = head,
               .q = {},
               .schedule = tile.Schedule(r, flip),
               .empty = tile.Empty(r),
               .has_sink = problem.sink,
               .sink = 0.0f};
  const Addresses addresses(problem, variant, dial);
  if (problem.sink) task.sink = inputs.sink(addresses.SinkHead(h));
  // There may be no scales for queries that do not exist.
  if (problem.q_scales.by_key() && i < inputs.ValidQ(problem, b)) {
    task.q_scale = KeyScaleOf(problem.q_scales, inputs.q_scale, b, h, i);
  }
  task.q.reserve(static_cast<size_t>(problem.head_dim));
  for (int64_t c = 0; c < problem.head_dim; ++c) {
    task.q.push_back(Read(inputs.q, addresses.Query({b, h, i, c})));
  }
  arithmetic.Misread(AttentionArithmetic::Input::kQ, &task.q);
  arithmetic.FlushInputs(&task.q);
  Arithmetic().Prescale(AttentionArithmetic::Input::kQ, &task.q);
  arithmetic.RoundOperandsQk(&task.q);
  if (variant.max_of_padding) {
    task.first_max = MaxOfPadding(head, task.q, task.q_scale, b);
  }
  if (dial.Is(Fault::kMaxOfRowPair)) {
    // Rows of a pair are done one after the other: the second starts with the
    // first one's maximum.
    if (i % 2 == 1) task.first_max = pair_max;
    pair_max = EmulatedRow(task).top();
  }
  RowResult result = EmulatedRow(task).Run();
  result.lse = arithmetic.StoredLse(result.lse);
  Store((b * problem.q_heads + h) * problem.q_len + i, result, task.empty);
}

// The largest score of a key behind the valid ones, before the softcap.
float Call::MaxOfPadding(const HeadTensors& head, const std::vector<float>& q,
                         float q_scale, int64_t b) const {
  float top = -std::numeric_limits<float>::infinity();
  const auto d = static_cast<size_t>(problem.head_dim);
  for (int64_t j = inputs.ValidKv(problem, b); j < problem.kv_len; ++j) {
    double score = 0;
    for (size_t c = 0; c < d; ++c) {
      score += double{q[c]} * head.k[static_cast<size_t>(j) * d + c];
    }
    score *= HeadTensors::ScaleAt(head.k_scale, j);
    score *= static_cast<double>(q_scale);
    top = std::max(top, static_cast<float>(score * OfScores().scale));
  }
  return top;
}

void Call::Head(int64_t b, int64_t h) {
  const int64_t begin = (b * problem.q_heads + h) * problem.q_len;
  size_t at = At(begin);
  const size_t end = At(begin + problem.q_len);
  if (at == end) return;
  // The heads of a group share K and V, unless a fault tells them apart.
  const Addresses addresses(problem, variant, dial);
  const int64_t kv = b * problem.kv_heads + h / problem.group();
  if (!addresses.Plain() || loaded_of != kv) {
    loaded = Load(b, h);
    LoadScales(b, h / problem.group());
  }
  loaded_of = kv;
  ShareScales(b, h);
  while (at < end) {
    const int64_t i = rows[at] - begin;
    const int64_t first = i - i % variant.tile_q;
    const QueryTile tile(problem, inputs, variant, dial, b, h, first);
    for (; at < end && rows[at] - begin < first + tile.rows(); ++at) {
      Row(loaded, tile, b, h, rows[at] - begin, rows[at] - begin - first);
    }
  }
}

void WriteRow(const AttentionForwardProblem& problem, int64_t row,
              const RowResult& result, const FaultDial& dial,
              const AttentionForwardOutputs& outputs) {
  const int64_t i = row % problem.q_len;
  const int64_t h = row / problem.q_len % problem.q_heads;
  const int64_t b = row / problem.q_len / problem.q_heads;
  if (StoresFarLse(outputs.o, {b, h, i}, dial)) {
    outputs.lse(b, h, i) = result.lse;
  }
  if (!StoresFarOutput(outputs.o, {b, h, i}, dial)) return;
  for (int64_t c = 0; c < problem.value_dim; ++c) {
    const float x = result.o[static_cast<size_t>(c)];
    WithAnyLane(problem.lane, [&](auto element) {
      using T = decltype(element);
      outputs.o.As<T>()(b, h, i, c) = reference::ElementFrom<T>(x);
    });
  }
}

}  // namespace

AttentionEmulator::AttentionEmulator(AttentionVariant variant, FaultDial dial)
    : variant_(std::move(variant)), dial_(dial) {}

// What the call before would have given, whatever its shapes were.
void AttentionEmulator::Exchange(std::vector<RowResult>* stored) {
  std::vector<float> o, lse;
  for (const RowResult& row : *stored) {
    o.insert(o.end(), row.o.begin(), row.o.end());
    lse.push_back(row.lse);
  }
  last_o_.resize(o.size());
  last_lse_.resize(lse.size());
  size_t at = 0;
  for (size_t n = 0; n < stored->size(); ++n) {
    RowResult& row = (*stored)[n];
    for (float& x : row.o) x = last_o_[at++];
    row.lse = last_lse_[n];
  }
  last_o_ = std::move(o);
  last_lse_ = std::move(lse);
}

void AttentionEmulator::RunRead(const AttentionForwardProblem& asked,
                                const AttentionForwardInputs& given,
                                const AttentionForwardOutputs& outputs,
                                std::span<const int64_t> rows) {
  std::optional<TakenNumbers> taken;
  if (asked.kv_lane && BreaksFp8(dial_)) {
    taken = TakeNumbers(asked, given, dial_);
  }
  const AttentionForwardProblem& problem = taken ? taken->problem : asked;
  AttentionForwardInputs inputs = taken ? taken->inputs : given;
  if (dial_.Is(Fault::kStridesIgnored)) inputs = AsIfDense(inputs);
  if (calls_ == 0) first_cap_ = problem.softcap;
  const AttentionArithmetic arithmetic(
      problem, variant_, dial_, calls_ == 0 ? problem.softcap : first_cap_);
  std::vector<int64_t> wanted(rows.begin(), rows.end());
  const bool all = wanted.empty();
  if (all) {
    wanted.resize(
        static_cast<size_t>(problem.batch * problem.q_heads * problem.q_len));
    std::iota(wanted.begin(), wanted.end(), int64_t{0});
  }
  Call call{.problem = problem,
            .inputs = inputs,
            .variant = variant_,
            .dial = dial_,
            .arithmetic = arithmetic,
            .flip = (dial_.Is(Fault::kRacy) || !variant_.numeric.repeat) &&
                    calls_ % 2 == 1,
            .rows = all ? wanted : RowsNeeded(problem, variant_, dial_, wanted),
            .results = {},
            .written = {},
            .pair_max = 0,
            .loaded = {},
            .scaled = {},
            .scaled_arithmetic = {},
            .stale_cap = calls_ == 0 ? problem.softcap : first_cap_};
  const RowResult nothing{
      std::vector<float>(static_cast<size_t>(problem.value_dim)), 0.0f};
  call.results.assign(call.rows.size(), nothing);
  call.written.resize(call.rows.size());
  ++calls_;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) call.Head(b, h);
  }
  const auto computed = [&](int64_t row) -> const RowResult& {
    return call.results[call.At(row)];
  };
  std::vector<RowResult> stored;
  for (const int64_t row : wanted) {
    stored.push_back(StoredRow(problem, variant_, dial_, row, computed));
  }
  if (dial_.Is(Fault::kStaleOutput)) Exchange(&stored);
  for (size_t n = 0; n < wanted.size(); ++n) {
    if (!call.written[call.At(wanted[n])]) continue;
    WriteRow(problem, wanted[n], stored[n], dial_, outputs);
  }
}

}  // namespace lockstep::verify
