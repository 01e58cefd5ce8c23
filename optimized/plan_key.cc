#include "optimized/plan_key.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "optimized/mask_class.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

// Numbers by their bits: -0 and 0 may make different kernels.
std::optional<uint64_t> Bits(std::optional<double> number) {
  if (!number) return std::nullopt;
  return std::bit_cast<uint64_t>(*number);
}

auto Members(const AttentionForwardProblem& p) {
  return std::tuple(p.batch, p.q_heads, p.kv_heads, p.q_len, p.kv_len,
                    p.head_dim, p.value_dim, p.lane, p.key_lane(), p.p_lane,
                    p.order, p.split, Bits(p.scale), Bits(p.softcap), p.align,
                    p.segments, p.sink);
}

auto Members(const TileOptions& t) {
  return std::tuple(t.tile_q, t.tile_k, t.boundary, t.segments, t.blocks);
}

Status CheckWidth(const char* name, int64_t width, int64_t most) {
  if (width >= 1 && width <= most) return Status();
  return Status::Error(std::string("plan key: ") + name + "=" +
                       std::to_string(width) + " is out of range; want 1.." +
                       std::to_string(most));
}

Status CheckPresence(const char* what, bool promised, bool present) {
  if (promised == present) return Status();
  return Status::Error(std::string("plan key: the key ") +
                       (promised ? "promises " : "knows no ") + what +
                       ", the call has " + (present ? "some" : "none"));
}

}  // namespace

bool operator==(const PlanKey& a, const PlanKey& b) {
  return Members(a.problem) == Members(b.problem) &&
         a.problem.masks == b.problem.masks &&
         a.valid_counts == b.valid_counts &&
         Members(a.tiles) == Members(b.tiles) && a.width == b.width &&
         a.width_t == b.width_t;
}

Result<PlanKey> MakePlanKey(const AttentionForwardProblem& problem,
                            bool valid_counts, const TileOptions& tiles,
                            int64_t width, int64_t width_t) {
  Status status = Validate(problem);
  if (status.ok()) status = CheckTileOptions(problem, tiles);
  if (!status.ok()) return status;
  const TileGrid grid{problem.q_len, problem.kv_len, tiles.tile_q,
                      tiles.tile_k};
  if (status.ok()) status = CheckWidth("width", width, grid.cols());
  if (status.ok()) status = CheckWidth("width_t", width_t, grid.rows());
  if (!status.ok()) return status;
  PlanKey key{problem, valid_counts, tiles, width, width_t};
  for (MaskExpr& mask : key.problem.masks) mask = NormalMask(problem, mask);
  return key;
}

Status CheckPayload(const PlanKey& key, const AttentionForwardInputs& inputs) {
  const bool segments = key.problem.segments;
  Status status = CheckPresence("segment ids of queries", segments,
                                inputs.q_seg.data != nullptr);
  if (status.ok()) {
    status = CheckPresence("segment ids of keys", segments,
                           inputs.kv_seg.data != nullptr);
  }
  if (status.ok()) {
    status = CheckPresence("valid counts of queries", key.valid_counts,
                           !inputs.valid_q.empty());
  }
  if (status.ok()) {
    status = CheckPresence("valid counts of keys", key.valid_counts,
                           !inputs.valid_kv.empty());
  }
  return status;
}

}  // namespace lockstep::optimized
