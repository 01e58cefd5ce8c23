// Tables have no near and far: a bug explains visits that differ from ours as
// it makes them differ.
#include "verify/causes/block_plan.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/tables/mutants.h"
#include "verify/tables/planner.h"

namespace lockstep::verify {
namespace {

// Pass, head, kind of the entry, and what it holds. Blocks are told apart by
// what lies in them.
using Entry = std::array<int64_t, 8>;

void AddHead(const TracedHead& head, int64_t pass, int64_t h,
             std::vector<Entry>* entries) {
  int64_t before = -1;
  for (const TileVisit& visit : head.visits) {
    entries->push_back({pass, h, 0, visit.mask_inner.value_or(visit.inner),
                        visit.outer, visit.inner, visit.state, visit.block});
    // Which output tile comes after which: the order of all would say the same
    // of every visit behind one too many.
    if (visit.outer != before) {
      entries->push_back({pass, h, 6, before, visit.outer, 0, 0, 0});
    }
    before = visit.outer;
  }
  for (const PaddingCell& cell : head.padding) {
    entries->push_back(
        {pass, h, 1, 0, cell.outer, cell.inner, cell.state, cell.block});
  }
  for (const int64_t tile : head.stored) {
    entries->push_back({pass, h, 2, 0, tile, 0, 0, 0});
  }
}

void AddPool(const optimized::BlockPool& pool, int64_t pass,
             std::vector<Entry>* entries) {
  for (int64_t block = 0; block < pool.size(); ++block) {
    const auto* words = pool.words.data() + block * pool.words_per_block();
    const std::string_view bytes(
        reinterpret_cast<const char*>(words),
        static_cast<size_t>(pool.words_per_block()) * sizeof(*words));
    const auto hash =
        static_cast<int64_t>(std::hash<std::string_view>{}(bytes));
    entries->push_back({pass, -1, 5, block, hash, 0, 0, 0});
  }
}

// All that a kernel does by the tables, in one order.
std::vector<Entry> EntriesOf(const PlanTrace& trace) {
  std::vector<Entry> entries;
  int64_t pass = 0;
  for (const auto* direction : {&trace.forward, &trace.transposed}) {
    for (const TracedPass& one : *direction) {
      ++pass;
      entries.push_back({pass, -1, 3, one.outer_begin, one.outer_end,
                         one.inner_begin, one.inner_end, one.ascending});
      entries.push_back({pass, -1, 4, one.grid_width.value_or(-1),
                         one.width.value_or(-1), one.inner_bytes,
                         one.outer_bytes, one.block_bytes});
      AddPool(one.pool, pass, &entries);
      for (size_t h = 0; h < one.heads.size(); ++h) {
        AddHead(one.heads[h], pass, static_cast<int64_t>(h), &entries);
      }
    }
    pass = 1000;
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

double Apart(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  std::vector<Entry> only;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                std::back_inserter(only));
  return static_cast<double>(only.size());
}

}  // namespace

std::vector<Explanation> CausesOfTables(const BlockPlanScene& scene,
                                        const PlanTrace& produced,
                                        size_t most) {
  PlanTrace sound;
  if (PlanWith({}, scene, &sound).state != RunOutcome::State::kRan) return {};
  const std::vector<Entry> right = EntriesOf(sound);
  const std::vector<Entry> given = EntriesOf(produced);
  const double wrong = Apart(given, right);
  std::vector<std::pair<Explanation, std::vector<Entry>>> found;
  for (const PlanMutantInfo& bug : PlanMutants()) {
    PlanTrace trace;
    if (PlanWith(bug.bug, scene, &trace).state != RunOutcome::State::kRan) {
      continue;
    }
    std::vector<Entry> entries = EntriesOf(trace);
    const double moved = Apart(entries, right);
    const double left = Apart(entries, given);
    if (!(moved > 0)) continue;
    Explanation cause;
    cause.bug = bug.name;
    cause.what = bug.breaks;
    cause.candidate = std::string("mutant:") + bug.name;
    cause.explained = 1 - std::min(left / std::max(wrong, moved), 1.0);
    cause.same_bits = !(left > 0);
    if (cause.explained < kCauseStated) continue;
    const auto alike =
        std::find_if(found.begin(), found.end(),
                     [&](const auto& one) { return one.second == entries; });
    if (alike == found.end()) {
      found.emplace_back(std::move(cause), std::move(entries));
    } else {
      alike->first.alike.emplace_back(bug.name);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) {
                     return a.first.explained > b.first.explained;
                   });
  std::vector<Explanation> causes;
  for (auto& [cause, entries] : found) {
    if (causes.size() == most) break;
    if (!causes.empty() && causes[0].same_bits) break;
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace lockstep::verify
