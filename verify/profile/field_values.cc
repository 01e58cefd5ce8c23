#include "verify/profile/field_values.h"

#include <algorithm>
#include <charconv>

namespace lockstep::verify {
namespace {

// fp8 on Ada and Hopper keeps 13 bits: docs/gpu-units.md.
constexpr int64_t kLeastGuardBits = 13 - 23;

const Words kAccumulators = {"rn32", "trunc32", "mma", "bf16", "f16"};

}  // namespace

std::string Join(const Words& words) {
  std::string text;
  for (const char* word : words) {
    if (*word == '\0') continue;
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  return text;
}

bool ParseNumber(std::string_view text, double* value) {
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  if (digits.starts_with("-")) return false;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(
      digits.data(), end, *value,
      hex ? std::chars_format::hex : std::chars_format::general);
  // -0 is 0: a profile has one text.
  if (negative && *value != 0) *value = -*value;
  return error == std::errc{} && stop == end && *value == *value;
}

bool ParseInteger(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc{} && stop == end;
}

std::string PrintCount(int64_t count) {
  return count == 0 ? std::string("any") : std::to_string(count);
}

std::string ParseCount(std::string_view text, int64_t* count) {
  int64_t value = 0;
  if (text != "any" && (!ParseInteger(text, &value) || value < 1)) {
    return "any, or a count >= 1";
  }
  *count = value;
  return "";
}

std::string PrintSum(const Accumulator& a) {
  std::string text = kAccumulators[static_cast<size_t>(a.kind)];
  if (a.kind == Accumulator::Kind::kMma) {
    text += ":" + std::to_string(a.width) + "," + std::to_string(a.guard_bits);
  }
  return text;
}

std::string ParseSum(std::string_view text, Accumulator* sum) {
  const std::string wanted =
      "rn32, trunc32, mma:K,G (K in 1..1024, G in -10..24), bf16 or f16";
  if (text.starts_with("mma:")) {
    const std::string_view rest = text.substr(4);
    const size_t comma = std::min(rest.find(','), rest.size());
    int64_t k = 0, g = 0;
    if (comma == rest.size() || !ParseInteger(rest.substr(0, comma), &k) ||
        !ParseInteger(rest.substr(comma + 1), &g) || k < 1 || k > 1024 ||
        g < kLeastGuardBits || g > 24) {
      return wanted;
    }
    *sum = {Accumulator::Kind::kMma, static_cast<int>(k), static_cast<int>(g)};
    return "";
  }
  for (size_t i = 0; i < kAccumulators.size(); ++i) {
    const auto kind = static_cast<Accumulator::Kind>(i);
    if (text == kAccumulators[i] && kind != Accumulator::Kind::kMma) {
      *sum = {kind, 0, 0};
      return "";
    }
  }
  return wanted;
}

}  // namespace lockstep::verify
