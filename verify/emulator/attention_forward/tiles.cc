#include "verify/emulator/attention_forward/tiles.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {

QueryTile::QueryTile(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const AttentionVariant& variant, const FaultDial& dial,
                     int64_t b, int64_t h, int64_t first_row)
    : problem_(problem),
      variant_(variant),
      dial_(dial),
      visibility_(problem, inputs, dial),
      b_(b),
      h_(h),
      first_(first_row),
      rows_(std::min(variant.tile_q, problem.q_len - first_row)),
      tiles_((problem.kv_len + variant.tile_kv - 1) / variant.tile_kv),
      bits_(static_cast<size_t>(rows_ * problem.kv_len)) {
  for (int64_t r = 0; r < rows_; ++r) {
    for (int64_t j = 0; j < problem_.kv_len; ++j) {
      Bit(r, j) = visibility_({b_, h_, first_ + r, j});
    }
  }
  if (dial_.Is(Fault::kTileUnion)) Unite();
  for (int64_t r = 0; r < rows_; ++r) FaultKeys(r);
  for (int64_t tile = 0; tile < tiles_; ++tile) {
    classes_.push_back(Classify(tile));
  }
}

uint8_t& QueryTile::Bit(int64_t r, int64_t j) {
  return bits_[static_cast<size_t>(r * problem_.kv_len + j)];
}
uint8_t QueryTile::Bit(int64_t r, int64_t j) const {
  return bits_[static_cast<size_t>(r * problem_.kv_len + j)];
}

bool QueryTile::Empty(int64_t r) const {
  for (int64_t j = 0; j < problem_.kv_len; ++j) {
    if (Bit(r, j)) return false;
  }
  return true;
}

// What any row sees, all see.
void QueryTile::Unite() {
  for (int64_t j = 0; j < problem_.kv_len; ++j) {
    uint8_t any = 0;
    for (int64_t r = 0; r < rows_; ++r) any |= Bit(r, j);
    for (int64_t r = 0; r < rows_; ++r) Bit(r, j) = any;
  }
}

// Faults that add or remove single keys of a row.
void QueryTile::FaultKeys(int64_t r) {
  const int64_t n = problem_.kv_len;
  // Turns the first `severity` keys that the row sees, or does not, in an
  // order.
  const auto turn = [&](Fault fault, bool seen, int64_t first, int64_t step) {
    if (!dial_.Is(fault)) return;
    auto count = static_cast<int64_t>(dial_.SeverityOf(fault));
    for (int64_t j = first; j >= 0 && j < n && count > 0; j += step) {
      if ((Bit(r, j) != 0) != seen) continue;
      Bit(r, j) = seen ? 0 : 1;
      --count;
    }
  };
  if (!Empty(r)) turn(Fault::kLeakMaskedKey, false, n - 1, -1);
  turn(Fault::kDropLastKey, true, n - 1, -1);
  turn(Fault::kDropFirstKey, true, 0, 1);
  turn(Fault::kDropEdgeKey, true, variant_.tile_kv, variant_.tile_kv);
}

QueryTile::Class QueryTile::Classify(int64_t tile) const {
  const int64_t begin = tile * variant_.tile_kv;
  const int64_t end = std::min(begin + variant_.tile_kv, problem_.kv_len);
  const bool tree = dial_.Is(Fault::kFullTileSkipsSegments);
  const auto sees = [&](int64_t r, int64_t j) {
    return tree ? visibility_.Tree({b_, h_, first_ + r, j}) : Bit(r, j) != 0;
  };
  if (dial_.Is(Fault::kCornersDecide)) {
    const int64_t rows[] = {0, rows_ / 2, rows_ - 1};
    const int64_t keys[] = {begin, (begin + end) / 2, end - 1};
    bool all = sees(rows[1], keys[1]), any = all;
    for (const int64_t r : {rows[0], rows[2]}) {
      for (const int64_t j : {keys[0], keys[2]}) {
        all = all && sees(r, j);
        any = any || sees(r, j);
      }
    }
    return all ? Class::kFull : any ? Class::kPartial : Class::kEmpty;
  }
  const int64_t last_row = dial_.Is(Fault::kTileByFirstRow) ? 1 : rows_;
  bool all = true, any = false;
  for (int64_t r = 0; r < last_row; ++r) {
    for (int64_t j = begin; j < end; ++j) {
      all = all && sees(r, j);
      any = any || sees(r, j);
    }
  }
  if (!any) return Class::kEmpty;
  // A tile beyond the end of the keys needs its padding masked.
  const bool whole = end - begin == variant_.tile_kv;
  return all && whole && last_row == rows_ ? Class::kFull : Class::kPartial;
}

bool QueryTile::Sees(int64_t r, int64_t tile, int64_t step, int64_t j) const {
  if (dial_.IsHonest()) return Bit(r, j) != 0;
  const Class state = classes_[static_cast<size_t>(tile)];
  if (dial_.Is(Fault::kTilesUnmasked)) return true;
  if (dial_.Is(Fault::kCornersDecide) && state == Class::kFull) return true;
  if (dial_.Is(Fault::kFullTileSkipsSegments) && state == Class::kFull) {
    return true;
  }
  if (dial_.Is(Fault::kDiagonalTileFull) && first_ / variant_.tile_q == tile) {
    return true;
  }
  if (dial_.Is(Fault::kLastTileUnmasked) && IsRagged(tile)) return true;
  if (dial_.Is(Fault::kEdgeTilesFull) && state == Class::kPartial &&
      (tile + 1) * variant_.tile_kv <= first_) {
    return true;
  }
  if (dial_.Is(Fault::kTileMaskOfPrevious) && state == Class::kPartial &&
      j >= variant_.tile_kv) {
    return Bit(r, j - variant_.tile_kv) != 0;
  }
  if (dial_.Is(Fault::kKeyOffsetFromStep) && state == Class::kPartial) {
    const int64_t at = j + (step - tile) * variant_.tile_kv;
    return Bit(r, std::clamp<int64_t>(at, 0, problem_.kv_len - 1)) != 0;
  }
  return Bit(r, j) != 0;
}

