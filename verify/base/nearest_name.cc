#include "verify/base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace lockstep::verify {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours: `cpa` is one
// step from `cap`, two from `p`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1),
      row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min(
          {above[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      const bool swapped =
          i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view NearestName(std::string_view word,
                             std::span<const std::string_view> names) {
  word = word.substr(0, 64);
  std::string_view best = names[0];
  size_t best_distance = SIZE_MAX;
  for (const std::string_view name : names) {
    // What was typed to its middle is nearer than any other word as long.
    const size_t distance =
        name.starts_with(word) && !word.empty() ? 1 : EditDistance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace lockstep::verify
