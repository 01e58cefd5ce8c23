// What an op says about one key of its case lines. An op's keys are a table in
// canonical order; verify/case/case.cc does the rest.
#ifndef LOCKSTEP_VERIFY_CASE_KEYS_H_
#define LOCKSTEP_VERIFY_CASE_KEYS_H_

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/contract/lanes.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

struct CaseKey {
  const char* name;  // an indexed key ends in a number: name "mask.h", mask.h3
  const char* form;  // for messages: what the value looks like
  // Sets the default; keys before this one have their values already. Null:
  // the key must be given.
  void (*set_default)(Case& c);
  Status (*parse)(Scanner& in, int64_t index, Case& c);
  std::string (*print)(const Case& c, int64_t index);
  // Not null for an indexed key: the indices that `c` has.
  std::vector<int64_t> (*indices)(const Case& c);
  // A key younger than its op: canonical lines, too, leave its default out, so
  // that a case which is older has the line it always had.
  bool younger = false;
};

// Keys that every op has.
extern const CaseKey kGenKey;
extern const CaseKey kSeedKey;
extern const CaseKey kExpectKey;

// And a key of those that can be cut into shards.
extern const CaseKey kShardKey;
// What it says has a meaning for the op; of shards of heads, for so many.
Status CheckShard(const Case& c);
Status CheckHeadShards(const Case& c, int64_t q_heads, int64_t kv_heads);

// Keys of common kinds.
namespace keys {

// What a path of member pointers leads to: the first is of the struct of the
// case's op, or of one that it derives from.
template <typename T>
struct MemberOf;
template <typename Class, typename T>
struct MemberOf<T Class::*> {
  using Type = Class;
};
template <auto kFirst, auto... kRest>
auto& At(Case& c) {
  return ((c.Get<typename MemberOf<decltype(kFirst)>::Type>().*kFirst).*....*
          kRest);
}
template <auto kFirst, auto... kRest>
const auto& At(const Case& c) {
  return ((c.Get<typename MemberOf<decltype(kFirst)>::Type>().*kFirst).*....*
          kRest);
}

// As a default.
template <auto kValue, auto... kPath>
void Set(Case& c) {
  At<kPath...>(c) = kValue;
}

template <auto... kPath>
Status ParseInt(Scanner& in, int64_t, Case& c) {
  const auto value = in.Int();
  if (value.ok()) At<kPath...>(c) = value.value();
  return value.status();
}

// An integer. `set_default`: null where it must be given.
template <auto... kPath>
constexpr CaseKey IntKey(const char* name, void (*set_default)(Case& c)) {
  return {
      name,
      "an integer",
      set_default,
      &ParseInt<kPath...>,
      [](const Case& c, int64_t) { return std::to_string(At<kPath...>(c)); },
      nullptr};
}

// One word of a list; its place in it is the value of an enum or a bool.
template <const auto& kWords, auto... kPath>
Status ParseWord(Scanner& in, int64_t, Case& c) {
  auto& to = At<kPath...>(c);
  for (size_t i = 0; i < std::size(kWords); ++i) {
    if (!in.AcceptWord(kWords[i])) continue;
    to = static_cast<std::remove_reference_t<decltype(to)>>(i);
    return {};
  }
  return in.Error("expected " + ListNames(kWords) + ", found " +
                  Quote(in.Rest()));
}

// `form`: the words, joined by '|'.
template <const auto& kWords, auto... kPath>
constexpr CaseKey WordKey(const char* name, const char* form,
                          void (*set_default)(Case& c)) {
  return {name,
          form,
          set_default,
          &ParseWord<kWords, kPath...>,
          [](const Case& c, int64_t) {
            return std::string(kWords[static_cast<size_t>(At<kPath...>(c))]);
          },
          nullptr};
}

inline constexpr std::string_view kNoYes[] = {"no", "yes"};
template <auto... kPath>
constexpr CaseKey BoolKey(const char* name, void (*set_default)(Case& c)) {
  return WordKey<kNoYes, kPath...>(name, "no|yes", set_default);
}

inline constexpr std::string_view kLanes[] = {
    kLaneRows[0].name, kLaneRows[1].name, kLaneRows[2].name};
static_assert(std::size(kLanes) == kWideLanes);
inline constexpr const char* kLaneForm = "f32|bf16|f16";
template <auto... kPath>
Status ParseLane(Scanner& in, int64_t index, Case& c) {
  const char* const added = LaneName(Lane::kAdded);
  if (added == nullptr || !in.AcceptWord(added)) {
    return ParseWord<kLanes, kPath...>(in, index, c);
  }
  At<kPath...>(c) = Lane::kAdded;
  return {};
}
template <auto... kPath>
constexpr CaseKey LaneKey(const char* name) {
  return {name,
          kLaneForm,
          &Set<Lane::kF32, kPath...>,
          &ParseLane<kPath...>,
          [](const Case& c, int64_t) {
            return std::string(LaneName(At<kPath...>(c)));
          },
          nullptr};
}

}  // namespace keys

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_KEYS_H_
