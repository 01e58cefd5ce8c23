#include "verify/selftest/zoo/draw.h"

#include <algorithm>
#include <utility>

#include "verify/base/mixing.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace {

// A case in twenty has a key that is seldom; draws cost microseconds.
constexpr int64_t kMostDraws = 5000;
// Kernels of several lanes: a key may belong to one of them.
constexpr size_t kKernelsAsked = 8;

// Whether the word is the key, alone or with a value.
bool IsOfKey(std::string_view word, std::string_view key) {
  if (!word.starts_with(key)) return false;
  const std::string_view rest = word.substr(key.size());
  return rest.empty() || rest[0] == '=' || rest[0] == ':';
}

// Whether a term of the mask is of the key's kind.
bool HasTerm(std::string_view mask, std::string_view key) {
  constexpr std::string_view kBetween = "&|()";
  for (size_t at = 0; at < mask.size();) {
    const size_t end = std::min(mask.find_first_of(kBetween, at), mask.size());
    if (IsOfKey(mask.substr(at, end - at), key)) return true;
    at = end + 1;
  }
  return false;
}

bool HasOne(const Case& c, const std::vector<std::string>& keys) {
  if (keys.empty()) return true;
  const std::string line = MinimalLine(c);
  return std::any_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return LineHas(line, key); });
}

}  // namespace

bool LineHas(std::string_view line, std::string_view key) {
  if (key.empty()) return false;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    at = end + 1;
    if (IsOfKey(word, key)) return true;
    const size_t equals = word.find('=');
    if (!word.starts_with("mask") || equals == word.npos) continue;
    if (HasTerm(word.substr(equals + 1), key)) return true;
  }
  return false;
}

uint64_t ZooSeed(const SelftestOptions& options, int64_t number) {
  return options.seed * 1000003 + static_cast<uint64_t>(number);
}

std::optional<Case> DrawForZoo(const SelftestRow& op,
                               const SelftestOptions& options,
                               const NumericProfile& profile, int64_t number) {
  uint64_t seed = ZooSeed(options, number);
  uint64_t state = Mix(seed);
  const int64_t draws = options.zoo_with.empty() ? 1 : kMostDraws;
  for (int64_t n = 0; n < draws; ++n) {
    Result<Case> c = options.draw ? options.draw(op, profile, seed)
                                  : op.draw(profile, seed, number);
    if (c.ok() && HasOne(c.value(), options.zoo_with) &&
        ValidateCase(c.value()).ok()) {
      return std::move(c.value());
    }
    seed = NextMixed(&state);
  }
  return std::nullopt;
}

bool DrawsForZoo(const SelftestRow& op, const SelftestOptions& options,
                 const std::vector<std::string>& kernels) {
  if (options.zoo_with.empty()) return true;
  for (size_t n = 0; n < std::min(kernels.size(), kKernelsAsked); ++n) {
    const Result<Subject> subject = op.correct(kernels[n]);
    if (subject.ok() && DrawForZoo(op, options, subject->profile, 0)) {
      return true;
    }
  }
  return false;
}

Status CheckZooKeys(const SelftestOptions& options) {
  for (const std::string& key : options.zoo_with) {
    SelftestOptions one = options;
    one.zoo_with = {key};
    const bool drawn = std::any_of(options.rows.begin(), options.rows.end(),
                                   [&](const SelftestRow* op) {
                                     return DrawsForZoo(*op, one, op->zoo());
                                   });
    if (drawn) continue;
    return Status::Error("--with: no drawn case has " + Quote(key) +
                         "; want keys of case lines, such as "
                         "page,layout=varlen,alias");
  }
  return {};
}

}  // namespace lockstep::verify
