#include "verify/base/io/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "verify/base/io/safetensors.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace {

using SortedJson = nlohmann::json;

// Receives the tokens of the header one by one, so that no tree of hostile
// depth or size is ever built. Every handler returns false to stop.
class HeaderHandler : public nlohmann::json_sax<SortedJson> {
 public:
  SafetensorsHeader TakeHeader() { return std::move(header_); }
  const std::string& error() const { return error_; }

  bool start_object(std::size_t) override {
    if (level_ == Level::kStart) return Enter(Level::kTop);
    if (level_ != Level::kTop) return Unexpected("an object");
    if (key_ == "__metadata__") return Enter(Level::kMetadata);
    fields_ = 0;
    header_.entries.push_back({key_, "", {}, {}});
    return Enter(Level::kTensor);
  }

  bool key(string_t& name) override {
    key_ = name;
    if (level_ == Level::kTensor) return true;
    if (level_ == Level::kMetadata) {
      if (!header_.metadata.contains(name)) return true;
      return Fail("metadata key " + Quote(name) + " is given twice");
    }
    if (!names_.insert(name).second) {
      return Fail("name " + Quote(name) + " is given twice");
    }
    if (names_.size() <= kMaxSafetensorsTensors) return true;
    return Fail("more than " + std::to_string(kMaxSafetensorsTensors) +
                " tensors");
  }

  bool end_object() override {
    if (level_ == Level::kTensor && fields_ != kAllFields) {
      return Fail(Tensor() + "wants dtype, shape and data_offsets");
    }
    level_ = level_ == Level::kTop ? Level::kEnd : Level::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ != Level::kTensor) return Unexpected("an array");
    if (key_ == "shape") return Field(kShape) && Enter(Level::kShape);
    if (key_ == "data_offsets") {
      offsets_ = 0;
      return Field(kOffsets) && Enter(Level::kOffsets);
    }
    return Unexpected("an array");
  }

  bool end_array() override {
    if (level_ == Level::kOffsets && offsets_ != 2) {
      return Fail(Tensor() + "data_offsets wants two numbers");
    }
    return Enter(Level::kTensor);
  }

  bool string(string_t& text) override {
    if (level_ == Level::kMetadata) {
      header_.metadata[key_] = text;
      return true;
    }
    if (level_ != Level::kTensor || key_ != "dtype") {
      return Unexpected("a string");
    }
    header_.entries.back().type = text;
    return Field(kType);
  }

  bool number_unsigned(number_unsigned_t number) override {
    HeaderEntry* entry =
        header_.entries.empty() ? nullptr : &header_.entries.back();
    if (level_ == Level::kShape) {
      if (entry->shape.size() == kMaxSafetensorsRank) {
        return Fail(Tensor() + "more than " +
                    std::to_string(kMaxSafetensorsRank) + " axes");
      }
      if (number > static_cast<uint64_t>(INT64_MAX)) {
        return Fail(Tensor() + "extent " + std::to_string(number) +
                    " overflows 63 bits");
      }
      entry->shape.push_back(static_cast<int64_t>(number));
      return true;
    }
    if (level_ != Level::kOffsets) return Unexpected("a number");
    if (offsets_ == 2) {
      return Fail(Tensor() + "data_offsets wants two numbers");
    }
    entry->offsets[offsets_++] = number;
    return true;
  }

  bool number_integer(number_integer_t number) override {
    return Unexpected("the negative number " + std::to_string(number));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Unexpected("the number " + Quote(text));
  }
  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail("header is not JSON at byte " + std::to_string(position));
  }

 private:
  enum class Level {
    kStart,
    kTop,
    kMetadata,
    kTensor,
    kShape,
    kOffsets,
    kEnd,
  };
  static constexpr unsigned kType = 1;
  static constexpr unsigned kShape = 2;
  static constexpr unsigned kOffsets = 4;
  static constexpr unsigned kAllFields = 7;

  bool Enter(Level level) {
    level_ = level;
    return true;
  }

  bool Fail(const std::string& message) {
    error_ = message;
    return false;
  }

  std::string Tensor() const {
    return "tensor " + Quote(header_.entries.back().name) + ": ";
  }

  bool Field(unsigned field) {
    if ((fields_ & field) != 0) {
      return Fail(Tensor() + Quote(key_) + " is given twice");
    }
    fields_ |= field;
    return true;
  }

  bool Unexpected(const std::string& what) {
    const bool in_tensor = level_ == Level::kTensor ||
                           level_ == Level::kShape || level_ == Level::kOffsets;
    return Fail((in_tensor ? Tensor() : "header: ") + "unexpected " + what +
                (key_.empty() ? "" : " under " + Quote(key_)));
  }

  SafetensorsHeader header_;
  std::set<std::string> names_;
  std::string error_;
  std::string key_;
  Level level_ = Level::kStart;
  unsigned fields_ = 0;
  size_t offsets_ = 0;
};

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json) {
  if (!json.starts_with('{')) {
    return Status::Error("the header does not start with '{'");
  }
  // The parser takes it for the end, and what follows would be hidden.
  const size_t zero = json.find('\0');
  if (zero != json.npos) {
    return Status::Error("header is not JSON at byte " + std::to_string(zero) +
                         ": a byte 0");
  }
  HeaderHandler handler;
  if (!SortedJson::sax_parse(json.begin(), json.end(), &handler)) {
    return Status::Error(handler.error());
  }
  return handler.TakeHeader();
}

}  // namespace lockstep::verify
