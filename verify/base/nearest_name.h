// The name that was meant, for messages about one that is not known.
#ifndef LOCKSTEP_VERIFY_BASE_NEAREST_NAME_H_
#define LOCKSTEP_VERIFY_BASE_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::verify {

// The name with the smallest edit distance to `word`. Requires: names.
std::string_view NearestName(std::string_view word,
                             std::span<const std::string_view> names);

// "nearest is 'cap'". Requires: rows, each with its name in `name`.
template <typename Rows, typename Name>
std::string NearestIs(std::string_view word, const Rows& rows, Name name) {
  std::vector<std::string> owned;
  for (const auto& row : rows) owned.emplace_back(name(row));
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  return "nearest is '" + std::string(NearestName(word, names)) + "'";
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_NEAREST_NAME_H_
