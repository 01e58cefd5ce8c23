#include "verify/emulator/attention_forward/addresses.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

namespace lockstep::verify {
namespace {

// Keys that a faulty ring buffer holds.
constexpr int64_t kRing = 64;

// Row j within blocks of 16, its two middle quarters exchanged: what a
// fragment read with the layout of another instruction gives.
int64_t MiddleExchanged(int64_t j) {
  const int64_t quarter = j / 4 % 4;
  if (quarter == 1) return j + 4;
  return quarter == 2 ? j - 4 : j;
}

// The largest power of two that is at most n and at most `most`.
int64_t VectorOf(int64_t n, int64_t most) {
  return std::min(
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))), most);
}

// Flat position in a tensor of rows of `width`, read as rows of `own`.
Element Restrided(Element at, int64_t width, int64_t own) {
  const int64_t flat = at.row * width + at.channel;
  at.row = flat / own;
  at.channel = flat % own;
  return at;
}

}  // namespace

AttentionForwardInputs AsIfDense(AttentionForwardInputs inputs) {
  for (LaneView* x : {&inputs.q, &inputs.k, &inputs.v}) {
    const auto last = [&](const std::array<int64_t, 4>& strides) {
      int64_t at = 0;
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        at += (x->shape[axis] - 1) * strides[axis];
      }
      return at;
    };
    const auto dense = DenseStrides(x->shape);
    if (last(dense) <= last(x->strides)) x->strides = dense;
  }
  return inputs;
}

bool Addresses::Plain() const {
  const auto elsewhere = [](Fault f) {
    return f == Fault::kHeadModulo || f == Fault::kKvHeadZero ||
           f == Fault::kValueHeadZero || f == Fault::kBatchZero ||
           f == Fault::kValueStride || f == Fault::kValueHeadModulo ||
           f == Fault::kRingOverwritten || f == Fault::kVStageReused ||
           f == Fault::kKPrefetchedHeadZero ||
           (f >= Fault::kVRowsPermuted && f <= Fault::kVTileOfOtherBatch);
  };
  return !elsewhere(dial_.fault) && !elsewhere(dial_.second);
}

bool Addresses::KeysByRow() const {
  constexpr Fault kByChannel[] = {Fault::kKStrideOfV,    Fault::kKFragmentPairs,
                                  Fault::kKVectorHalves, Fault::kKSwizzleBank,
                                  Fault::kTailDropped,   Fault::kTailDoubled,
                                  Fault::kTailOfNextRow};
  return std::none_of(std::begin(kByChannel), std::end(kByChannel),
                      [&](Fault f) { return dial_.Is(f); });
}

bool Addresses::ValuesByRow() const {
  constexpr Fault kByChannel[] = {Fault::kVTileTransposed, Fault::kValueStride,
                                  Fault::kVFragmentColumns,
                                  Fault::kVVectorHalves, Fault::kVSwizzleBank};
  return std::none_of(std::begin(kByChannel), std::end(kByChannel),
                      [&](Fault f) { return dial_.Is(f); });
}

int64_t Addresses::KvHead(int64_t h) const {
  const int64_t last = p_.kv_heads - 1;
  if (dial_.Is(Fault::kHeadModulo)) return h % p_.kv_heads;
  if (dial_.Is(Fault::kKvHeadZero)) return 0;
  if (dial_.Is(Fault::kLastHeadOfFirst) && h == p_.q_heads - 1) return 0;
  if (dial_.Is(Fault::kGroupBoundary)) {
    return std::min((h + 1) / p_.group(), last);
  }
  if (dial_.Is(Fault::kGroupRounded)) {
    const auto group = static_cast<uint64_t>(p_.group());
    return std::min(h / static_cast<int64_t>(std::bit_ceil(group)), last);
  }
  return h / p_.group();
}

