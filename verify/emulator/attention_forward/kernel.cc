#include "verify/emulator/attention_forward/kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/contract/numerics.h"
#include "verify/emulator/attention_forward/addresses.h"
#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/attention_forward/stores.h"
#include "verify/emulator/attention_forward/tiles.h"
#include "verify/emulator/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// An element of a tensor, widened to f32; padding is 0.
float Read(const LaneView& x, const Element& e) {
  if (e.row < 0 || e.row >= x.shape[2]) return 0.0f;
  const float value = x.lane == Lane::kF32
                          ? x.As<float>()(e.b, e.h, e.row, e.channel)
                          : ToFloat(x.As<Bf16>()(e.b, e.h, e.row, e.channel));
  return e.factor == 1 ? value : value * e.factor;
}

// All channels of a row.
void ReadRow(const LaneView& x, const Element& e, std::vector<float>* to) {
  for (int64_t c = 0; c < x.shape[3]; ++c) {
    to->push_back(x.lane == Lane::kF32
                      ? x.As<float>()(e.b, e.h, e.row, c)
                      : ToFloat(x.As<Bf16>()(e.b, e.h, e.row, c)));
  }
}

uint16_t TopHalf(float x) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
}

// One call: the loops over heads, query tiles and rows.
struct Call {
  const AttentionForwardProblem& problem;
  const AttentionForwardInputs& inputs;
  const AttentionVariant& variant;
  const FaultDial& dial;
  const AttentionArithmetic& arithmetic;
  bool flip;
  std::vector<float> o;    // [b, h, i, c]
  std::vector<float> lse;  // [b, h, i]
  std::vector<bool> written;
  float pair_max = 0;  // of the row before, for a fault
  HeadTensors loaded;

  HeadTensors Load(int64_t b, int64_t h) const;
  bool Guarded(int64_t b, int64_t j) const;
  void Head(int64_t b, int64_t h);
  void Row(const HeadTensors& head, const QueryTile& tile, int64_t b, int64_t h,
           int64_t i, int64_t r);
  void Store(int64_t row, const RowResult& result, bool empty);
};

// Whether key j is one that the kernel never reads: no query of batch row b, of
// any head, sees it.
bool Call::Guarded(int64_t b, int64_t j) const {
  const Visibility sees(problem, inputs, dial);
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
  const bool guards = variant.numeric.masked_nan_safe == MaskedNan::kPadding;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    if (guards && Guarded(b, j)) {
      head.k.resize(head.k.size() + static_cast<size_t>(problem.head_dim));
      head.v.resize(head.v.size() + static_cast<size_t>(problem.value_dim));
      continue;
    }
    if (addresses.Plain()) {
      ReadRow(inputs.k, {b, h / problem.group(), j}, &head.k);
      ReadRow(inputs.v, {b, h / problem.group(), j}, &head.v);
      continue;
    }
    for (int64_t c = 0; c < problem.head_dim; ++c) {
      head.k.push_back(Read(inputs.k, addresses.Key({b, h, j, c})));
    }
    for (int64_t c = 0; c < problem.value_dim; ++c) {
      head.v.push_back(Read(inputs.v, addresses.Value({b, h, j, c})));
    }
  }
  arithmetic.FlushInputs(&head.k);
  arithmetic.FlushInputs(&head.v);
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

void Call::Store(int64_t row, const RowResult& result, bool empty) {
  const auto at = static_cast<size_t>(row * problem.value_dim);
  const auto dv = static_cast<size_t>(problem.value_dim);
  const auto r = static_cast<size_t>(row);
  if (dial.Is(Fault::kRowUnwritten) && (row + 1) % problem.q_len == 0) return;
  if (dial.Is(Fault::kEmptyRowKeepsPrevious) && empty && row > 0) {
    std::copy_n(o.begin() + static_cast<int64_t>(at - dv), dv,
                o.begin() + static_cast<int64_t>(at));
    lse[r] = lse[r - 1];
  } else {
    std::copy(result.o.begin(), result.o.end(),
              o.begin() + static_cast<int64_t>(at));
    lse[r] = result.lse;
  }
  if (dial.Is(Fault::kScratchReused) && row >= problem.q_len) {
    for (size_t c = 0; c < dv; ++c) {
      const size_t before = at - static_cast<size_t>(problem.q_len) * dv;
      o[at + c] = arithmetic.Output(o[at + c] + o[before + c]);
    }
  }
  written[r] = true;
}

