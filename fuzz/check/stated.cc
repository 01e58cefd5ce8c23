// --is 'causal window=128 softcap=50'
#include <charconv>
#include <sstream>
#include <string>

#include "fuzz/check/look.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::fuzz::check {
namespace {

Status Bad(const std::string& word, const std::string& want) {
  return Status::Error("--is: " + verify::Quote(word) + ": want " + want);
}

bool IsCount(const std::string& text, int64_t least) {
  int64_t n = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() && n >= least;
}

bool IsNumber(const std::string& text) {
  double x = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc{} && end == text.data() + text.size();
}

bool IsSide(const std::string& text) {
  return text == "inf" || IsCount(text, 0);
}

// "128", which counts the query's own key, or "LEFT,RIGHT", as a mask's term.
Result<std::string> Window(const std::string& word, const std::string& value) {
  const size_t comma = value.find(',');
  if (comma == value.npos && IsCount(value, 1)) {
    return "window:" + std::to_string(std::stoll(value) - 1) + ",0";
  }
  if (comma != value.npos && IsSide(value.substr(0, comma)) &&
      IsSide(value.substr(comma + 1))) {
    return "window:" + value;
  }
  return Bad(word,
             "window=KEYS, the query's own counted, or window=LEFT,RIGHT");
}

struct Stated {
  Keys keys;
  bool causal = false, full = false, scan = false;
  std::string window;
};

Status Take(const std::string& word, Stated* to) {
  const size_t at = word.find('=');
  const std::string name = word.substr(0, at);
  const std::string value = at == word.npos ? "" : word.substr(at + 1);
  const bool bare = at == word.npos;
  if (bare && name == "causal") {
    to->causal = true;
  } else if (bare && name == "full") {
    to->full = true;
  } else if (bare && (name == "scan" || name == "segments" ||
                      name == "initial_state")) {
    to->scan = true;
    if (name != "scan") to->keys[name == "segments" ? "seg" : "carry"] = "told";
  } else if (name == "window" && !bare) {
    ASSIGN_OR_RETURN(to->window, Window(word, value));
  } else if ((name == "softcap" || name == "cap") && !bare) {
    if (value != "none" && !IsNumber(value)) return Bad(word, "a number");
    to->keys["cap"] = value;
  } else if (name == "scale" && !bare) {
    if (!IsNumber(value)) return Bad(word, "a number, such as 0.125");
    to->keys["scale"] = value;
  } else if (name == "align" && (value == "tl" || value == "br")) {
    to->keys["align"] = value;
  } else if (name == "mask" && !bare) {
    to->keys["mask"] = value;
  } else {
    return Bad(word,
               "some of causal, full, window=KEYS, softcap=X, scale=X, "
               "align=tl|br, mask=MASK of a case line");
  }
  return {};
}

}  // namespace

Result<Keys> ParseStated(const std::string& text) {
  Stated stated;
  std::istringstream words(text);
  std::string word;
  bool any = false;
  for (; words >> word; any = true) RETURN_IF_ERROR(Take(word, &stated));
  if (!any) return Bad(text, "what the kernel computes, such as 'causal'");
  if (stated.scan) {
    stated.keys["op"] = "ssd_scan";
    return stated.keys;
  }
  const bool says = stated.causal || stated.full || !stated.window.empty();
  if (says && stated.keys.contains("mask")) {
    return Bad(text, "mask= alone, or causal, full and window=");
  }
  if (stated.full && (stated.causal || !stated.window.empty())) {
    return Bad(text, "full, or causal and window=, not both");
  }
  if (stated.keys.contains("mask")) return stated.keys;
  // A window of so many keys looks back alone, whether causal stands beside it.
  const bool back = stated.window.ends_with(",0");
  std::string mask = stated.causal || back ? "causal" : "";
  if (!stated.window.empty()) mask += (mask.empty() ? "" : "&") + stated.window;
  stated.keys["mask"] = mask.empty() ? "full" : mask;
  return stated.keys;
}

}  // namespace lockstep::fuzz::check
