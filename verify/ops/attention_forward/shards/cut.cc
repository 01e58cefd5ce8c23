#include "verify/ops/attention_forward/shards/cut.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "verify/inputs/attention_forward/pick_masks.h"
#include "verify/ops/shards.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// Positions, or heads, of one shard.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
};

Range RangeOf(int64_t n, int64_t count, int64_t length) {
  const int64_t width = ShardWidth(length, count);
  return {std::min(n * width, length), std::min((n + 1) * width, length)};
}

std::vector<int64_t> Numbers(const Range& range) {
  std::vector<int64_t> numbers;
  for (int64_t n = range.begin; n < range.end; ++n) numbers.push_back(n);
  return numbers;
}

// Batch rows by where their queries begin, where that matters.
std::vector<std::vector<int64_t>> RowsByOffset(
    const AttentionForwardData& whole) {
  const AttentionForwardProblem& p = whole.problem;
  const bool matters = AsksForPositions(p);
  std::map<int64_t, std::vector<int64_t>> rows;
  for (int64_t b = 0; b < p.batch; ++b) {
    rows[matters ? whole.inputs.Offset(p, b) : 0].push_back(b);
  }
  std::vector<std::vector<int64_t>> groups;
  for (auto& [offset, group] : rows) groups.push_back(std::move(group));
  return groups;
}

class AttentionCutter {
 public:
  AttentionCutter(const AttentionForwardData& whole, const ShardSpec& shard)
      : whole_(whole), p_(whole.problem), shard_(shard) {}

  AttentionCut Run() {
    switch (shard_.axis) {
      case ShardAxis::kHeads:
        Heads();
        break;
      case ShardAxis::kRing:
        Ring();
        break;
      case ShardAxis::kKv:
        for (int64_t n = 0; n < shard_.count; ++n) {
          const Range keys = RangeOf(n, shard_.count, p_.kv_len);
          const std::string what = NameShard(
              n, shard_.count, NameRange("key", keys.begin, keys.end));
          AddPositions({0, p_.q_len}, keys, n, what);
        }
        break;
      default:
        for (int64_t n = 0; n < shard_.count; ++n) {
          const Range queries = RangeOf(n, shard_.count, p_.q_len);
          const std::string what = NameShard(
              n, shard_.count, NameRange("query", queries.begin, queries.end));
          AddPositions(queries, {0, p_.kv_len}, 0, what);
        }
    }
    return std::move(cut_);
  }

 private:
  void Heads() {
    const int64_t count = shard_.count;
    // Shards of one key head; most often there is one.
    const int64_t parts = std::max<int64_t>(count / p_.kv_heads, 1);
    for (int64_t n = 0; n < count; ++n) {
      Range keys = RangeOf(n, count, p_.kv_heads);
      Range queries = {keys.begin * p_.group(), keys.end * p_.group()};
      if (parts > 1) {
        const int64_t width = p_.group() / parts;
        keys = {n / parts, n / parts + 1};
        queries = {n * width, (n + 1) * width};
      }
      const std::string what =
          NameShard(n, count, NameRange("head", queries.begin, queries.end));
      if (queries.empty()) {
        cut_.empty.push_back(what);
        continue;
      }
      AttentionPick pick = PickAll(whole_);
      pick.kv_heads = Numbers(keys);
      pick.q_heads = Numbers(queries);
      cut_.shards.push_back({std::move(pick), 0, what});
    }
  }

  // In step t, shard n of the queries has the keys of shard n + t.
  void Ring() {
    const int64_t count = shard_.count;
    for (int64_t step = 0; step < count; ++step) {
      for (int64_t n = 0; n < count; ++n) {
        const int64_t from = (n + step) % count;
        const Range queries = RangeOf(n, count, p_.q_len);
        const Range keys = RangeOf(from, count, p_.kv_len);
        const std::string what =
            "step " + std::to_string(step + 1) + ", " +
            NameShard(n, count,
                      NameRange("query", queries.begin, queries.end) + ", " +
                          NameRange("key", keys.begin, keys.end));
        AddPositions(queries, keys, from, what);
      }
    }
  }

  void AddPositions(const Range& queries, const Range& keys, int64_t key_shard,
                    const std::string& what) {
    if (queries.empty() || keys.empty()) {
      cut_.empty.push_back(what);
      return;
    }
    const auto groups = RowsByOffset(whole_);
    for (const std::vector<int64_t>& rows : groups) {
      AttentionPick pick = PickAll(whole_);
      pick.rows = rows;
      pick.first_query = queries.begin;
      pick.queries = queries.end - queries.begin;
      pick.first_key = keys.begin;
      pick.keys = keys.end - keys.begin;
      pick.sink = key_shard == 0;
      std::string name = what;
      if (groups.size() > 1) {
        for (const int64_t b : rows) {
          name +=
              (b == rows.front() ? " of batch row " : ", ") + std::to_string(b);
        }
      }
      cut_.shards.push_back({std::move(pick), key_shard, std::move(name)});
    }
  }

  const AttentionForwardData& whole_;
  const AttentionForwardProblem& p_;
  const ShardSpec& shard_;
  AttentionCut cut_;
};

enum class Seen { kNone, kSome, kAll };

// How many of a shard's queries see a key of it.
Seen SeenOf(const oracle::Visibility& visibility, const AttentionPick& pick) {
  const oracle::KeySet keys = {{pick.first_key, pick.first_key + pick.keys}};
  int64_t seen = 0, rows = 0;
  for (const int64_t b : pick.rows) {
    for (const int64_t h : pick.q_heads) {
      for (int64_t i = 0; i < pick.queries; ++i, ++rows) {
        const oracle::KeySet own =
            visibility.VisibleKeys(b, h, pick.first_query + i);
        seen += oracle::Intersect(own, keys).empty() ? 0 : 1;
      }
    }
  }
  if (seen == 0) return Seen::kNone;
  return seen < rows ? Seen::kSome : Seen::kAll;
}

// How many of a shard's heads have a sink with a weight.
Seen SinksOf(const AttentionForwardData& whole, const AttentionPick& pick) {
  if (!whole.problem.sink || !pick.sink) return Seen::kNone;
  const auto weighs = [&](int64_t h) {
    return !(whole.inputs.sink(h) == -std::numeric_limits<float>::infinity());
  };
  const auto count =
      std::count_if(pick.q_heads.begin(), pick.q_heads.end(), weighs);
  if (count == 0) return Seen::kNone;
  return count < std::ssize(pick.q_heads) ? Seen::kSome : Seen::kAll;
}

}  // namespace

std::string DropUnseen(const AttentionForwardData& whole, bool sink_marks,
                       AttentionCut* cut) {
  const oracle::Visibility visibility(whole.problem, whole.inputs);
  std::vector<AttentionShard> asked;
  for (AttentionShard& shard : cut->shards) {
    const Seen sink = SinksOf(whole, shard.pick);
    const Seen seen = SeenOf(visibility, shard.pick);
    if (seen == Seen::kNone && sink == Seen::kNone) {
      cut->empty.push_back(shard.what + ", no query sees a key");
    } else if (seen == Seen::kAll || (sink == Seen::kAll && sink_marks)) {
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

AttentionCut CutAttention(const AttentionForwardData& whole,
                          const ShardSpec& shard) {
  return AttentionCutter(whole, shard).Run();
}

}  // namespace lockstep::verify
