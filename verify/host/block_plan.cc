#include <algorithm>
#include <memory>
#include <vector>

#include "verify/host/call.h"

namespace lockstep::verify::host {
namespace {

// More than any dialect has.
constexpr int64_t kMostTables = 64;

struct Plan {
  lockstep_block_plan_call call{};
  std::vector<lockstep_table> tables;
  int64_t count = 0;
};

Json TablesOf(const Plan& plan, int64_t room_offset) {
  Json tables = Json::object();
  const int64_t count = std::clamp<int64_t>(plan.count, 0, kMostTables);
  for (int64_t n = 0; n < count; ++n) {
    const lockstep_table& table = plan.tables[static_cast<size_t>(n)];
    Json shape = Json::array();
    const int32_t rank = std::clamp(table.rank, 0, LOCKSTEP_MAX_RANK);
    for (int32_t axis = 0; axis < rank; ++axis) {
      shape.push_back(table.shape[axis]);
    }
    const bool named = table.name != nullptr && table.dtype != nullptr;
    tables[named ? table.name : ""] = {{"offset", room_offset + table.offset},
                                       {"dtype", named ? table.dtype : ""},
                                       {"shape", std::move(shape)}};
  }
  return tables;
}

}  // namespace

PreparedCall PrepareBlockPlan(const Library& library, lockstep_handle* handle,
                              CallReader* reader) {
  const auto function = library.block_plan;
  if (function == nullptr) return {};
  CallReader& in = *reader;
  const auto plan = std::make_shared<Plan>();
  plan->tables.resize(static_cast<size_t>(kMostTables));
  lockstep_block_plan_call& call = plan->call;
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.case_line = in.case_line();
  call.dialect = in.Word("dialect");
  call.blocks = in.Truth("blocks");
  call.padded = in.Truth("padded");
  call.segments = in.Truth("segments");
  const auto& masks = in.Masks();
  call.masks = masks.data();
  call.mask_count = static_cast<int32_t>(masks.size());
  call.hq = in.Integer("hq");
  call.sq = in.Integer("sq");
  call.skv = in.Integer("skv");
  call.bq = in.Integer("bq");
  call.bk = in.Integer("bk");
  call.width = in.Integer("width");
  call.width_t = in.Integer("width_t");
  call.q_shards = in.Integer("q_shards");
  call.kv_shards = in.Integer("kv_shards");
  call.slack = in.Integer("slack");
  call.offset = in.Integers("offset");
  call.mask = in.Input("mask");
  call.valid_q = in.Input("valid_q");
  call.valid_kv = in.Input("valid_kv");
  call.q_seg = in.Input("q_seg");
  call.kv_seg = in.Input("kv_seg");
  call.room = in.room();
  call.room_bytes = in.room_bytes();
  call.tables = plan->tables.data();
  call.most_tables = kMostTables;
  call.table_count = &plan->count;
  const int64_t offset = in.room_offset();
  return {[=](lockstep_receipt* receipt) {
            return function(handle, &plan->call, receipt);
          },
          [=] { return TablesOf(*plan, offset); }};
}

}  // namespace lockstep::verify::host
