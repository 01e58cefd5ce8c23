#include "verify/ops/attention_forward/claims/claims.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

using std::to_string;

const AttentionForwardTrial& ForwardOf(const Trial& trial) {
  return static_cast<const AttentionForwardTrial&>(trial);
}

std::string LineOf(const AttentionForwardTrial& whole,
                   const AttentionPick& pick) {
  Case request = whole.request();
  DescribePick(whole.data(), pick, &request.Get<AttentionForwardCase>());
  return MinimalLine(request);
}

std::vector<ClaimPart> CallsOf(const AttentionForwardTrial& whole,
                               std::vector<AttentionPart> parts) {
  std::vector<ClaimPart> calls;
  for (AttentionPart& part : parts) {
    calls.push_back(
        {std::move(part.what),
         [&whole, pick = part.pick] { return AttentionCallOf(whole, pick); },
         LineOf(whole, part.pick)});
  }
  return calls;
}

AttentionPart Queries(const AttentionForwardData& whole, std::string what,
                      int64_t begin, int64_t end) {
  AttentionPick pick = PickAll(whole);
  pick.first_query = begin;
  pick.queries = end - begin;
  pick.keys = end;
  return {std::move(what), std::move(pick)};
}

// The first, the last, and some between.
std::vector<int64_t> Some(int64_t n) {
  const std::set<int64_t> some = {0, std::min<int64_t>(1, n - 1), n / 2,
                                  std::max<int64_t>(n - 2, 0), n - 1};
  return {some.begin(), some.end()};
}

// Chunks of that many queries; ragged: the first is one shorter, so that all
// begin elsewhere.
std::vector<AttentionPart> ChunkParts(const AttentionForwardData& whole,
                                      const ClaimSize& size) {
  const int64_t length = whole.problem.q_len;
  const int64_t first =
      size.ragged ? std::max<int64_t>(size.width / 2, 1) : size.width;
  std::vector<int64_t> edges = {0};
  for (int64_t end = first; end < length; end += size.width) {
    edges.push_back(end);
  }
  edges.push_back(length);
  std::vector<AttentionPart> parts;
  for (const int64_t n : Some(static_cast<int64_t>(edges.size()) - 1)) {
    const int64_t begin = edges[static_cast<size_t>(n)];
    const int64_t end = edges[static_cast<size_t>(n) + 1];
    parts.push_back(Queries(whole,
                            "queries " + to_string(begin) + " to " +
                                to_string(end - 1) + " of a prefill of " +
                                to_string(length) + " as a chunk",
                            begin, end));
  }
  return parts;
}

// One query at a time, with its keys: those at the edges of tiles.
std::vector<AttentionPart> DecodeParts(const AttentionForwardData& whole) {
  const int64_t length = whole.problem.q_len;
  std::set<int64_t> queries = {0, 1, length / 2, length - 2, length - 1};
  for (const int64_t edge : {16, 128, 1024}) queries.insert(edge);
  std::vector<AttentionPart> parts;
  for (const int64_t i : queries) {
    if (i < 0 || i >= length) continue;
    parts.push_back(Queries(whole,
                            "query " + to_string(i) + " of a prefill of " +
                                to_string(length) + " decoded alone",
                            i, i + 1));
  }
  return parts;
}

// Rows without a key, where the profile leaves open what they hold: by other
// tiles, or of other padding, they are other means.
std::vector<int64_t> EmptyLines(const Trial& trial,
                                const NumericProfile& profile, size_t) {
  std::vector<int64_t> lines;
  if (profile.empty_row != EmptyRow::kMeanVisited &&
      profile.empty_row != EmptyRow::kUnspecified) {
    return lines;
  }
  const AttentionForwardData& data = ForwardOf(trial).data();
  const AttentionForwardProblem& p = data.problem;
  const oracle::Visibility visibility(p, data.inputs);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (!visibility.VisibleKeys(b, h, i).empty()) continue;
        lines.push_back((b * p.q_heads + h) * p.q_len + i);
      }
    }
  }
  return lines;
}

template <class Parts>
std::vector<ClaimPart> Make(const Trial& trial, const Parts& parts) {
  const AttentionForwardTrial& whole = ForwardOf(trial);
  return CallsOf(whole, parts(whole.data()));
}

}  // namespace

std::vector<LinePair> QueryLines(const AttentionForwardProblem& p,
                                 const AttentionPick& pick) {
  std::vector<LinePair> lines;
  const int64_t rows = pick.queries + pick.padding;
  int64_t head = 0;
  for (const int64_t b : pick.rows) {
    for (const int64_t h : pick.q_heads) {
      for (int64_t i = 0; i < pick.queries; ++i) {
        lines.push_back({head * rows + i,
                         (b * p.q_heads + h) * p.q_len + pick.first_query + i});
      }
      ++head;
    }
  }
  return lines;
}

