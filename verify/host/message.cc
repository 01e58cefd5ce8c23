#include "verify/host/message.h"

#include <charconv>
#include <utility>

#include "nlohmann/json.hpp"

namespace lockstep::verify::host {
namespace {

// A mask has at most 32 levels, each a list in an object.
constexpr int kMostDepth = 128;

bool InNumber(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
         c == 'e' || c == 'E';
}

}  // namespace

bool Message::Read(std::string line) {
  line_ = std::move(line);
  rest_ = line_;
  nodes_.clear();
  unescaped_.clear();
  status_ = {};
  const bool read = ReadValue("", 0);
  SkipBlanks();
  if (read && rest_.empty()) return true;
  nodes_.clear();
  return false;
}

Field Message::root() { return nodes_.empty() ? Field() : Field(this, 0); }

Field Message::At(size_t at) {
  return nodes_[at].kind == Kind::kNull ? Field() : Field(this, at);
}

void Message::SkipBlanks() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) {
    rest_.remove_prefix(1);
  }
}

bool Message::Skip(char c) {
  SkipBlanks();
  if (rest_.empty() || rest_[0] != c) return false;
  rest_.remove_prefix(1);
  return true;
}

bool Message::ReadText(std::string_view* text) {
  if (!Skip('"')) return false;
  const size_t end = rest_.find_first_of("\"\\");
  if (end == rest_.npos) return false;
  if (rest_[end] == '"') {
    *text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  // Escapes are rare: the library knows them all.
  size_t close = end;
  while (close < rest_.size() && rest_[close] != '"') {
    close += rest_[close] == '\\' ? 2 : 1;
  }
  if (close >= rest_.size()) return false;
  const auto json = nlohmann::json::parse(
      "\"" + std::string(rest_.substr(0, close + 1)), nullptr, false);
  if (!json.is_string()) return false;
  *text = unescaped_.emplace_back(json.get<std::string>());
  rest_.remove_prefix(close + 1);
  return true;
}

bool Message::ReadWord(std::string_view word, Kind kind) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  nodes_.back().kind = kind;
  return true;
}

bool Message::ReadMany(char close, int depth) {
  rest_.remove_prefix(1);
  nodes_.back().kind = Kind::kMany;
  if (Skip(close)) return true;
  do {
    std::string_view name;
    if (close == '}' && !(ReadText(&name) && Skip(':'))) return false;
    if (!ReadValue(name, depth + 1)) return false;
  } while (Skip(','));
  return Skip(close);
}

bool Message::ReadValue(std::string_view name, int depth) {
  SkipBlanks();
  if (rest_.empty() || depth > kMostDepth) return false;
  const size_t at = nodes_.size();
  nodes_.push_back({.kind = Kind::kNull, .name = name, .text = {}, .end = 0});
  bool read = false;
  switch (rest_[0]) {
    case '{':
    case '[':
      read = ReadMany(rest_[0] == '{' ? '}' : ']', depth);
      break;
    case '"':
      nodes_[at].kind = Kind::kText;
      read = ReadText(&nodes_[at].text);
      break;
    case 'n':
      read = ReadWord("null", Kind::kNull);
      break;
    case 't':
      read = ReadWord("true", Kind::kTrue);
      break;
    case 'f':
      read = ReadWord("false", Kind::kFalse);
      break;
    default:
      nodes_[at].kind = Kind::kNumber;
      size_t end = 0;
      while (end < rest_.size() && InNumber(rest_[end])) ++end;
      nodes_[at].text = rest_.substr(0, end);
      rest_.remove_prefix(end);
      read = end > 0;
  }
  nodes_[at].end = nodes_.size();
  return read;
}

void Message::Wrong(const Node& node, const char* wanted) {
  if (!status_.ok()) return;
  status_ = Status::Error("'" + std::string(node.name) + "' is not " + wanted);
}

Field Field::operator[](std::string_view name) const {
  if (message_ == nullptr) return {};
  const auto& nodes = message_->nodes_;
  if (nodes[at_].kind != Message::Kind::kMany) return {};
  for (size_t at = at_ + 1; at < nodes[at_].end; at = nodes[at].end) {
    if (nodes[at].name == name) return message_->At(at);
  }
  return {};
}

std::string_view Field::name() const {
  return message_ == nullptr ? "" : message_->nodes_[at_].name;
}

int64_t Field::Integer() const {
  if (message_ == nullptr) return 0;
  const Message::Node& node = message_->nodes_[at_];
  int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  message_->Wrong(node, "an integer");
  return 0;
}

bool Field::Truth() const {
  if (message_ == nullptr) return false;
  const Message::Node& node = message_->nodes_[at_];
  const bool truth = node.kind == Message::Kind::kTrue;
  if (!truth && node.kind != Message::Kind::kFalse) {
    message_->Wrong(node, "true or false");
  }
  return truth;
}

std::string_view Field::Text() const {
  if (message_ == nullptr) return "";
  const Message::Node& node = message_->nodes_[at_];
  if (node.kind == Message::Kind::kText) return node.text;
  message_->Wrong(node, "text");
  return "";
}

}  // namespace lockstep::verify::host
