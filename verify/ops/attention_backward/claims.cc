#include "verify/ops/attention_backward/claims.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/shards.h"

namespace lockstep::verify {
namespace {

// Five products in place of two.
int64_t GradientWork(const Case& c) { return 3 * AttentionClaimWork(c); }

// Where the positions of a line of an output come from.
struct LineSource {
  const std::vector<int64_t>& rows;
  const std::vector<int64_t>& heads;
  int64_t count;        // positions of the part that are no padding
  int64_t part_length;  // and with it
  int64_t heads_there;  // of the larger call
  int64_t length_there;
};

std::vector<LinePair> LinesOf(const LineSource& from) {
  std::vector<LinePair> lines;
  int64_t head = 0;
  for (const int64_t b : from.rows) {
    for (const int64_t h : from.heads) {
      for (int64_t i = 0; i < from.count; ++i) {
        lines.push_back({head * from.part_length + i,
                         (b * from.heads_there + h) * from.length_there + i});
      }
      ++head;
    }
  }
  return lines;
}

std::vector<std::vector<LinePair>> KeptOf(const AttentionBackwardTrial& whole,
                                          const AttentionPick& pick) {
  const AttentionForwardProblem& p = whole.data().problem.forward;
  const auto part_heads = static_cast<int64_t>(pick.q_heads.size());
  const auto key_heads = static_cast<int64_t>(pick.kv_heads.size());
  std::vector<std::vector<LinePair>> kept;
  for (const OutputSpec& spec : whole.outputs()) {
    const std::string_view name = spec.name;
    std::vector<LinePair>& lines = kept.emplace_back();
    if (name == "dk" || name == "dv") {
      // Of a key head they are sums over the whole group.
      if (part_heads != key_heads * p.group()) continue;
      lines = LinesOf({pick.rows, pick.kv_heads, pick.keys,
                       pick.keys + pick.padding, p.kv_heads, p.kv_len});
    } else if (name == "dsink") {
      // It is a sum over the batch. In padding an lse is the sink's, so that
      // its cotangents there count, too.
      const bool lse_there = pick.padding > 0 && whole.data().problem.dlse;
      if (lse_there || static_cast<int64_t>(pick.rows.size()) != p.batch) {
        continue;
      }
      for (int64_t h = 0; h < part_heads; ++h) {
        lines.push_back({h, pick.q_heads[static_cast<size_t>(h)]});
      }
    } else {
      lines = LinesOf({pick.rows, pick.q_heads, pick.queries,
                       pick.queries + pick.padding, p.q_heads, p.q_len});
    }
  }
  return kept;
}

template <class Parts>
std::vector<ClaimPart> GradientCalls(const Trial& trial, const Parts& parts) {
  const auto& whole = static_cast<const AttentionBackwardTrial&>(trial);
  std::vector<ClaimPart> calls;
  for (AttentionPart& part : parts(whole.data().forward)) {
    Case line = whole.request();
    DescribePick(whole.data().forward, part.pick,
                 &line.Get<AttentionForwardCase>());
    calls.push_back(
        {std::move(part.what),
         [&whole, pick = part.pick] { return GradientCallOf(whole, pick); },
         MinimalLine(line)});
  }
  return calls;
}

}  // namespace

Result<LawCall> GradientCallOf(const AttentionBackwardTrial& whole,
                               const AttentionPick& pick) {
  Case request = whole.request();
  ASSIGN_OR_RETURN(
      AttentionBackwardData data,
      PickGradients(whole.data(), pick, &request.Get<AttentionForwardCase>()));
  LawCall call;
  call.kept = KeptOf(whole, pick);
  call.trial =
      std::make_unique<AttentionBackwardTrial>(request, std::move(data));
  return call;
}

// The law `shard`: key heads with their groups.
Result<Shards> AttentionBackwardTrial::MakeShards(
    const ShardsAsked& asked) const {
  return CallsOf(CutAttention(data().forward, asked.shard),
                 [this](const AttentionPick& pick) {
                   return GradientCallOf(*this, pick);
                 });
}

const OpClaims& AttentionBackwardClaims() {
  static const OpClaims kTable = [] {
    OpClaims table = AttentionForwardClaims();
    table.work = &GradientWork;
    table.open_lines = nullptr;
    const auto row = [&](Claim claim) -> OpClaim& {
      return table.claim[static_cast<size_t>(claim)];
    };
    row(Claim::kBatch).parts = [](const Trial& whole, const ClaimSize&,
                                  uint64_t) {
      return GradientCalls(whole, &BatchParts);
    };
    row(Claim::kHeads).parts = [](const Trial& whole, const ClaimSize&,
                                  uint64_t) {
      return GradientCalls(whole, &HeadParts);
    };
    row(Claim::kPadding).parts = [](const Trial& whole, const ClaimSize& size,
                                    uint64_t) {
      return GradientCalls(whole, [&](const AttentionForwardData& data) {
        return PaddingParts(data, size.width);
      });
    };
    // Gradients of keys are sums over all queries: no chunk has them.
    row(Claim::kChunk) = {};
    row(Claim::kDecode) = {};
    return table;
  }();
  return kTable;
}

}  // namespace lockstep::verify
