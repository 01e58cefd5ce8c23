#include "verify/case/block_plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/case/attention_forward/line.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

constexpr std::string_view kDialects[] = {"shrunk", "splash", "flat_list",
                                          "block_mask"};

BlockPlanCase& PlanOf(Case& c) { return c.Get<BlockPlanCase>(); }

using Bp = BlockPlanCase;

const CaseKey kPlanKeys[] = {
    keys::IntKey<&Bp::tile_q>("bq", &keys::Set<256, &Bp::tile_q>),
    keys::IntKey<&Bp::tile_k>("bk", &keys::Set<256, &Bp::tile_k>),
    keys::WordKey<kDialects, &Bp::dialect>(
        "dialect", "shrunk|splash|flat_list|block_mask",
        &keys::Set<PlanDialect::kShrunk, &Bp::dialect>),
    // The block_mask dialect has no blocks and counts ragged tiles as padded.
    keys::BoolKey<&Bp::blocks>("blocks",
                               [](Case& c) {
                                 PlanOf(c).blocks = PlanOf(c).dialect !=
                                                    PlanDialect::kBlockMask;
                               }),
    keys::BoolKey<&Bp::padded>("padded",
                               [](Case& c) {
                                 PlanOf(c).padded = PlanOf(c).dialect ==
                                                    PlanDialect::kBlockMask;
                               }),
    keys::BoolKey<&Bp::segments>("segments",
                                 [](Case& c) { PlanOf(c).segments = true; }),
    keys::IntKey<&Bp::width>("width", &keys::Set<0, &Bp::width>),
    keys::IntKey<&Bp::width_t>("width_t", &keys::Set<0, &Bp::width_t>),
    keys::IntKey<&Bp::q_shards>("q_shards", &keys::Set<1, &Bp::q_shards>),
    keys::IntKey<&Bp::kv_shards>("kv_shards", &keys::Set<1, &Bp::kv_shards>),
    keys::IntKey<&Bp::slack>("slack", &keys::Set<0, &Bp::slack>),
};

// Of attention_forward, in its order.
constexpr std::string_view kMaskKeys[] = {
    "hq",    "sq",    "skv",    "mask",    "mask.h",
    "align", "q_seg", "kv_seg", "valid_q", "valid_kv"};

Status Refuse(const std::string& what) {
  return Status::Error("block_plan: " + what);
}

// What a dialect cannot say.
Status CheckDialect(const BlockPlanCase& c) {
  const std::string name = DialectName(c.dialect);
  const bool whole = c.q_len % c.tile_q == 0 && c.kv_len % c.tile_k == 0;
  const bool sharded = c.q_shards != 1 || c.kv_shards != 1;
  switch (c.dialect) {
    case PlanDialect::kShrunk:
      return sharded ? Refuse("dialect=shrunk has no shards") : Status();
    case PlanDialect::kBlockMask:
      if (sharded) return Refuse("dialect=block_mask has no shards");
      if (c.blocks || !c.padded) {
        return Refuse("dialect=block_mask has blocks=no padded=yes");
      }
      break;
    case PlanDialect::kSplash:
      if (c.kv_shards != 1) return Refuse("dialect=splash has query shards");
      [[fallthrough]];
    case PlanDialect::kFlatList:
      if (!whole) {
        return Refuse("dialect=" + name + ": tiles of " +
                      std::to_string(c.tile_q) + "x" +
                      std::to_string(c.tile_k) + " do not divide " +
                      std::to_string(c.q_len) + "x" + std::to_string(c.kv_len));
      }
      if (c.padded) return Refuse("dialect=" + name + " has padded=no");
      if (c.q_shards < 1 || c.kv_shards < 1 ||
          (c.q_shards > 1 && c.kv_shards > 1) ||
          c.q_len / c.tile_q % c.q_shards != 0 ||
          c.kv_len / c.tile_k % c.kv_shards != 0) {
        return Refuse("shards are of queries or of keys and divide the tiles");
      }
      break;
  }
  if (c.width == 0 && c.width_t == 0) return Status();
  return Refuse("only dialect=shrunk has width and width_t");
}

// Places along the keys of one query, beside the ends of its id's runs.
int64_t PlacesOf(const MaskExpr& mask, int64_t kv_len) {
  int64_t places = 2;
  if (mask.kind == MaskExpr::Kind::kDense) {
    places = (kv_len + mask.block_k - 1) / mask.block_k;
  }
  for (const MaskExpr& child : mask.children) {
    places += PlacesOf(child, kv_len);
  }
  return std::min(places, kv_len);
}

