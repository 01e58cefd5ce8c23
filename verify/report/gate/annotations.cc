#include "verify/report/gate/annotations.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "verify/base/printable.h"

namespace lockstep::verify {
namespace {

// What the runner would read as its own syntax. Values of properties end at
// commas and colons, messages do not.
std::string Escaped(const std::string& text, bool property) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string_view special = property ? "%\r\n:," : "%\r\n";
  std::string out;
  for (const char c : text) {
    if (special.find(c) == special.npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

// "FILE:LINE: text" in its parts; line 0: it is none.
struct Place {
  std::string file;
  int64_t line = 0;
  std::string text;
};
Place PlaceIn(const std::string& message) {
  for (size_t colon = message.find(':'); colon != message.npos;
       colon = message.find(':', colon + 1)) {
    int64_t line = 0;
    const char* end = message.data() + message.size();
    const auto [stop, error] =
        std::from_chars(message.data() + colon + 1, end, line);
    if (error != std::errc{} || line < 1 || end - stop < 2) continue;
    if (stop[0] != ':' || stop[1] != ' ' || colon == 0) continue;
    return {message.substr(0, colon), line, std::string(stop + 2, end)};
  }
  return {"", 0, message};
}

}  // namespace

std::string Annotation(const std::string& level, const std::string& file,
                       int64_t line, const std::string& title,
                       const std::string& message) {
  std::string text = "::" + level + " ";
  if (line > 0) {
    text += "file=" + Escaped(Printable(file), true) +
            ",line=" + std::to_string(line) + ",";
  }
  std::string lines;
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    lines += (at == 0 ? "" : "\n") + Printable(message.substr(at, end - at));
    at = end + 1;
  }
  return text + "title=" + Escaped(Printable(title), true) +
         "::" + Escaped(lines, false) + "\n";
}

std::string Annotations(const RootCauses& causes, const Totals& totals,
                        const ExitPolicy& policy, const std::string& root) {
  std::string text;
  for (const RootCause& cause : causes.all()) {
    const bool fails = Fails(cause, totals, policy);
    if (!fails && cause.verdict == Verdict::kSkipped) continue;
    const std::string title = cause.op + " " + VerdictName(cause.verdict) +
                              " (" + cause.signature + ")";
    const bool on_a_line = cause.origin.file != nullptr;
    text += Annotation(
        fails ? "error" : "warning",
        on_a_line ? PathBelow(root, *cause.origin.file) : "",
        on_a_line ? cause.origin.number : 0, title,
        DescribeCause(cause) +
            (cause.replay.empty() ? "" : "\nreplay: " + cause.replay));
  }
  return text;
}

std::string ErrorAnnotations(const std::string& message,
                             const std::string& root) {
  std::string text;
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const Place place = PlaceIn(message.substr(at, end - at));
    text +=
        Annotation("error", place.line > 0 ? PathBelow(root, place.file) : "",
                   place.line, "lockstep verify", place.text);
    at = end + 1;
  }
  return text;
}

}  // namespace lockstep::verify
