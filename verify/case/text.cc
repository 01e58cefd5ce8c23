#include "verify/case/text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <type_traits>

#include "verify/base/digest.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The characters that a number may be made of, for messages only.
std::string_view NumberText(std::string_view rest) {
  const size_t end = rest.find_first_of(",;]&|() \t:*#/");
  return rest.substr(0, end == 0 ? 1 : end);
}

template <typename T>
Result<T> ScanInteger(const Scanner& in, std::string_view rest, size_t* used) {
  T value = 0;
  // Seeds are often written in hexadecimal.
  const bool hex = std::is_unsigned_v<T> && rest.starts_with("0x");
  const auto [end, error] =
      std::from_chars(rest.data() + (hex ? 2 : 0), rest.data() + rest.size(),
                      value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) {
    return in.Error(Quote(NumberText(rest)) + " is out of range; largest is " +
                    std::to_string(std::numeric_limits<T>::max()));
  }
  if (error != std::errc()) {
    return in.Error("expected an integer, found " +
                    (rest.empty() ? "nothing" : Quote(NumberText(rest))));
  }
  *used = static_cast<size_t>(end - rest.data());
  return value;
}

}  // namespace

bool Scanner::Accept(char c) {
  if (AtEnd() || Peek() != c) return false;
  ++position_;
  return true;
}

bool Scanner::AcceptWord(std::string_view word) {
  const std::string_view rest = Rest();
  if (!rest.starts_with(word)) return false;
  if (rest.size() > word.size() && IsWordChar(rest[word.size()])) return false;
  position_ += word.size();
  return true;
}

std::string_view Scanner::Word() {
  const std::string_view rest = Rest();
  size_t size = 0;
  while (size < rest.size() && IsWordChar(rest[size])) ++size;
  position_ += size;
  return rest.substr(0, size);
}

std::string_view Scanner::Until(std::string_view stop) {
  const std::string_view rest = Rest();
  const std::string_view found = rest.substr(0, rest.find_first_of(stop));
  position_ += found.size();
  return found;
}

Result<int64_t> Scanner::Int() {
  size_t used = 0;
  const auto value = ScanInteger<int64_t>(*this, Rest(), &used);
  position_ += used;
  return value;
}

Result<uint64_t> Scanner::Unsigned() {
  size_t used = 0;
  const auto value = ScanInteger<uint64_t>(*this, Rest(), &used);
  position_ += used;
  return value;
}

Result<int64_t> Scanner::Count() {
  const size_t start = position_;
  const auto value = Int();
  if (value.ok() && value.value() < 0) {
    return ErrorAt(start, std::to_string(value.value()) +
                              " is negative; a count is at least 0");
  }
  return value;
}

Result<Number> Scanner::Real() {
  const std::string_view rest = Rest();
  const bool negative = rest.starts_with('-');
  const std::string_view body = rest.substr(negative ? 1 : 0);
  for (const std::string_view name : {"inf", "nan"}) {
    if (!body.starts_with(name) || (body.size() > 3 && IsWordChar(body[3]))) {
      continue;
    }
    if (name == "nan" && negative) break;
    position_ += name.size() + (negative ? 1 : 0);
    if (name == "nan") return Number{std::numeric_limits<double>::quiet_NaN()};
    const double inf = std::numeric_limits<double>::infinity();
    return Number{negative ? -inf : inf};
  }
  const bool hex = body.starts_with("0x");
  const std::string_view digits = body.substr(hex ? 2 : 0);
  // from_chars would take a second sign and the names of infinity and NaN.
  const bool starts_well =
      !digits.empty() && (digits[0] == '.' || std::isxdigit(digits[0])) &&
      (hex || !std::isalpha(static_cast<unsigned char>(digits[0])));
  double value = 0;
  const auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value,
      hex ? std::chars_format::hex : std::chars_format::general);
  if (!starts_well || error == std::errc::invalid_argument) {
    return Error("expected a number, found " +
                 (rest.empty() ? "nothing" : Quote(NumberText(rest))));
  }
  if (error == std::errc::result_out_of_range) {
    return Error(Quote(NumberText(rest)) + " is out of binary64's range");
  }
  position_ = static_cast<size_t>(end - line_.data());
  return Number{negative ? -value : value};
}

Status Scanner::Error(const std::string& message) const {
  return ErrorAt(position_, message);
}

Status Scanner::ErrorAt(size_t position, const std::string& message) const {
  return Status::Error("column " + std::to_string(position + 1) + ": " +
                       message);
}

std::string FormatNumber(Number number) {
  if (std::isnan(number.value)) return "nan";
  char buffer[64];
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), number.value);
  return std::string(buffer, result.ptr);
}

Result<std::string> ScanDigest(Scanner& in) {
  const std::string_view rest = in.Rest();
  if (rest.size() < 32 || !IsDigest(rest.substr(0, 32))) {
    return in.Error("expected a digest of 32 lower-case hex digits, found " +
                    (rest.empty() ? "nothing" : Quote(rest)));
  }
  std::string digest(rest.substr(0, 32));
  for (const char c : digest) in.Accept(c);
  return digest;
}

Status ScanPinned(Scanner& in, std::string_view what, std::string_view stop,
                  std::string* path, std::string* digest) {
  *path = in.Until(std::string(stop) + "#");
  if (path->empty()) return in.Error(std::string(what) + " wants a file name");
  if (!in.Accept('#')) return {};
  ASSIGN_OR_RETURN(*digest, ScanDigest(in));
  return {};
}

std::string FormatPinned(const std::string& path, const std::string& digest) {
  return path + (digest.empty() ? "" : "#" + digest);
}

}  // namespace lockstep::verify