void Call::Row(const HeadTensors& head, const QueryTile& tile, int64_t b,
               int64_t h, int64_t i, int64_t r) {
  RowTask task{.problem = problem,
               .variant = variant,
               .dial = dial,
               .arithmetic = arithmetic,
               .head = head,
               .q = {},
               .schedule = tile.Schedule(r, flip),
               .empty = tile.Empty(r),
               .has_sink = problem.sink,
               .sink = 0.0f};
  const Addresses addresses(problem, variant, dial);
  if (problem.sink) task.sink = inputs.sink(addresses.SinkHead(h));
  for (int64_t c = 0; c < problem.head_dim; ++c) {
    task.q.push_back(Read(inputs.q, addresses.Query({b, h, i, c})));
  }
  arithmetic.FlushInputs(&task.q);
  arithmetic.PrescaleQuery(&task.q);
  arithmetic.RoundOperandsQk(&task.q);
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

void Call::Head(int64_t b, int64_t h) {
  // The heads of a group share K and V, unless a fault tells them apart.
  const Addresses addresses(problem, variant, dial);
  if (!addresses.Plain() || h % problem.group() == 0) loaded = Load(b, h);
  const HeadTensors& head = loaded;
  for (int64_t first = 0; first < problem.q_len; first += variant.tile_q) {
    const QueryTile tile(problem, inputs, variant, dial, b, h, first);
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Row(head, tile, b, h, first + r, r);
    }
  }
}

}  // namespace

AttentionEmulator::AttentionEmulator(AttentionVariant variant, FaultDial dial)
    : variant_(std::move(variant)), dial_(dial) {}

void AttentionEmulator::Run(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& given,
                            const AttentionForwardOutputs& outputs) {
  const AttentionForwardInputs inputs =
      dial_.Is(Fault::kStridesIgnored) ? AsIfDense(given) : given;
  if (calls_ == 0) first_cap_ = problem.softcap;
  const AttentionArithmetic arithmetic(
      problem, variant_, dial_, calls_ == 0 ? problem.softcap : first_cap_);
  const auto rows =
      static_cast<size_t>(problem.batch * problem.q_heads * problem.q_len);
  Call call{
      .problem = problem,
      .inputs = inputs,
      .variant = variant_,
      .dial = dial_,
      .arithmetic = arithmetic,
      .flip = dial_.Is(Fault::kRacy) && calls_ % 2 == 1,
      .o = std::vector<float>(rows * static_cast<size_t>(problem.value_dim)),
      .lse = std::vector<float>(rows),
      .written = std::vector<bool>(rows),
      .pair_max = 0,
      .loaded = {}};
  ++calls_;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) call.Head(b, h);
  }
  BreakStores(problem, variant_, dial_, &call.o, &call.lse);
  if (dial_.Is(Fault::kStaleOutput)) {
    last_o_.resize(call.o.size());
    last_lse_.resize(rows);
    std::swap(last_o_, call.o);
    std::swap(last_lse_, call.lse);
  }
  for (size_t row = 0; row < rows; ++row) {
    if (!call.written[row]) continue;
    const auto at = static_cast<int64_t>(row);
    const int64_t i = at % problem.q_len;
    const int64_t h = at / problem.q_len % problem.q_heads;
    const int64_t b = at / problem.q_len / problem.q_heads;
    outputs.lse(b, h, i) = call.lse[row];
    for (int64_t c = 0; c < problem.value_dim; ++c) {
      const float x = call.o[static_cast<size_t>(at * problem.value_dim + c)];
      if (problem.lane == Lane::kF32) {
        outputs.o.As<float>()(b, h, i, c) = x;
      } else {
        outputs.o.As<Bf16>()(b, h, i, c).bits = TopHalf(x);
      }
    }
  }
}

}  // namespace lockstep::verify
