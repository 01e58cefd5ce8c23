// What emulated kernels cost, in multiply-adds: the same on every machine.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "verify/causes/explain.h"
#include "verify/ops/facts.h"

namespace lockstep::verify {
namespace {

// Of a run, beside its multiply-adds; of a pair of query and key in the mask;
// and how many queries have their mask together, about.
constexpr double kWorkOfRun = 0x1p12;
constexpr double kWorkOfPair = 6;
constexpr int64_t kMaskTile = 64;

// Multiply-adds of one kernel on these rows.
double WorkOf(const Trial& trial, const LookedAt& rows) {
  if (!rows.empty()) {
    return static_cast<double>(std::ssize(rows)) *
           static_cast<double>(trial.RowCost());
  }
  // A scan computes its rows together, and little of it at once.
  const std::optional<Work> work = trial.facts().CountWork();
  return work ? work->flop : static_cast<double>(WorkToExplain(trial));
}

// A mask is asked for every key of each tile of queries that has such a row.
double WorkOfMask(const Trial& trial, const LookedAt& rows) {
  const KernelInputs inputs = trial.Inputs();
  const NamedTensor *const q = inputs.Find("q"), *const k = inputs.Find("k");
  if (q == nullptr || k == nullptr || k->shape.size() < 3) return 0;
  const int64_t keys = k->shape[2], queries = q->shape[2];
  if (rows.empty()) {
    return kWorkOfPair * static_cast<double>(keys) *
           static_cast<double>(trial.rows());
  }
  std::set<int64_t> tiles;
  for (const int64_t row : rows) tiles.insert(row / kMaskTile);
  return kWorkOfPair * static_cast<double>(keys) *
         static_cast<double>(std::min(kMaskTile, queries) * std::ssize(tiles));
}

}  // namespace

int64_t WorkToExplain(const Trial& trial) {
  const int64_t row = std::max<int64_t>(trial.RowCost(), 1);
  const int64_t most = std::numeric_limits<int64_t>::max();
  return trial.rows() > most / row ? most : trial.rows() * row;
}

double WorkOfRows(const Trial& trial, const LookedAt& rows) {
  return kWorkOfRun + WorkOf(trial, rows) + WorkOfMask(trial, rows);
}

}  // namespace lockstep::verify
