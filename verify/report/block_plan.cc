#include "verify/report/block_plan.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optimized/packed_rows.h"
#include "optimized/plan_key.h"
#include "optimized/row_keys.h"
#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/case/mask_text.h"
#include "verify/case/text.h"
#include "verify/inputs/attention_forward.h"
#include "verify/tables/memory.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileList;
using optimized::TilePlan;

// The same mask and payload with next to no tensors; ids from a file need the
// tensors that are in it.
Case WithoutValues(const Case& c) {
  Case small = c;
  // A block_plan case has no values to begin with.
  if (c.Has<BlockPlanCase>()) return small;
  auto& a = small.Get<AttentionForwardCase>();
  const auto from_fill = [](const Segments& segments) {
    return segments.kind == Segments::Kind::kFile && segments.path.empty();
  };
  if (from_fill(a.q_seg) || from_fill(a.kv_seg)) return small;
  a.head_dim = a.value_dim = 1;
  a.layout = Layout::kBhsd;
  a.strides = {};
  a.fill = AttentionForwardCase{}.fill;
  a.sinklogit.reset();
  return small;
}

void Put(std::span<const int32_t> values, Digester* digester) {
  digester->UpdateU64(values.size());
  for (const int32_t value : values) {
    digester->UpdateU64(static_cast<uint64_t>(int64_t{value}));
  }
}

void Put(const TileList& list, Digester* digester) {
  for (const int64_t start : list.start) {
    digester->UpdateU64(static_cast<uint64_t>(start));
  }
  Put(list.inner, digester);
  for (const TileClass c : list.classes) {
    digester->UpdateU64(static_cast<uint64_t>(c));
  }
  Put(list.block, digester);
}

// The transposed lists follow from the forward ones.
std::string DigestOf(const std::vector<TilePlan>& plans) {
  Digester digester;
  for (const TilePlan& plan : plans) {
    for (const int64_t extent : {plan.grid.q_len, plan.grid.kv_len,
                                 plan.grid.tile_q, plan.grid.tile_k}) {
      digester.UpdateU64(static_cast<uint64_t>(extent));
    }
    Put(plan.head_pattern, &digester);
    for (const auto& pattern : plan.patterns) Put(pattern.by_query, &digester);
    for (const uint64_t word : plan.pool.words) digester.UpdateU64(word);
  }
  return digester.Hex();
}

std::string KeyText(const optimized::PlanKey& key,
                    const AttentionForwardCase& c) {
  const AttentionForwardProblem& p = key.problem;
  const auto number = [](int64_t n) { return std::to_string(n); };
  const auto yes = [](bool b) { return std::string(b ? "yes" : "no"); };
  std::string text =
      "b=" + number(p.batch) + " hq=" + number(p.q_heads) +
      " hkv=" + number(p.kv_heads) + " sq=" + number(p.q_len) +
      " skv=" + number(p.kv_len) + " d=" + number(p.head_dim) +
      " dv=" + number(p.value_dim) + " lane=" + LaneName(p.lane) +
      " p=" + LaneName(p.p_lane) + " scale=" + FormatNumber({p.scale}) +
      " cap=" + (p.softcap ? FormatNumber({*p.softcap}) : "none");
  for (size_t h = 0; h < p.masks.size(); ++h) {
    const std::string name =
        p.masks.size() == 1 ? "mask" : "mask.h" + std::to_string(h);
    text += " " + name + "=" + FormatMask(p.masks[h], c.dense);
  }
  const bool bottom = p.align.kind == Alignment::Kind::kBottomRight;
  const int64_t offset =
      p.align.kind == Alignment::Kind::kOffset ? p.align.offset : 0;
  return text + " align=" + (bottom ? "br" : number(offset)) +
         " segments=" + yes(p.segments) + " counts=" + yes(key.valid_counts) +
         " sink=" + yes(p.sink) + " tile=" + number(key.tiles.tile_q) + "x" +
         number(key.tiles.tile_k) + " boundary=" +
         (key.tiles.boundary == optimized::Boundary::kPadded ? "padded"
                                                             : "in-range") +
         " blocks=" + yes(key.tiles.blocks) + " width=" + number(key.width) +
         " width_t=" + number(key.width_t);
}

Status PlanRows(const AttentionForwardData& data,
                const optimized::TileOptions& tiles, PlanReport* report) {
  report->planning_ms = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    report->plans.clear();
    const auto start = std::chrono::steady_clock::now();
    for (int64_t b = 0; b < data.problem.batch; ++b) {
      ASSIGN_OR_RETURN(TilePlan plan,
                       PlanTiles(data.problem, data.inputs, b, tiles));
      report->plans.push_back(std::move(plan));
    }
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    report->planning_ms = std::min(report->planning_ms, took.count());
  }
  return Status();
}

