// --is 'causal window=128 softcap=50'
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

#include "fuzz/check/look.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::check {
namespace {

Status Bad(const std::string& word, const std::string& want) {
  return Status::Error("--is: " + verify::Quote(word) + ": want " + want);
}

// "128", which counts the query's own key, or "LEFT,RIGHT", as a mask's term.
Result<std::string> Window(const std::string& word, const std::string& value) {
  const bool count = !value.empty() && value.size() < 10 &&
                     std::all_of(
                         value.begin(), value.end(),
                         [](unsigned char c) { return std::isdigit(c) != 0; });
  if (count && std::stoi(value) > 0) {
    return "window:" + std::to_string(std::stoi(value) - 1) + ",0";
  }
  if (value.find(',') != value.npos) return "window:" + value;
  return Bad(word,
             "window=KEYS, the query's own counted, or window=LEFT,RIGHT");
}

// Takes a word that is a key with its value. Errors: it is none.
Status TakeKey(const std::string& word, Keys* keys) {
  const size_t at = word.find('=');
  std::string key = word.substr(0, at);
  if (key == "softcap") key = "cap";
  const bool known =
      key == "cap" || key == "scale" || key == "align" || key == "mask";
  if (at == word.npos || !known) {
    return Bad(word,
               "some of causal, full, window=KEYS, softcap=X, scale=X, "
               "align=tl|br, mask=MASK of a case line, or scan");
  }
  const std::string value = word.substr(at + 1);
  if (key == "align" && value != "tl" && value != "br") {
    return Bad(word, "align=tl or align=br");
  }
  (*keys)[key] = value;
  return {};
}

// A mask that is said by words: causal, full, a window. Errors: they do not go
// together.
Status TakeMask(const std::string& text, bool causal, bool full,
                const std::string& window, Keys* keys) {
  const bool says = causal || !window.empty();
  if (says && full) return Bad(text, "full, or causal and window=, not both");
  if (keys->contains("mask")) {
    if (!says && !full) return {};
    return Bad(text, "mask= alone, or causal, full and window=");
  }
  // A window that looks back alone is causal.
  std::string mask = causal || window.ends_with(",0") ? "causal" : "";
  if (!window.empty()) mask += (mask.empty() ? "" : "&") + window;
  (*keys)["mask"] = mask.empty() ? "full" : mask;
  return {};
}

}  // namespace

Result<Keys> ParseStated(const std::string& text) {
  Keys keys;
  bool causal = false, full = false, scan = false;
  std::string window;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "causal" || word == "full") {
      (word == "full" ? full : causal) = true;
    } else if (word == "scan") {
      scan = true;
    } else if (word == "segments" || word == "initial_state") {
      keys[word == "segments" ? "seg" : "carry"] = "told";
    } else if (word.starts_with("window=")) {
      ASSIGN_OR_RETURN(window, Window(word, word.substr(7)));
    } else {
      RETURN_IF_ERROR(TakeKey(word, &keys));
    }
  }
  if (scan) {
    keys["op"] = "ssd_scan";
    return keys;
  }
  if (keys.contains("seg") || keys.contains("carry")) {
    return Bad(text, "'scan' beside segments and initial_state");
  }
  RETURN_IF_ERROR(TakeMask(text, causal, full, window, &keys));
  std::string line = "attention_forward sq=1 skv=1 d=1";
  for (const auto& [key, value] : keys) line += " " + key + "=" + value;
  const Result<verify::Case> c = verify::ParseCase(line, verify::Ops());
  if (!c.ok()) return Status::Error("--is: " + c.message());
  return keys;
}

}  // namespace lockstep::fuzz::check
