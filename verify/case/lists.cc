#include "verify/case/lists.h"

#include <array>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {
namespace {

Result<SegmentRun> ParseRun(Scanner& in, bool with_id, size_t number) {
  SegmentRun run;
  run.id = static_cast<int32_t>(number);
  if (with_id) {
    const size_t start = in.position();
    ASSIGN_OR_RETURN(const auto id, in.Int());
    if (id != static_cast<int32_t>(id)) {
      return in.ErrorAt(
          start, "segment id " + std::to_string(id) + " does not fit 32 bits");
    }
    run.id = static_cast<int32_t>(id);
    if (!in.Accept('*')) return in.Error("expected ids:ID*LENGTH,...");
  }
  const size_t start = in.position();
  ASSIGN_OR_RETURN(const auto length, in.Int());
  if (length < 1) {
    return in.ErrorAt(start, "a segment has at least one position, found " +
                                 std::to_string(length));
  }
  run.length = length;
  return run;
}

// runs:LEN,... or ids:ID*LEN,...; neighbours with one id become one run.
Result<std::vector<SegmentRun>> ParseRuns(Scanner& in) {
  const bool with_id = in.AcceptWord("ids");
  if (!with_id && !in.AcceptWord("runs")) {
    return in.Error("expected runs:LEN,... or ids:ID*LEN,..., found " +
                    Quote(in.Rest()));
  }
  if (!in.Accept(':')) return in.Error("expected ':'");
  std::vector<SegmentRun> runs;
  size_t number = 0;
  do {
    const size_t start = in.position();
    ASSIGN_OR_RETURN(const auto run, ParseRun(in, with_id, number++));
    if (!runs.empty() && runs.back().id == run.id) {
      if (run.length > INT64_MAX - runs.back().length) {
        return in.ErrorAt(start, "segment lengths overflow");
      }
      runs.back().length += run.length;
    } else {
      runs.push_back(run);
    }
  } while (in.Accept(','));
  return runs;
}

std::string FormatRuns(const std::vector<SegmentRun>& runs) {
  bool counted = true;
  for (size_t i = 0; i < runs.size(); ++i) {
    counted &= runs[i].id == static_cast<int64_t>(i);
  }
  std::string text = counted ? "runs:" : "ids:";
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) text += ',';
    if (!counted) text += std::to_string(runs[i].id) + "*";
    text += std::to_string(runs[i].length);
  }
  return text;
}

using Strides = std::optional<std::array<int64_t, 4>>;

constexpr std::pair<char, Strides StrideOverrides::*> kStrided[] = {
    {'q', &StrideOverrides::q},
    {'k', &StrideOverrides::k},
    {'v', &StrideOverrides::v},
    {'o', &StrideOverrides::o},
};

Result<std::array<int64_t, 4>> ParseFourStrides(Scanner& in) {
  std::array<int64_t, 4> values{};
  for (size_t axis = 0; axis < 4; ++axis) {
    if (!in.Accept(axis == 0 ? ':' : '/')) {
      return in.Error("expected four strides, q:SB/SH/SS/SD");
    }
    ASSIGN_OR_RETURN(values[axis], in.Count());
  }
  return values;
}

}  // namespace

Result<Segments> ParseSegments(Scanner& in) {
  Segments segments;
  if (in.AcceptWord("none")) return segments;
  if (in.AcceptWord("file")) {
    segments.kind = Segments::Kind::kFile;
    if (!in.Accept(':')) return segments;  // the file of the fill
    RETURN_IF_ERROR(
        ScanPinned(in, "file:", "", &segments.path, &segments.digest));
    return segments;
  }
  segments.kind = Segments::Kind::kRuns;
  const size_t open = in.position();
  const bool brackets = in.Accept('[');
  do {
    ASSIGN_OR_RETURN(auto runs, ParseRuns(in));
    segments.rows.push_back(std::move(runs));
  } while (brackets && in.Accept(';'));
  if (brackets && !in.Accept(']')) {
    return in.Error("expected ']' for the '[' of column " +
                    std::to_string(open + 1));
  }
  return segments;
}

std::string FormatSegments(const Segments& segments) {
  if (segments.kind == Segments::Kind::kNone) return "none";
  if (segments.kind == Segments::Kind::kFile) {
    return segments.path.empty()
               ? "file"
               : "file:" + FormatPinned(segments.path, segments.digest);
  }
  if (segments.rows.size() == 1) return FormatRuns(segments.rows[0]);
  std::string text;
  for (const auto& row : segments.rows) {
    text += (text.empty() ? "[" : ";") + FormatRuns(row);
  }
  return text + "]";
}

Result<std::vector<int64_t>> ParseCounts(Scanner& in) {
  std::vector<int64_t> counts;
  do {
    ASSIGN_OR_RETURN(const auto count, in.Int());
    counts.push_back(count);
  } while (in.Accept(','));
  return counts;
}

std::string FormatCounts(const std::vector<int64_t>& counts) {
  std::string text;
  for (const int64_t count : counts) {
    text += (text.empty() ? "" : ",") + std::to_string(count);
  }
  return text;
}

Result<StrideOverrides> ParseStrides(Scanner& in) {
  StrideOverrides strides;
  if (in.AcceptWord("none")) return strides;
  do {
    const char tensor = in.Peek();
    Strides* target = nullptr;
    for (const auto& [name, member] : kStrided) {
      if (name == tensor) target = &(strides.*member);
    }
    if (target == nullptr) {
      return in.Error("expected q:SB/SH/SS/SD (or k, v, o), found " +
                      Quote(in.Rest()));
    }
    if (target->has_value()) {
      return in.Error("tensor '" + std::string(1, tensor) +
                      "' has its strides twice");
    }
    in.Accept(tensor);
    ASSIGN_OR_RETURN(const auto values, ParseFourStrides(in));
    *target = values;
  } while (in.Accept(','));
  return strides;
}

std::string FormatStrides(const StrideOverrides& strides) {
  std::string text;
  for (const auto& [name, member] : kStrided) {
    const Strides& values = strides.*member;
    if (!values) continue;
    if (!text.empty()) text += ',';
    text += name;
    for (size_t axis = 0; axis < 4; ++axis) {
      text += (axis == 0 ? ":" : "/") + std::to_string((*values)[axis]);
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace lockstep::verify