// The physical row of key j, in pages of `severity` keys.
int64_t Addresses::Page(int64_t j) const {
  const Fault fault = dial_.Is(Fault::kPageOffByOne) ? Fault::kPageOffByOne
                                                     : Fault::kKvPagesExchanged;
  const auto keys = static_cast<int64_t>(dial_.SeverityOf(fault));
  const int64_t pages = (p_.kv_len + keys - 1) / keys;
  const int64_t page = j / keys;
  if (pages < 2) return j;
  if (dial_.Is(Fault::kPageOffByOne)) {
    return page == (pages - 1) / 2 ? j + keys : j;
  }
  if (page == pages - 1) return j - keys;
  return page == pages - 2 ? j + keys : j;
}

Element Addresses::KvElement(const Element& at) const {
  Element e = at;
  e.h = KvHead(at.h);
  if (dial_.Is(Fault::kBatchZero)) e.b = 0;
  if (dial_.Is(Fault::kBatchStrideOfQuery)) {
    const int64_t flat = (at.b * p_.q_heads + e.h) % (p_.batch * p_.kv_heads);
    e.b = flat / p_.kv_heads;
    e.h = flat % p_.kv_heads;
  }
  if (dial_.Is(Fault::kRingOverwritten)) {
    // The slot holds the last key that was written to it.
    while (e.row + kRing < p_.kv_len) e.row += kRing;
  }
  if (dial_.Is(Fault::kKvPagesExchanged) || dial_.Is(Fault::kPageOffByOne)) {
    e.row = Page(at.row);
  }
  return e;
}

// The channel with `flip` of its vector's bits turned, if the row has it.
Element Addresses::InVector(Element at, int64_t channels, int64_t flip) const {
  if ((at.channel ^ flip) < channels) at.channel ^= flip;
  return at;
}

Element Addresses::Key(Element at) const {
  Element e = KvElement(at);
  for (const Fault fault : dial_.Faults()) e = BrokenKey(fault, at, e);
  return e;
}

Element Addresses::Value(Element at) const {
  Element e = KvElement(at);
  for (const Fault fault : dial_.Faults()) e = BrokenValue(fault, at, e);
  return e;
}

Element Addresses::Query(Element at) const {
  Element e = at;
  for (const Fault fault : dial_.Faults()) e = BrokenQuery(fault, at, e);
  return e;
}

Element Addresses::BrokenKey(Fault fault, const Element& at, Element e) const {
  const int64_t d = p_.head_dim;
  const int64_t tile = variant_.tile_kv;
  const int64_t tiles = (p_.kv_len + tile - 1) / tile;
  const bool tail = at.channel >= d - d % 8;
  switch (fault) {
    case Fault::kKeyHeadZero:
      e.h = 0;
      break;
    case Fault::kKeyBatchZero:
      e.b = 0;
      break;
    case Fault::kKRowOfTileEdge:
      if (at.row % (2 * tile) == tile) --e.row;
      break;
    case Fault::kKStrideOfV:
      if (at.h % 2 == 1) e = Restrided(e, p_.value_dim, d);
      break;
    case Fault::kKFragmentPairs:
      if (at.row % 2 == 1) e = InVector(e, d, 1);
      break;
    case Fault::kKVectorHalves:
      e = InVector(e, d, VectorOf(d, 16) / 2);
      break;
    case Fault::kKSwizzleBank:
      if (at.row % 8 == 5) e = InVector(e, d, VectorOf(d, 16) / 4);
      break;
    case Fault::kKSwizzleRow:
      if (at.row % 16 == 6) e.row ^= 1;
      break;
    case Fault::kTailDropped:
      if (tail) e.factor = 0;
      break;
    case Fault::kTailDoubled:
      if (tail) e.factor = 2;
      break;
    case Fault::kTailOfNextRow:
      if (tail) ++e.row;
      break;
    case Fault::kKOfNextTile:
      if (at.row / tile == (tiles - 1) / 2 && tiles > 1) e.row += tile;
      break;
    case Fault::kKPrefetchedHeadZero:
      if (at.row < tile) e.h = 0;
      break;
    case Fault::kKTileOfOtherHead:
      if (at.row / tile == tiles / 2) e.h = (e.h + 1) % p_.kv_heads;
      break;
    default:
      break;
  }
  return e;
}

