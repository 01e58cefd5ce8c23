#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "verify/inputs/attention_forward/pick_masks.h"
#include "verify/ops/attention_forward/shards/shards.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

std::vector<int64_t> Numbers(const ShardRange& range) {
  std::vector<int64_t> numbers(static_cast<size_t>(range.end - range.begin));
  std::iota(numbers.begin(), numbers.end(), range.begin);
  return numbers;
}

// Batch rows by where their queries begin, where that matters.
std::map<int64_t, std::vector<int64_t>> RowsByOffset(
    const AttentionForwardData& whole) {
  const AttentionForwardProblem& p = whole.problem;
  const bool matters = AsksForPositions(p);
  std::map<int64_t, std::vector<int64_t>> rows;
  for (int64_t b = 0; b < p.batch; ++b) {
    rows[matters ? whole.inputs.Offset(p, b) : 0].push_back(b);
  }
  return rows;
}

std::string NameRows(const std::vector<int64_t>& rows) {
  std::string names = " of batch row ";
  for (const int64_t b : rows) {
    names += (b == rows.front() ? "" : ", ") + std::to_string(b);
  }
  return names;
}

AttentionCut CutHeads(const AttentionForwardData& whole, int64_t count) {
  const AttentionForwardProblem& p = whole.problem;
  // Shards of one key head; most often there is one.
  const int64_t parts = std::max<int64_t>(count / p.kv_heads, 1);
  const int64_t width = p.group() / parts;
  AttentionCut cut;
  for (int64_t n = 0; n < count; ++n) {
    ShardRange keys = RangeOfShard(n, count, p.kv_heads);
    ShardRange queries = {keys.begin * p.group(), keys.end * p.group()};
    if (parts > 1) {
      keys = {n / parts, n / parts + 1};
      queries = {n * width, (n + 1) * width};
    }
    std::string what = NameShard(n, count, NameRange("head", queries));
    if (queries.empty()) {
      cut.empty.push_back(std::move(what));
      continue;
    }
    AttentionPick pick = PickAll(whole);
    pick.kv_heads = Numbers(keys);
    pick.q_heads = Numbers(queries);
    cut.shards.push_back({std::move(pick), 0, std::move(what)});
  }
  return cut;
}

// Having tells whether some and whether all rows of a shard have something.
struct Having {
  bool some = false;
  bool all = true;
  void Add(bool one) {
    some = some || one;
    all = all && one;
  }
};

// Rows that see a key of the shard, and those of a sink with a weight.
struct RowsHaving {
  Having key, sink;
};

RowsHaving RowsOf(const AttentionForwardData& whole,
                  const oracle::Visibility& visibility,
                  const AttentionPick& pick) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const oracle::KeySet keys = {{pick.first_key, pick.first_key + pick.keys}};
  RowsHaving rows;
  for (const int64_t h : pick.q_heads) {
    rows.sink.Add(whole.problem.sink && pick.sink &&
                  !(whole.inputs.sink(h) == -kInfinity));
    for (const int64_t b : pick.rows) {
      for (int64_t i = 0; i < pick.queries; ++i) {
        const oracle::KeySet own =
            visibility.VisibleKeys(b, h, pick.first_query + i);
        rows.key.Add(!oracle::Intersect(own, keys).empty());
      }
    }
  }
  return rows;
}

}  // namespace

AttentionCut CutAttention(const AttentionForwardData& whole,
                          const ShardSpec& shard) {
  const int64_t count = shard.count;
  if (shard.axis == ShardAxis::kHeads) return CutHeads(whole, count);
  const AttentionForwardProblem& p = whole.problem;
  const bool cuts_queries = shard.axis != ShardAxis::kKv;
  const bool cuts_keys = shard.axis != ShardAxis::kQueries;
  const bool ring = cuts_queries && cuts_keys;
  const auto groups = RowsByOffset(whole);
  AttentionCut cut;
  // In step t of a ring, shard n of the queries has the keys of shard n + t.
  for (int64_t call = 0; call < (ring ? count * count : count); ++call) {
    const int64_t n = call % count, step = call / count;
    const int64_t part = cuts_keys ? (n + step) % count : 0;
    ShardRange queries = {0, p.q_len}, keys = {0, p.kv_len};
    if (cuts_queries) queries = RangeOfShard(n, count, p.q_len);
    if (cuts_keys) keys = RangeOfShard(part, count, p.kv_len);
    const std::string holds =
        (cuts_queries ? NameRange("query", queries) : "") + (ring ? ", " : "") +
        (cuts_keys ? NameRange("key", keys) : "");
    const std::string what =
        (ring ? "step " + std::to_string(step + 1) + ", " : "") +
        NameShard(n, count, holds);
    if (queries.empty() || keys.empty()) {
      cut.empty.push_back(what);
      continue;
    }
    for (const auto& [offset, rows] : groups) {
      AttentionPick pick = PickAll(whole);
      pick.rows = rows;
      pick.first_query = queries.begin;
      pick.queries = queries.end - queries.begin;
      pick.first_key = keys.begin;
      pick.keys = keys.end - keys.begin;
      pick.sink = part == 0;
      cut.shards.push_back({std::move(pick), part,
                            groups.size() > 1 ? what + NameRows(rows) : what});
    }
  }
  return cut;
}

std::string DropUnseen(const AttentionForwardData& whole,
                       const NumericProfile& claims, AttentionCut* cut) {
  // The lse of such a row is infinite.
  if (claims.empty_row == EmptyRow::kZero ||
      claims.empty_row == EmptyRow::kZeroPosInf) {
    return "";
  }
  // The lse of a row with a sink says that it has one.
  const bool sink_marks = claims.empty_row == EmptyRow::kZeroZero;
  const oracle::Visibility visibility(whole.problem, whole.inputs);
  std::vector<AttentionShard> asked;
  for (AttentionShard& shard : cut->shards) {
    const auto [key, sink] = RowsOf(whole, visibility, shard.pick);
    if (!key.some && !sink.some) {
      cut->empty.push_back(shard.what + ", no query sees a key");
    } else if (key.all || (sink.all && sink_marks)) {
      asked.push_back(std::move(shard));
    } else {
      return shard.what +
             ": some queries see no key, and an lse under the profile's "
             "empty_row does not say so";
    }
  }
  cut->shards = std::move(asked);
  return "";
}

Shards CallsOf(
    const AttentionCut& cut,
    const std::function<Result<LawCall>(const AttentionPick&)>& call_of) {
  Shards made;
  made.empty = cut.empty;
  for (const AttentionShard& one : cut.shards) {
    made.calls.push_back({one.what,
                          [call_of, pick = one.pick] { return call_of(pick); },
                          one.part});
  }
  return made;
}

}  // namespace lockstep::verify
