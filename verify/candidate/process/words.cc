#include "verify/candidate/process/words.h"

#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace {

Status At(size_t column, const std::string& message) {
  return Status::Error("column " + std::to_string(column + 1) + ": " + message);
}

class Splitter {
 public:
  Splitter(std::string_view text, char separator)
      : text_(text), separator_(separator) {}

  Result<std::vector<std::string>> Run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < ' ') {
        return At(at_, "control characters cannot stand in a command");
      }
      if (c == separator_) {
        EndWord();
        continue;
      }
      open_ = true;
      RETURN_IF_ERROR(c == '\'' || c == '"' ? Quoted(c) : Plain());
    }
    EndWord();
    if (words_.empty()) {
      return Status::Error(separator_ == ' ' ? "there is no program"
                                             : "there is no path");
    }
    return std::move(words_);
  }

 private:
  void EndWord() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  // The character here, or the one behind a backslash.
  Status Plain() {
    if (text_[at_] == '\\' && ++at_ == text_.size()) {
      return At(at_ - 1, "a \\ keeps the next character, and there is none");
    }
    word_ += text_[at_];
    return {};
  }

  Status Quoted(char quote) {
    const size_t begin = at_;
    while (++at_ < text_.size() && text_[at_] != quote) {
      if (quote == '\'') {
        word_ += text_[at_];
        continue;
      }
      RETURN_IF_ERROR(Plain());
    }
    if (at_ < text_.size()) return {};
    return At(begin, std::string("the quote ") + quote + " has no end");
  }

  std::string_view text_;
  char separator_;
  size_t at_ = 0;
  bool open_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> SplitWords(std::string_view text,
                                            char separator) {
  return Splitter(text, separator).Run();
}

std::string JoinWords(const std::vector<std::string>& words, char separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    // A shell's quoting of a word is one of ours, too.
    const bool apart = word.find(separator) == std::string::npos;
    text += apart ? ShellWord(word) : ShellQuote(word);
  }
  return text;
}

}  // namespace lockstep::verify
