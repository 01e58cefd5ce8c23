// Answers that no single bug gives: the nearest bugs, each with a second one.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/causes/explain.h"

namespace lockstep::verify {
namespace {

// Bugs that may be the first of a pair; of them, those tried in other tiles.
constexpr size_t kFirsts = 6;
constexpr size_t kFirstsInTiles = 4;
// Pairs that are held against all cases.
constexpr size_t kScreened = 16;
// Times that the second bugs of the best pairs are made the first.
constexpr int kTurns = 2;

}  // namespace

std::vector<Hypothesis> Explainer::Nearest(size_t most) const {
  std::vector<Hypothesis> nearest;
  std::set<std::string> named;
  for (const Held& held : held_) {
    if (nearest.size() == most) break;
    if (held.hypothesis.second != nullptr) continue;
    if (!named.insert(held.hypothesis.Name()).second) continue;
    nearest.push_back(held.hypothesis);
  }
  return nearest;
}

std::vector<Hypothesis> Explainer::HoldPairs(
    const std::vector<Hypothesis>& firsts,
    const std::vector<Hypothesis>& others) {
  struct Screened {
    double left;
    Hypothesis pair;
    Hypothesis other;
  };
  Ground& ground = grounds_.front();
  std::vector<Screened> screened;
  std::set<std::string> tried;
  for (const Hypothesis& first : firsts) {
    for (const Hypothesis& other : others) {
      if (Stopped()) return {};
      std::optional<Hypothesis> pair = PairOf(first, other);
      const std::optional<Hypothesis> turned = PairOf(other, first);
      if (!pair || tried.contains(turned->spec)) continue;
      tried.insert(pair->spec);
      const auto right = ground.right.find(pair->right);
      if (right == ground.right.end()) continue;
      const std::optional<Numbers> both = Run(&ground, pair->spec);
      if (!both) continue;
      const Fit fit = FitOf(*ground.trial, right->second, *ground.produced,
                            *both, ground.rows);
      screened.push_back({Left(fit.all), std::move(*pair), other});
    }
  }
  std::stable_sort(
      screened.begin(), screened.end(),
      [](const Screened& a, const Screened& b) { return a.left < b.left; });
  screened.resize(std::min(screened.size(), kScreened));
  std::vector<Hypothesis> pairs;
  std::vector<Hypothesis> seconds;
  for (const Screened& one : screened) {
    pairs.push_back(one.pair);
    seconds.push_back(one.other);
  }
  HoldAll(pairs);
  Sort();
  return seconds;
}

void Explainer::TryPairs() {
  if (grounds_.empty() || held_.empty() || Reproduced()) return;
  std::vector<Hypothesis> firsts = Nearest(kFirsts);
  for (int turn = 0; turn <= kTurns && !Reproduced() && !Stopped(); ++turn) {
    std::vector<Hypothesis> seconds = HoldPairs(firsts, moving_);
    seconds.resize(std::min(seconds.size(), kFirstsInTiles));
    firsts = std::move(seconds);
  }
  // Edges lie where the kernel has them: own_ are the bugs that live there.
  const std::vector<Hypothesis> nearest = Nearest(kFirstsInTiles);
  for (const std::string& tile : Tiles()) {
    if (Reproduced() || Stopped()) break;
    std::vector<Hypothesis> in_tile;
    for (const Hypothesis& first : nearest) {
      in_tile.push_back(first.spec.find(",tile=") == std::string::npos &&
                                first.spec.find(",chunk=") == std::string::npos
                            ? InTile(first, tile)
                            : first);
    }
    HoldPairs(in_tile, own_);
  }
  held_.resize(std::min(held_.size(), kKept));
}

}  // namespace lockstep::verify