// Segments of a row of ids; one, where there are none.
int64_t CountSegments(const TensorView<const int32_t, 2>& ids, int64_t batch) {
  if (ids.data == nullptr) return 1;
  std::vector<optimized::IdRun> runs = optimized::RunsOf(ids, batch);
  return optimized::JoinSegments(&runs);
}

// Pairs of each pattern, by the first head that has it.
void CountSelection(const TilePlan& plan, int64_t batch, PlanReport* report) {
  const AttentionForwardData& data = report->payload;
  report->segments_q += CountSegments(data.inputs.q_seg, batch);
  report->segments_k += CountSegments(data.inputs.kv_seg, batch);
  optimized::RowKeys keys(data.problem, data.inputs, batch,
                          plan.options.segments);
  for (size_t n = 0; n < plan.patterns.size(); ++n) {
    const auto head =
        std::ranges::find(plan.head_pattern, static_cast<int32_t>(n));
    const optimized::Selection selection =
        keys.Select(head - plan.head_pattern.begin());
    report->queries += selection.queries;
    report->pairs += selection.pairs;
  }
}

void Count(PlanReport* report) {
  for (size_t b = 0; b < report->plans.size(); ++b) {
    const TilePlan& plan = report->plans[b];
    CountSelection(plan, static_cast<int64_t>(b), report);
    report->blocks += plan.pool.size();
    report->metadata_bytes += MetadataBytes(plan);
    for (const optimized::TilePattern& pattern : plan.patterns) {
      ++report->patterns;
      report->tiles += plan.grid.tiles();
      report->full += pattern.by_query.Count(TileClass::kFull);
      report->partial += pattern.by_query.Count(TileClass::kPartial);
      report->grid_width =
          std::max(report->grid_width, pattern.by_query.MaxActive());
      report->grid_width_t =
          std::max(report->grid_width_t, pattern.by_key.MaxActive());
    }
  }
  report->coo_bytes = optimized::CooBytes(report->active(), sizeof(int32_t));
  report->coo_bytes_at_tenth =
      optimized::CooBytesAtDensity(report->tiles, 10, sizeof(int32_t));
  report->digest = DigestOf(report->plans);
}

// The width of the tables: as asked, if the mask fits.
Result<int64_t> WidthOf(const char* name, int64_t asked, int64_t needed) {
  if (asked == 0) return needed;
  if (asked >= needed) return asked;
  return Status::Error(std::string(name) + "=" + std::to_string(asked) +
                       " is too small: the fullest row of tiles has " +
                       std::to_string(needed));
}

}  // namespace

std::vector<int64_t> SegmentBorders(const TensorView<const int32_t, 2>& ids,
                                    int64_t batch) {
  std::vector<int64_t> borders;
  for (const optimized::IdRun& run : optimized::RunsOf(ids, batch)) {
    if (run.tokens.begin > 0) borders.push_back(run.tokens.begin);
  }
  return borders;
}

std::optional<std::pair<int64_t, int64_t>> MaskLengths(const Case& c) {
  if (!c.Has<AttentionForwardCase>()) return std::nullopt;
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  return std::pair{a.q_len, a.kv_len};
}

Result<PlanReport> ReportPlan(const Case& c, const MaterialiseOptions& options,
                              const PlanRequest& asked) {
  RETURN_IF_ERROR(ValidateCase(c));
  if (!c.Has<AttentionForwardCase>()) {
    return Status::Error(std::string("plan: ") + OpName(c) +
                         " has no tiles to plan; want attention_forward or "
                         "block_plan");
  }
  PlanRequest request = asked;
  if (c.Has<BlockPlanCase>()) {
    const auto& plan = c.Get<BlockPlanCase>();
    request = {TileOptionsOf(plan), plan.width, plan.width_t};
  }
  ASSIGN_OR_RETURN(AttentionForwardData data,
                   Materialise(WithoutValues(c), options));
  PlanReport report;
  report.line = MinimalLine(c);
  report.payload = std::move(data);
  RETURN_IF_ERROR(CheckTileOptions(report.payload.problem, request.tiles));
  RETURN_IF_ERROR(CheckPlanMemory(report.payload.problem, report.payload.inputs,
                                  request.tiles, options.max_bytes));
  RETURN_IF_ERROR(PlanRows(report.payload, request.tiles, &report));
  Count(&report);
  ASSIGN_OR_RETURN(const int64_t width,
                   WidthOf("width", request.width, report.grid_width));
  ASSIGN_OR_RETURN(const int64_t width_t,
                   WidthOf("width_t", request.width_t, report.grid_width_t));
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  const bool counts =
      a.valid_q != std::vector{a.q_len} || a.valid_kv != std::vector{a.kv_len};
  ASSIGN_OR_RETURN(const optimized::PlanKey key,
                   optimized::MakePlanKey(ToProblem(a), counts, request.tiles,
                                          width, width_t));
  report.key = KeyText(key, a);
  return report;
}

}  // namespace lockstep::verify