bool QueryTile::IsRagged(int64_t tile) const {
  return (tile + 1) * variant_.tile_kv > problem_.kv_len;
}

// Padding key j of the last tile, where a fault lets it take part.
void QueryTile::Pad(int64_t j, VisitedTile* visit) const {
  const int64_t before = j - variant_.tile_kv;
  const int64_t last = problem_.kv_len - 1;
  if (dial_.Is(Fault::kTailTileUnmasked))
    visit->keys.push_back({j, j, j, true});
  if (dial_.Is(Fault::kPaddingBeforeCap)) {
    visit->keys.push_back({j, j, j, false});
  }
  if (dial_.Is(Fault::kTailClamped)) {
    visit->keys.push_back({j, last, last, visit->keys.back().visible});
  }
  if (dial_.Is(Fault::kTailOfTileBefore) && before >= 0) {
    visit->keys.push_back({j, before, before, true});
  }
}

VisitedTile QueryTile::Visit(int64_t r, int64_t tile, int64_t step) const {
  VisitedTile visit;
  visit.index = tile;
  visit.partial = classes_[static_cast<size_t>(tile)] == Class::kPartial;
  const int64_t begin = tile * variant_.tile_kv;
  const int64_t end = begin + variant_.tile_kv;
  visit.keys.reserve(static_cast<size_t>(variant_.tile_kv));
  for (int64_t j = begin; j < std::min(end, problem_.kv_len); ++j) {
    visit.keys.push_back({j, j, j, Sees(r, tile, step, j)});
  }
  for (int64_t j = problem_.kv_len; j < end && !dial_.IsHonest(); ++j) {
    Pad(j, &visit);
  }
  return visit;
}

std::vector<int64_t> QueryTile::Order(bool flip) const {
  std::vector<int64_t> order;
  const auto append = [&](auto wanted) {
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const Class state = classes_[static_cast<size_t>(tile)];
      if (state == Class::kEmpty || !wanted(state)) continue;
      if (dial_.Is(Fault::kFullTilesDropped) && state == Class::kFull) continue;
      if (dial_.Is(Fault::kTailTileDropped) && IsRagged(tile)) continue;
      order.push_back(tile);
    }
  };
  if (variant_.order == KeyOrder::kPartialThenFull) {
    append([](Class state) { return state == Class::kPartial; });
    append([](Class state) { return state == Class::kFull; });
  } else {
    append([](Class) { return true; });
  }
  if ((variant_.order == KeyOrder::kDescending) != flip) {
    std::reverse(order.begin(), order.end());
  }
  if (dial_.Is(Fault::kTilesBeyond)) {
    const auto most =
        static_cast<size_t>(dial_.SeverityOf(Fault::kTilesBeyond));
    order.resize(std::min(order.size(), most));
  }
  if (dial_.Is(Fault::kLastQueriesSkipDiagonal) && order.size() > 1 &&
      first_ > 0 && first_ + rows_ == problem_.q_len) {
    order.pop_back();
  }
  if (dial_.Is(Fault::kFirstTileTwice) && !order.empty()) {
    order.insert(order.begin(), order.front());
  }
  if (dial_.Is(Fault::kLastTileTwice) && !order.empty()) {
    order.push_back(order.back());
  }
  return order;
}

// Keys that are more than once in the row's list take part as often.
void QueryTile::Repeat(int64_t r, std::vector<VisitedTile>* schedule) const {
  for (VisitedTile& tile : *schedule) {
    std::vector<TileKey> keys;
    for (const TileKey& key : tile.keys) {
      const int64_t often =
          key.visible ? visibility_.Count({b_, h_, first_ + r, key.key}) : 1;
      keys.insert(keys.end(), static_cast<size_t>(often), key);
    }
    tile.keys = std::move(keys);
  }
}

std::vector<VisitedTile> QueryTile::Schedule(int64_t r, bool flip) const {
  std::vector<VisitedTile> schedule;
  for (const int64_t tile : Order(flip)) {
    schedule.push_back(Visit(r, tile, static_cast<int64_t>(schedule.size())));
  }
  if (dial_.Is(Fault::kDoubleEdgeKey)) {
    auto count = static_cast<int64_t>(dial_.SeverityOf(Fault::kDoubleEdgeKey));
    for (VisitedTile& tile : schedule) {
      if (tile.index == 0 || count <= 0 || !tile.keys[0].visible) continue;
      tile.keys.insert(tile.keys.begin(), tile.keys[0]);
      --count;
    }
  }
  if (dial_.Is(Fault::kListRepeatsCount)) Repeat(r, &schedule);
  for (const Fault fault : {Fault::kVRowOffByOne, Fault::kKRowOffByOne}) {
    if (!dial_.Is(fault) || problem_.kv_len < 2) continue;
    const bool v_row = fault == Fault::kVRowOffByOne;
    auto count = static_cast<int64_t>(dial_.SeverityOf(fault));
    for (auto tile = schedule.rbegin(); tile != schedule.rend(); ++tile) {
      for (auto key = tile->keys.rbegin(); key != tile->keys.rend(); ++key) {
        if (!key->visible || count <= 0) continue;
        int64_t& row = v_row ? key->value : key->score_key;
        row = row > 0 ? row - 1 : row + 1;
        --count;
      }
    }
  }
  return schedule;
}

}  // namespace lockstep::verify
