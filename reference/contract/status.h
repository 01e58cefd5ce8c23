// Errors of the caller, as values: one line that says what is wrong, where,
// and what would be right. Nothing below a main throws, prints or exits.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_STATUS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_STATUS_H_

#include <optional>
#include <string>
#include <utility>

namespace lockstep {

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  static Status Error(std::string message) {
    Status status;
    status.message_ = std::move(message);
    return status;
  }

  bool ok() const { return !message_.has_value(); }

  // Requires: !ok().
  const std::string& message() const { return *message_; }

 private:
  std::optional<std::string> message_;
};

// A value, or the status that says why it is missing.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  const std::string& message() const { return status_.message(); }

  // Requires: ok().
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_STATUS_H_