Result<LawCall> AttentionCallOf(
    const AttentionForwardTrial& whole, const AttentionPick& pick,
    const std::function<void(AttentionForwardData*)>& change) {
  Case request = whole.request();
  ASSIGN_OR_RETURN(
      AttentionForwardData data,
      PickAttention(whole.data(), pick, &request.Get<AttentionForwardCase>()));
  if (change) change(&data);
  const auto lines = QueryLines(whole.data().problem, pick);
  LawCall call;
  call.trial =
      std::make_unique<AttentionForwardTrial>(request, std::move(data));
  call.kept = {lines, lines};
  return call;
}

std::vector<AttentionPart> BatchParts(const AttentionForwardData& whole) {
  const int64_t batch = whole.problem.batch;
  std::vector<AttentionPart> parts;
  for (const int64_t b : std::set<int64_t>{0, batch / 2, batch - 1}) {
    AttentionPick pick = PickAll(whole);
    pick.rows = {b};
    parts.push_back({"batch row " + to_string(b) +
                         " alone, and in a batch of " + to_string(batch),
                     std::move(pick)});
  }
  return parts;
}

std::vector<AttentionPart> HeadParts(const AttentionForwardData& whole) {
  const AttentionForwardProblem& p = whole.problem;
  std::vector<AttentionPart> parts;
  const std::string among = " alone, and among " + to_string(p.q_heads);
  for (const int64_t g : std::set<int64_t>{0, p.kv_heads / 2, p.kv_heads - 1}) {
    AttentionPick pick = PickAll(whole);
    pick.kv_heads = {g};
    pick.q_heads.clear();
    for (int64_t n = 0; n < p.group(); ++n) {
      pick.q_heads.push_back(g * p.group() + n);
    }
    parts.push_back(
        {(p.group() == 1 ? "head " + to_string(g)
                         : "the heads of key head " + to_string(g)) +
             among,
         pick});
    if (p.group() == 1) continue;
    // Its last query head, as on a device that has no others of the group.
    pick.q_heads = {(g + 1) * p.group() - 1};
    parts.push_back({"head " + to_string(pick.q_heads[0]) + among, pick});
  }
  return parts;
}

std::vector<AttentionPart> PaddingParts(const AttentionForwardData& whole,
                                        int64_t padding) {
  std::vector<AttentionPart> parts;
  for (const double factor : {4.0, -9.0}) {
    AttentionPick pick = PickAll(whole);
    pick.padding = padding;
    pick.padding_factor = factor;
    parts.push_back({to_string(padding) +
                         (factor > 0 ? " of padding behind"
                                     : " of padding with other values behind"),
                     std::move(pick)});
  }
  return parts;
}

const OpClaims& AttentionForwardClaims() {
  static const OpClaims kTable = [] {
    OpClaims table{"keys",
                   &AttentionClaimLength,
                   &AttentionClaimGrows,
                   &AttentionClaimWork,
                   {},
                   &EmptyLines};
    const auto always = [](const Case&) { return std::string(); };
    const auto row = [&](Claim claim) -> OpClaim& {
      return table.claim[static_cast<size_t>(claim)];
    };
    row(Claim::kRepeat) = {.why_not = always, .whole = &AttentionOfLength};
    row(Claim::kSplit) = {.why_not = always, .whole = &AttentionOfLength};
    row(Claim::kBatch) = {always,
                          "batch rows",
                          &AttentionBatches,
                          true,
                          &AttentionOfBatch,
                          [](const Trial& whole, const ClaimSize&, uint64_t) {
                            return Make(whole, &BatchParts);
                          }};
    row(Claim::kHeads) = {always,
                          "key heads",
                          &AttentionHeads,
                          false,
                          &AttentionOfHeads,
                          [](const Trial& whole, const ClaimSize&, uint64_t) {
                            return Make(whole, &HeadParts);
                          }};
    row(Claim::kPadding) = {
        &WhyNoPadding,
        "positions of padding",
        &AttentionPaddings,
        false,
        &AttentionOfPadding,
        [](const Trial& whole, const ClaimSize& size, uint64_t) {
          return Make(whole, [&](const AttentionForwardData& data) {
            return PaddingParts(data, size.width);
          });
        }};
    row(Claim::kChunk) = {
        &WhyNoPrefill,
        "queries a chunk",
        &AttentionChunks,
        true,
        &AttentionPrefill,
        [](const Trial& whole, const ClaimSize& size, uint64_t) {
          return Make(whole, [&](const AttentionForwardData& data) {
            return ChunkParts(data, size);
          });
        }};
    row(Claim::kDecode) = {
        .why_not = &WhyNoPrefill,
        .whole = &AttentionPrefill,
        .parts = [](const Trial& whole, const ClaimSize&, uint64_t) {
          return Make(whole, &DecodeParts);
        }};
    return table;
  }();
  return kTable;
}

}  // namespace lockstep::verify
