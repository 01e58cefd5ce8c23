#include "fuzz/where.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <sstream>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::fuzz {
namespace {

using verify::Case;

// Drawn cases that are asked whether any can be so.
constexpr uint64_t kAsked = 500;
// The value of a key that is left out: 1/sqrt(d) of `scale`.
constexpr const char* kDefault = "default";

using Keys = std::vector<std::pair<std::string, std::string>>;

Keys KeysOf(const std::string& line) {
  std::istringstream words(line);
  Keys keys;
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    if (at != word.npos)
      keys.push_back({word.substr(0, at), word.substr(at + 1)});
  }
  return keys;
}

std::optional<std::string> ValueOf(const Keys& keys, const std::string& key) {
  for (const auto& [name, value] : keys) {
    if (name == key) return value;
  }
  return std::nullopt;
}

// Heads with masks of their own would not have the one that is asked for, and
// strides are made for the shapes that were drawn.
bool GivesWay(const std::string& key, const std::string& to) {
  return key == to || key == "strides" ||
         (to == "mask" && key.starts_with("mask."));
}

// Which of the values: those of two keys are not in step.
size_t ChoiceOf(uint64_t index, size_t place, size_t count) {
  uint64_t mixed =
      (index + 1) * 0x9e3779b97f4a7c15u + place * 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 29;
  mixed *= 0x94d049bb133111ebu;
  return static_cast<size_t>((mixed >> 32) % count);
}

Result<Case> WithKeys(const std::vector<WhereKey>& where, const Case& c,
                      uint64_t index) {
  const std::string minimal = verify::MinimalLine(c);
  Keys keys = KeysOf(minimal);
  for (size_t n = 0; n < where.size(); ++n) {
    const WhereKey& one = where[n];
    const std::string& text = one.values[ChoiceOf(index, n, one.values.size())];
    std::optional<std::string> value = ValueOf(keys, text);
    // A key that stands in no minimal line has its default.
    if (!value) value = ValueOf(KeysOf(verify::CanonicalLine(c)), text);
    std::erase_if(
        keys, [&](const auto& key) { return GivesWay(key.first, one.key); });
    if (text != kDefault) keys.push_back({one.key, value.value_or(text)});
  }
  std::string line = minimal.substr(0, minimal.find(' '));
  for (const auto& [key, value] : keys) line += " " + key + "=" + value;
  Result<Case> other = verify::ParseCase(line, std::span(&c.op, 1));
  if (!other.ok()) return other;
  RETURN_IF_ERROR(verify::ValidateCase(other.value()));
  return other;
}

// "a|(b|c)" as "a" and "(b|c)".
std::vector<std::string> Alternatives(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == '|' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

Result<std::vector<WhereKey>> ParseWhere(const std::string& text) {
  std::vector<WhereKey> where;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    const std::vector<std::string> values =
        at == word.npos ? std::vector<std::string>{""}
                        : Alternatives(word.substr(at + 1));
    const bool empty = std::count(values.begin(), values.end(), "") > 0;
    if (at == 0 || empty) {
      return Status::Error("--where: " + verify::Quote(word) +
                           " is no KEY=VALUE or KEY=VALUE|VALUE, such as "
                           "mask=causal or d=64|128");
    }
    where.push_back({word.substr(0, at), values});
  }
  if (where.empty()) {
    return Status::Error(
        "--where: want keys of case lines, such as "
        "'mask=causal d=64|128 hkv=hq'");
  }
  return where;
}

std::optional<std::vector<Case>> WithKeys(const std::vector<WhereKey>& where,
                                          const std::vector<Case>& sequence,
                                          uint64_t index, std::string* why) {
  std::vector<Case> other;
  for (const Case& c : sequence) {
    Result<Case> made = WithKeys(where, c, index);
    if (!made.ok()) {
      if (why != nullptr) *why = made.message();
      return std::nullopt;
    }
    other.push_back(std::move(made.value()));
  }
  return other;
}

bool Meets(const std::vector<WhereKey>& where,
           const std::vector<Case>& sequence) {
  const auto has = [](const Case& c, const WhereKey& key) {
    return std::any_of(
        key.values.begin(), key.values.end(), [&](const std::string& value) {
          const Result<Case> same = WithKeys({{key.key, {value}}}, c, 0);
          return same.ok() && same.value() == c;
        });
  };
  return std::all_of(where.begin(), where.end(), [&](const WhereKey& key) {
    return std::all_of(sequence.begin(), sequence.end(),
                       [&](const Case& c) { return has(c, key); });
  });
}

Status CheckWhere(const std::vector<WhereKey>& where,
                  const verify::Domain& domain,
                  const verify::DomainOptions& options) {
  std::string why;
  for (uint64_t n = 0; n < kAsked; ++n) {
    const auto drawn = verify::DrawCase(domain, options, 0, n);
    if (WithKeys(where, drawn, n, &why)) return {};
  }
  return Status::Error("--where: no drawn case of " + std::string(domain.op) +
                       " can be so: " + why);
}

}  // namespace lockstep::fuzz
