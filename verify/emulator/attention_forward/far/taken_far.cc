#include "verify/emulator/attention_forward/far/taken_far.h"

#include <algorithm>
#include <cstddef>

#include "reference/contract/lanes.h"
#include "verify/emulator/taken.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kFar = int64_t{1} << 31;    // elements
constexpr int64_t kRange = int64_t{1} << 32;  // bytes

using Row = std::array<int64_t, 3>;  // [b, h, i]
using Strides = std::array<int64_t, 4>;

int64_t Signed32(int64_t x) { return static_cast<int32_t>(x); }
int64_t Unsigned32(int64_t x) { return static_cast<uint32_t>(x); }

// Elements before channel 0 of a row.
int64_t OffsetOf(const Row& row, const Strides& strides) {
  return row[0] * strides[0] + row[1] * strides[1] + row[2] * strides[2];
}

// The offset, if a row of the tensor begins there. Wide strides come first, so
// that a row is found wherever rows do not interleave.
int64_t IfRow(const LaneView& x, int64_t offset) {
  std::array<size_t, 3> axes = {0, 1, 2};
  std::sort(axes.begin(), axes.end(),
            [&](size_t a, size_t b) { return x.strides[a] > x.strides[b]; });
  int64_t rest = offset;
  for (const size_t axis : axes) {
    if (rest < 0 || x.strides[axis] == 0) continue;
    const int64_t last = x.shape[axis] - 1;
    rest -= std::min(rest / x.strides[axis], last) * x.strides[axis];
  }
  return rest == 0 ? offset : kNowhere;
}

enum class Tensor : uint8_t { kQuery, kKey, kValue };

class FarWalk {
 public:
  FarWalk(const AttentionForwardInputs& inputs, const FaultDial& dial)
      : in_(inputs), dial_(dial) {}

  // Where the kernel reads channel 0 of a row of the tensor, or kNowhere.
  int64_t Place(Tensor tensor, const LaneView& x, const Row& row) const {
    Row terms{};
    for (size_t axis = 0; axis < terms.size(); ++axis) {
      terms[axis] = row[axis] * x.strides[axis];
    }
    Products(tensor, x, row, &terms);
    const int64_t sum = terms[0] + terms[1] + terms[2];
    const int64_t read = Sum(tensor, x, row, sum);
    return read == OffsetOf(row, x.strides) ? read : IfRow(x, read);
  }

 private:
  void Products(Tensor tensor, const LaneView& x, const Row& row,
                Row* terms) const {
    const bool query = tensor == Tensor::kQuery;
    auto& [batch, head, position] = *terms;
    if (dial_.Is(Fault::kFarBatch)) batch = Signed32(batch);
    if (dial_.Is(Fault::kFarKvHead) && !query) head = Signed32(head);
    const bool row_is_short =
        (dial_.Is(Fault::kFarQueryRow) && query) ||
        (dial_.Is(Fault::kFarKeyRow) && tensor == Tensor::kKey) ||
        (dial_.Is(Fault::kFarValueRow) && tensor == Tensor::kValue);
    if (row_is_short) position = Signed32(position);
    if (dial_.Is(Fault::kFarProduct24) && !query) {
      constexpr int64_t kLow24 = (1 << 24) - 1;
      batch = (row[0] & kLow24) * (x.strides[0] & kLow24);
    }
  }

  int64_t Sum(Tensor tensor, const LaneView& x, const Row& row,
              int64_t sum) const {
    if (tensor == Tensor::kQuery) return sum;
    const auto width = static_cast<int64_t>(LaneBytes(x.lane));
    if (dial_.Is(Fault::kFarSum) && tensor == Tensor::kKey) sum = Signed32(sum);
    if (dial_.Is(Fault::kFarBytes)) sum = Signed32(sum * width) / width;
    if (dial_.Is(Fault::kFarUnsigned)) sum = Unsigned32(sum);
    if (dial_.Is(Fault::kFarRange) && sum * width >= kRange) return kNowhere;
    const bool by_key = dial_.Is(Fault::kFarValueByKey);
    if (by_key && tensor == Tensor::kValue && KeysReachFar()) {
      return OffsetOf(row, in_.k.strides);
    }
    return sum;
  }

  bool KeysReachFar() const {
    const auto& shape = in_.k.shape;
    return OffsetOf({shape[0] - 1, shape[1] - 1, shape[2] - 1},
                    in_.k.strides) >= kFar;
  }

  const AttentionForwardInputs& in_;
  const FaultDial& dial_;
};

LaneView Take(const FarWalk& walk, Tensor tensor, const LaneView& x,
              std::vector<uint8_t>* memory) {
  return TakeDense(
      x, x.shape, [&](int64_t) { return x.shape[2]; },
      [&](int64_t b, int64_t h, int64_t i) {
        return walk.Place(tensor, x, {b, h, i});
      },
      memory);
}

bool ReachesFar(const MutableLaneView& o, const Row& row) {
  return OffsetOf(row, o.strides) >= kFar;
}

}  // namespace

bool BreaksFar(const FaultDial& dial) {
  const auto of_far = [](Fault f) {
    return f >= Fault::kFarQueryRow && f <= Fault::kFarLseRow;
  };
  return of_far(dial.fault) || of_far(dial.second);
}

TakenFar TakeFar(const AttentionForwardInputs& inputs, const FaultDial& dial) {
  const FarWalk walk(inputs, dial);
  TakenFar taken;
  taken.inputs = inputs;
  taken.inputs.q = Take(walk, Tensor::kQuery, inputs.q, &taken.q);
  taken.inputs.k = Take(walk, Tensor::kKey, inputs.k, &taken.k);
  taken.inputs.v = Take(walk, Tensor::kValue, inputs.v, &taken.v);
  return taken;
}

bool StoresFarOutput(const MutableLaneView& o, const Row& row,
                     const FaultDial& dial) {
  return !dial.Is(Fault::kFarOutputRow) || !ReachesFar(o, row);
}

bool StoresFarLse(const MutableLaneView& o, const Row& row,
                  const FaultDial& dial) {
  return !dial.Is(Fault::kFarLseRow) || !ReachesFar(o, row);
}

}  // namespace lockstep::verify