Element Addresses::BrokenValue(Fault fault, const Element& at,
                               Element e) const {
  const int64_t dv = p_.value_dim;
  const int64_t tile = variant_.tile_kv;
  const int64_t tiles = (p_.kv_len + tile - 1) / tile;
  switch (fault) {
    case Fault::kValueHeadZero:
      e.h = 0;
      break;
    case Fault::kValueHeadModulo:
      e.h = at.h % p_.kv_heads;
      break;
    case Fault::kVStageReused:
      if (at.row / tile == 2) e.row -= 2 * tile;
      break;
    case Fault::kVRowsPermuted:
      e.row = MiddleExchanged(at.row);
      break;
    case Fault::kVTileTransposed: {
      // One block of 8x8, of rows 8 to 15.
      const int64_t n = std::min<int64_t>(8, dv);
      if (at.row / 8 == 1 && at.row % 8 < n && at.channel < n) {
        e.row = 8 + at.channel;
        e.channel = at.row % 8;
      }
      break;
    }
    case Fault::kVTilesExchanged: {
      const auto keys = static_cast<int64_t>(dial_.SeverityOf(fault));
      if (2 * keys > p_.kv_len) break;
      if (at.row < keys) e.row += keys;
      if (at.row >= keys && at.row < 2 * keys) e.row -= keys;
      break;
    }
    case Fault::kValueStride:
      e = Restrided(e, p_.head_dim, dv);
      e.row %= p_.kv_len;
      break;
    case Fault::kVFragmentColumns:
      e = InVector(e, dv, 1);
      break;
    case Fault::kVVectorHalves:
      if (at.row % 2 == 1) e = InVector(e, dv, VectorOf(dv, 8) / 2);
      break;
    case Fault::kVSwizzleBank:
      if (at.row % 8 == 3) e = InVector(e, dv, VectorOf(dv, 16) / 4);
      break;
    case Fault::kVOfOldBuffer:
      // Two buffers: what the last tile meets was loaded two tiles ago.
      if (at.row / tile == tiles - 1 && tiles > 2) e.row -= 2 * tile;
      break;
    case Fault::kVTileOfOtherBatch:
      if (at.row / tile == tiles / 2) e.b = (e.b + 1) % p_.batch;
      break;
    default:
      break;
  }
  return e;
}

Element Addresses::BrokenQuery(Fault fault, const Element& at,
                               Element e) const {
  const int64_t tile = variant_.tile_q;
  const int64_t in_tile = at.row % tile;
  const int64_t rows = std::min(tile, p_.q_len - (at.row - in_tile));
  switch (fault) {
    case Fault::kQueryHeadZero:
      e.h = 0;
      break;
    case Fault::kQueryHeadOfGroup:
      e.h -= at.h % p_.group();
      break;
    case Fault::kQueryBatchZero:
      e.b = 0;
      break;
    case Fault::kQRowOfTileEdge:
      if (in_tile == 0 && at.row > 0) --e.row;
      break;
    case Fault::kQRowsSwapped:
      if ((at.row ^ 1) < p_.q_len) e.row ^= 1;
      break;
    case Fault::kQRowsRotated:
      e.row += (in_tile + 1) % rows - in_tile;
      break;
    case Fault::kQFragmentHalf:
      // The second half of the channels belongs to the row after.
      if (at.channel >= p_.head_dim / 2) {
        e.row += (in_tile + 1) % rows - in_tile;
      }
      break;
    default:
      break;
  }
  return e;
}

int64_t Addresses::SinkHead(int64_t h) const {
  if (dial_.Is(Fault::kSinkHeadZero)) return 0;
  return dial_.Is(Fault::kSinkOfKvHead) ? h / p_.group() : h;
}

}  // namespace lockstep::verify
