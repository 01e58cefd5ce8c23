#include "verify/domain/draws/served.h"

#include <charconv>
#include <optional>
#include <utility>

#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

int64_t NumberIn(std::string_view text) {
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string Choose(Draw* draw, std::string_view choices) {
  if (const size_t dots = choices.find(".."); dots != choices.npos) {
    return std::to_string(draw->In(NumberIn(choices.substr(0, dots)),
                                   NumberIn(choices.substr(dots + 2))));
  }
  std::vector<std::string> texts(1);
  for (const char c : choices) {
    if (c == '|') {
      texts.emplace_back();
    } else {
      texts.back() += c;
    }
  }
  const auto last = static_cast<int64_t>(texts.size()) - 1;
  return texts[static_cast<size_t>(draw->In(0, last))];
}

std::optional<Case> ReadLine(const Case& like, const std::string& line) {
  const Result<Case> read = ParseCase(line, {&like.op, 1});
  return read.ok() ? NormalForm(read.value()) : std::nullopt;
}

void Replace(std::string_view from, std::string_view to, std::string* line) {
  for (size_t at = 0; (at = line->find(from, at)) != line->npos;) {
    line->replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string Expand(Draw* draw, std::string_view row) {
  std::string line, chosen;
  for (size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '{') {
      const size_t end = row.find('}', at);
      chosen = Choose(draw, row.substr(at + 1, end - at - 1));
      at = end;
      line += chosen;
    } else if (row[at] == '$') {
      line += chosen;
    } else {
      line += row[at];
    }
  }
  return line;
}

std::vector<Case> WithServed(Draw* draw, const DomainOptions& options,
                             std::span<const char* const> rows,
                             std::vector<Case> sequence) {
  const auto count = static_cast<int64_t>(rows.size());
  if (!draw->OneIn(kServedEvery / count)) return sequence;
  const auto row = static_cast<size_t>(draw->In(0, count - 1));
  const Lane lane = options.lane.value_or(
      draw->Of({Lane::kF32, Lane::kF32, Lane::kBf16, Lane::kF16}));
  const std::string line = std::string(sequence[0].op->text.name) + " " +
                           Expand(draw, rows[row]) + " lane=" + LaneName(lane) +
                           " seed=" + std::to_string(draw->In(0, 1 << 20));
  const std::optional<Case> served = ReadLine(sequence[0], line);
  if (served) return {*served};
  return sequence;
}

std::vector<Case> WithF16(Draw* draw, const DomainOptions& options,
                          std::vector<Case> sequence) {
  if (!draw->OneIn(3) || options.lane) return sequence;
  std::vector<Case> narrow;
  for (const Case& c : sequence) {
    std::string line = MinimalLine(c);
    if (line.find(" lane=bf16") == line.npos) return sequence;
    Replace("=bf16", "=f16", &line);
    Replace(" order=amx", "", &line);
    const std::optional<Case> legal = ReadLine(c, line);
    if (!legal) return sequence;
    narrow.push_back(*legal);
  }
  return narrow;
}

}  // namespace lockstep::verify
