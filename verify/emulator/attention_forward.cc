#include "verify/emulator/attention_forward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/contract/numerics.h"
#include "verify/emulator/row.h"
#include "verify/emulator/tiles.h"

namespace lockstep::verify {
namespace {

// One position of a tensor, widened to f32.
void Append(const LaneView& x, int64_t b, int64_t h, int64_t position,
            std::vector<float>* to) {
  for (int64_t c = 0; c < x.shape[3]; ++c) {
    to->push_back(x.lane == Lane::kF32
                      ? x.As<float>()(b, h, position, c)
                      : ToFloat(x.As<Bf16>()(b, h, position, c)));
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

  HeadTensors Load(int64_t b, int64_t h) const;
  void Head(int64_t b, int64_t h);
  void Row(const HeadTensors& head, const QueryTile& tile, int64_t b, int64_t h,
           int64_t i, int64_t r);
  void Store(int64_t row, const RowResult& result, bool empty);
  void AfterAll();
};

HeadTensors Call::Load(int64_t b, int64_t h) const {
  if (dial.Is(Fault::kBatchZero)) b = 0;
  int64_t key_head = h / problem.group();
  if (dial.Is(Fault::kHeadModulo)) key_head = h % problem.kv_heads;
  if (dial.Is(Fault::kKvHeadZero)) key_head = 0;
  const int64_t value_head = dial.Is(Fault::kValueHeadZero) ? 0 : key_head;
  HeadTensors head;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    Append(inputs.k, b, key_head, j, &head.k);
    Append(inputs.v, b, value_head, j, &head.v);
  }
  if (dial.Is(Fault::kValueStride)) {
    const std::vector<float> v = head.v;
    for (int64_t j = 0; j < problem.kv_len; ++j) {
      for (int64_t c = 0; c < problem.value_dim; ++c) {
        const auto at = static_cast<size_t>(j * problem.head_dim + c);
        head.v[static_cast<size_t>(j * problem.value_dim + c)] =
            v[at % v.size()];
      }
    }
  }
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
               .sink = problem.sink ? inputs.sink(h) : 0.0f};
  Append(inputs.q, b, h, i, &task.q);
  arithmetic.PrescaleQuery(&task.q);
  Store((b * problem.q_heads + h) * problem.q_len + i, EmulatedRow(task).Run(),
        task.empty);
}

void Call::Head(int64_t b, int64_t h) {
  const HeadTensors head = Load(b, h);
  for (int64_t first = 0; first < problem.q_len; first += variant.tile_q) {
    const QueryTile tile(problem, inputs, variant, dial, b, h, first);
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Row(head, tile, b, h, first + r, r);
    }
  }
}

// Faults of where results go.
void Call::AfterAll() {
  const int64_t heads = problem.q_heads;
  const std::vector<float> lse_before = lse;
  const std::vector<float> o_before = o;
  const int64_t head_size = problem.q_len * problem.value_dim;
  for (int64_t bh = 0; bh < problem.batch * heads; ++bh) {
    const int64_t h = bh % heads;
    int64_t from = bh;
    if (dial.Is(Fault::kLseOfGroup)) {
      from =
          bh - h + h / problem.group() * problem.group() + problem.group() - 1;
      std::copy_n(lse_before.begin() + from * problem.q_len, problem.q_len,
                  lse.begin() + bh * problem.q_len);
    } else if (dial.Is(Fault::kOutputHeadsSwapped) && (h ^ 1) < heads) {
      from = bh - h + (h ^ 1);
      std::copy_n(o_before.begin() + from * head_size, head_size,
                  o.begin() + bh * head_size);
    }
  }
  if (dial.Is(Fault::kZeros)) {
    std::fill(o.begin(), o.end(), 0.0f);
    std::fill(lse.begin(), lse.end(), 0.0f);
  }
}

}  // namespace

AttentionEmulator::AttentionEmulator(AttentionVariant variant, FaultDial dial)
    : variant_(std::move(variant)), dial_(dial) {}

void AttentionEmulator::Run(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs,
                            const AttentionForwardOutputs& outputs) {
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
      .written = std::vector<bool>(rows)};
  ++calls_;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) call.Head(b, h);
  }
  call.AfterAll();
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
