// The forms of answer that lockstep-host gives to almost every call and reset,
// read without a tree of values. Whatever is not of this form to the letter is
// left to the JSON library.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "verify/candidate/wire/messages.h"

namespace lockstep::verify {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class ReplyScanner {
 public:
  explicit ReplyScanner(std::string_view rest) : rest_(rest) {}

  bool AtEnd() const { return rest_.empty(); }
  bool Skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Text of plain characters, without its quotes.
  bool Text(std::string* text) {
    const size_t end = std::min(rest_.find('"'), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    if (!std::all_of(word.begin(), word.end(), [](char c) {
          return c >= ' ' && c <= '~' && c != '\\';
        })) {
      return false;
    }
    *text = word;
    rest_.remove_prefix(end);
    return true;
  }
  bool Truth(bool* truth) {
    *truth = rest_.starts_with("true");
    return Skip(*truth ? "true" : "false");
  }
  // At least 0.
  template <typename Number>
  bool Integer(Number* value) {
    size_t end = 0;
    return Digits(&end, false) && Take(end, value);
  }
  bool Real(std::optional<double>* value) {
    size_t end = 0;
    if (!Digits(&end, false)) return false;
    if (end < rest_.size() && rest_[end] == '.' && !Digits(&++end, true)) {
      return false;
    }
    if (end < rest_.size() && rest_[end] == 'e') {
      ++end;
      if (end < rest_.size() && (rest_[end] == '-' || rest_[end] == '+')) ++end;
      if (!Digits(&end, true)) return false;
    }
    return Take(end, &value->emplace());
  }

 private:
  // Moves `end` behind digits, of which there have to be some; whole numbers
  // of JSON have no zeros in front.
  bool Digits(size_t* end, bool zeros) const {
    const size_t begin = *end;
    while (*end < rest_.size() && IsDigit(rest_[*end])) ++*end;
    return *end == begin + 1 ||
           (*end > begin && (zeros || rest_[begin] != '0'));
  }
  template <typename Number>
  bool Take(size_t end, Number* value) {
    const auto [stop, error] =
        std::from_chars(rest_.data(), rest_.data() + end, *value);
    if (error != std::errc() || stop != rest_.data() + end) return false;
    rest_.remove_prefix(end);
    return true;
  }

  std::string_view rest_;
};

bool OptionalText(ReplyScanner* in, std::string_view key, std::string* text) {
  return !in->Skip(key) || (in->Text(text) && in->Skip("\""));
}

bool OptionalCount(ReplyScanner* in, std::string_view key,
                   std::optional<int64_t>* count) {
  return !in->Skip(key) || in->Integer(&count->emplace());
}

bool OptionalReal(ReplyScanner* in, std::string_view key,
                  std::optional<double>* value) {
  return !in->Skip(key) || in->Real(value);
}

bool OptionalTile(ReplyScanner* in, WireReceipt* receipt) {
  if (!in->Skip(R"(,"tile":[)")) return true;
  auto& tile = receipt->tile.emplace();
  return in->Integer(&tile[0]) && in->Skip(",") && in->Integer(&tile[1]) &&
         in->Skip("]");
}

bool ScanReceipt(ReplyScanner* in, WireReceipt* receipt) {
  receipt->guards = "pages";
  receipt->rounding = "nearest";
  return in->Skip(R"({"guards":"pages","seconds":)") &&
         in->Real(&receipt->seconds) &&
         OptionalReal(in, R"(,"processor_seconds":)",
                      &receipt->processor_seconds) &&
         OptionalText(in, R"(,"backend":")", &receipt->backend) &&
         OptionalText(in, R"(,"target":")", &receipt->target) &&
         OptionalText(in, R"(,"fallback_reason":")",
                      &receipt->fallback_reason) &&
         OptionalCount(in, R"(,"threads":)", &receipt->threads) &&
         OptionalTile(in, receipt) &&
         OptionalCount(in, R"(,"tiles_full":)", &receipt->tiles_full) &&
         OptionalCount(in, R"(,"tiles_partial":)", &receipt->tiles_partial) &&
         OptionalCount(in, R"(,"tiles_empty":)", &receipt->tiles_empty) &&
         in->Skip(R"(,"fp":{"rounding":"nearest","ftz":)") &&
         in->Truth(&receipt->ftz) && in->Skip(R"(,"daz":)") &&
         in->Truth(&receipt->daz) && in->Skip("}}");
}

// Of a reset.
bool ReadLeft(ReplyScanner* in, WireReceipt* receipt) {
  return in->Integer(&receipt->threads_left) && in->Skip(R"(,"children":)") &&
         in->Integer(&receipt->children_left) && in->Skip("}}");
}

}  // namespace

std::optional<WireReply> QuickReply(std::string_view line) {
  WireReply reply;
  ReplyScanner in(line);
  const bool done = in.Skip(R"({"type":"done","id":)") &&
                    in.Integer(&reply.id) && in.Skip(R"(,"receipt":)");
  if (!done) return std::nullopt;
  const bool left = in.Skip(R"({"left":{"threads":)");
  const bool read =
      left ? ReadLeft(&in, &reply.receipt) : ScanReceipt(&in, &reply.receipt);
  if (!read || !in.Skip("}") || !in.AtEnd()) return std::nullopt;
  return reply;
}

}  // namespace lockstep::verify
