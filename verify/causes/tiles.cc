// Bugs of tiles, which look like others where a tile ends with the rows or
// keys.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "verify/causes/explain.h"

namespace lockstep::verify {
namespace {

// Bugs that are compared with those of tiles in the same tile.
constexpr size_t kMostNamed = 8;

bool IsOf(const char* family, const Hypothesis& one) {
  return std::string_view(one.bug->family) == family;
}

// Whether all rows, or all keys, lie in one such tile: where several do, edges
// inside tell a bug of tiles from one of masks.
bool HoldsASide(const Trial& trial, const std::string& tile) {
  const KernelInputs inputs = trial.Inputs();
  const NamedTensor *const q = inputs.Find("q"), *const k = inputs.Find("k");
  int rows = 0, keys = 0;
  if (q == nullptr || k == nullptr ||
      std::sscanf(tile.c_str(), "tile=%dx%d", &rows, &keys) != 2) {
    return false;
  }
  return rows >= q->shape[2] || keys >= k->shape[2];
}

std::vector<Hypothesis> AllInTile(const std::vector<Hypothesis>& all,
                                  const std::string& tile) {
  std::vector<Hypothesis> moved;
  for (const Hypothesis& one : all) moved.push_back(InTile(one, tile));
  return moved;
}

}  // namespace

void Explainer::CompareWithTiles() {
  std::vector<Hypothesis> rivals = HypothesesOf(op_, profile_);
  std::erase_if(rivals,
                [](const Hypothesis& one) { return !IsOf("tiles", one); });
  std::vector<Hypothesis> named;
  for (const Held& held : held_) {
    const bool own = held.Explained() >= kCauseReproduced &&
                     held.hypothesis.spec.find(",tile=") == std::string::npos;
    if (own && named.size() < kMostNamed) named.push_back(held.hypothesis);
  }
  const bool masks =
      std::any_of(named.begin(), named.end(),
                  [](const Hypothesis& one) { return IsOf("mask", one); });
  if (rivals.empty() || !masks) return;
  for (const std::string& tile : Tiles()) {
    if (!HoldsASide(*grounds_.front().trial, tile)) continue;
    const size_t before = held_.size();
    HoldAll(AllInTile(rivals, tile));
    const bool alike = std::any_of(
        held_.begin() + static_cast<std::ptrdiff_t>(before), held_.end(),
        [](const Held& held) { return held.Explained() >= kCauseReproduced; });
    // In one tile all have its roundings, and differ by what they do.
    if (alike) HoldAll(AllInTile(named, tile));
  }
}

}  // namespace lockstep::verify
