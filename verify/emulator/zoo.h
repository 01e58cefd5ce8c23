// What the zoos of correct kernels have in common.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ZOO_H_
#define LOCKSTEP_VERIFY_EMULATOR_ZOO_H_

#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/base/nearest_name.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Behind the name of a variant: its odd calls go through their sums in the
// other order, and its profile says repeat = no.
inline constexpr std::string_view kUnordered = "-unordered";

template <typename Variant>
NumericProfile& NumericOfVariant(Variant* variant) {
  if constexpr (requires { variant->numeric; }) {
    return variant->numeric;
  } else {
    return variant->scan.numeric;
  }
}

// `of`: what the message says the zoo is of, " of a scan". Errors: a name that
// it does not have; the nearest is named.
template <typename Variant>
Result<Variant> FindInZoo(std::string_view name, std::span<const Variant> zoo,
                          const char* of) {
  if (name.ends_with(kUnordered)) {
    Result<Variant> ordered =
        FindInZoo(name.substr(0, name.size() - kUnordered.size()), zoo, of);
    if (!ordered.ok()) return ordered;
    NumericProfile& numeric = NumericOfVariant(&ordered.value());
    numeric.name = name;
    numeric.repeat = false;
    return ordered;
  }
  std::string known;
  for (const Variant& variant : zoo) {
    if (variant.name() == name) return variant;
    known += " " + variant.name();
  }
  return Status::Error(
      "variant '" + std::string(name) + "'" + of + " is not in the zoo; " +
      NearestIs(name, zoo, [](const auto& v) { return v.name(); }) +
      "; known:" + known);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ZOO_H_
