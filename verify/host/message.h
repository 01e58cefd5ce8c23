// A message of the judge (docs/wire.md), read once into one list of values that
// refer to its line. Calls come some hundred thousand times a run: a tree of
// maps for each took more time than most kernels.
#ifndef LOCKSTEP_VERIFY_HOST_MESSAGE_H_
#define LOCKSTEP_VERIFY_HOST_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify::host {

class Message;

// One value of a message. What is not there, and null, is an absent field.
class Field {
 public:
  Field() = default;
  explicit operator bool() const { return message_ != nullptr; }

  // Of an object; absent where there is none of that name.
  Field operator[](std::string_view name) const;
  // Elements of a list or of an object, with each(field).
  template <typename Each>
  void ForEach(const Each& each) const;
  // Of an element of an object.
  std::string_view name() const;

  // Values; 0, false and "" of a field that is absent, and of one of another
  // kind, which is noted as an error of the message.
  int64_t Integer() const;  // a number, or one in decimal as text
  bool Truth() const;
  std::string_view Text() const;  // lives as long as the message

 private:
  friend class Message;
  Field(Message* message, size_t at) : message_(message), at_(at) {}

  Message* message_ = nullptr;
  size_t at_ = 0;
};

class Message {
 public:
  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  // In place of what was read before, whose fields are gone. False: the line is
  // no JSON, or is deeper than any message.
  bool Read(std::string line);
  // The whole; absent before Read().
  Field root();
  // The first field that was of another kind than was asked for.
  const Status& status() const { return status_; }

 private:
  friend class Field;
  enum class Kind : uint8_t { kNull, kFalse, kTrue, kNumber, kText, kMany };
  struct Node {
    Kind kind = Kind::kNull;
    std::string_view name;
    std::string_view text;  // of a number or text
    size_t end = 0;         // of its elements: the node behind them
  };

  bool ReadValue(std::string_view name, int depth);
  bool ReadMany(char close, int depth);
  bool ReadText(std::string_view* text);
  bool ReadWord(std::string_view word, Kind kind);
  bool Skip(char c);
  void SkipBlanks();
  void Wrong(const Node& node, const char* wanted);
  // Absent where it is null.
  Field At(size_t at);

  std::string line_;
  std::string_view rest_;
  std::vector<Node> nodes_;
  std::deque<std::string> unescaped_;
  Status status_;
};

template <typename Each>
void Field::ForEach(const Each& each) const {
  if (message_ == nullptr) return;
  const auto& nodes = message_->nodes_;
  if (nodes[at_].kind != Message::Kind::kMany) return;
  for (size_t at = at_ + 1; at < nodes[at_].end; at = nodes[at].end) {
    each(Field(message_, at));
  }
}

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_MESSAGE_H_
