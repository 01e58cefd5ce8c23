#include "bench/quiet.h"

#include <iostream>
#include <string>

namespace lockstep::bench {
namespace {

// Passes whole lines on, but for those with the warning.
class LineFilter final : public std::streambuf {
 public:
  explicit LineFilter(std::streambuf* to) : to_(to) {}
  ~LineFilter() override { Pass(); }

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return 0;
    line_ += traits_type::to_char_type(c);
    if (line_.back() == '\n') Pass();
    return c;
  }
  int sync() override {
    // What is flushed without its end is no line of the library's.
    if (line_.find("***WARNING***") == std::string::npos) Pass();
    return to_->pubsync();
  }
  void Pass() {
    if (line_.find("Library was built as DEBUG") == std::string::npos) {
      to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    }
    line_.clear();
  }

  std::streambuf* to_;
  std::string line_;
};

}  // namespace

WithoutLibraryWarning::WithoutLibraryWarning() {
#ifdef NDEBUG
  before_ = std::cerr.rdbuf();
  filter_ = std::make_unique<LineFilter>(before_);
  std::cerr.rdbuf(filter_.get());
#endif
}

WithoutLibraryWarning::~WithoutLibraryWarning() {
  if (before_ != nullptr) std::cerr.rdbuf(before_);
}

}  // namespace lockstep::bench