// As far as the line tells: ids in files may make more of it.
int64_t PlacesOf(const BlockPlanCase& plan) {
  const std::vector<MaskExpr> masks = ToProblem(plan).masks;
  // Heads that share an expression may have bits of their own.
  const bool own = masks.size() == 1 && !plan.dense.empty();
  int64_t places = 0;
  for (const MaskExpr& mask : masks) {
    // At most 2^16 heads and 2^26 keys.
    places += PlacesOf(mask, plan.kv_len) * (own ? plan.q_heads : 1);
  }
  return places > kMaxPlanPlaces ? places : places * plan.q_len;
}

}  // namespace

std::span<const CaseKey> BlockPlanKeys() {
  static const std::vector<CaseKey> keys = [] {
    std::vector<CaseKey> list;
    for (const std::string_view name : kMaskKeys) {
      for (const CaseKey& key : AttentionForwardKeys()) {
        if (name == key.name) list.push_back(key);
      }
    }
    list.insert(list.end(), std::begin(kPlanKeys), std::end(kPlanKeys));
    list.insert(list.end(), {kGenKey, kSeedKey, kExpectKey});
    return list;
  }();
  return keys;
}

Status ValidateBlockPlan(const Case& c) {
  const BlockPlanCase& plan = c.Get<BlockPlanCase>();
  Status status = ValidateAttentionForward(c);
  if (status.ok()) {
    status = CheckTileOptions(ToProblem(plan), TileOptionsOf(plan));
  }
  if (status.ok()) status = CheckDialect(plan);
  if (!status.ok()) return status;
  const int64_t places = PlacesOf(plan);
  if (places > kMaxPlanPlaces) {
    return Refuse("the mask may change at " + std::to_string(places) +
                  " places, which are too many to check; at most " +
                  std::to_string(kMaxPlanPlaces));
  }
  const int64_t cols = (plan.kv_len + plan.tile_k - 1) / plan.tile_k;
  const int64_t rows = (plan.q_len + plan.tile_q - 1) / plan.tile_q;
  if (plan.width < 0 || plan.width > 2 * cols || plan.width_t < 0 ||
      plan.width_t > 2 * rows) {
    return Refuse("width and width_t are 0 or up to twice the " +
                  std::to_string(cols) + " x " + std::to_string(rows) +
                  " tiles of the grid");
  }
  if (plan.slack >= 0) return Status();
  return Refuse("slack=" + std::to_string(plan.slack) + " is below 0");
}

int64_t BlockPlanBytes(const Case& c) {
  const BlockPlanCase& plan = c.Get<BlockPlanCase>();
  const int64_t rows = (plan.q_len + plan.tile_q - 1) / plan.tile_q;
  const int64_t cols = (plan.kv_len + plan.tile_k - 1) / plan.tile_k;
  // Cells of both directions' tables: lengths below 2^27, twice as wide, heads
  // below 2^17.
  const int64_t cells =
      rows * std::max(cols, plan.width) + cols * std::max(rows, plan.width_t);
  int64_t bytes = 0;
  // The ranges of the mask, 8 bytes each and twice that while they grow, one
  // for every two places; and per cell and head its lists, tables, visits and
  // those of a known-bad kernel. Three times this is 384 bytes a tile; 300 to
  // 350 were measured, of tiles of one pair.
  if (__builtin_mul_overflow(64 * plan.q_heads, cells, &bytes) ||
      __builtin_add_overflow(
          bytes, 8 * std::min(PlacesOf(plan), kMaxPlanPlaces), &bytes) ||
      __builtin_add_overflow(bytes, AttentionForwardBytes(c), &bytes)) {
    return INT64_MAX;
  }
  return bytes;
}

Result<Case> ParseBlockPlan(const std::string& keys) {
  static constexpr OpRow kRow = {.text = kBlockPlanText};
  static constexpr const OpRow* kRows[] = {&kRow};
  return ParseCase("block_plan " + keys, kRows);
}

const char* DialectName(PlanDialect dialect) {
  return kDialects[static_cast<size_t>(dialect)].data();
}

optimized::TileOptions TileOptionsOf(const BlockPlanCase& c) {
  optimized::TileOptions options;
  options.tile_q = c.tile_q;
  options.tile_k = c.tile_k;
  options.boundary =
      c.padded ? optimized::Boundary::kPadded : optimized::Boundary::kInRange;
  options.segments = c.segments;
  options.blocks = c.blocks;
  return options;
}

}  // namespace lockstep::verify
