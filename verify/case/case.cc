#include "verify/case/case.h"

#include <algorithm>
#include <map>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/base/trade_words.h"
#include "verify/case/keys.h"
#include "verify/case/mask_text.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

constexpr std::string_view kExpects[] = {"pass", "fail", "vacuous", "refuse"};

// A token of the line: [begin, end).
struct Token {
  size_t begin = 0;
  size_t end = 0;
};

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

std::vector<Token> Tokenize(std::string_view line) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < line.size();) {
    if (IsSpace(line[i])) {
      ++i;
      continue;
    }
    Token token{i, i};
    while (i < line.size() && !IsSpace(line[i])) ++i;
    token.end = i;
    tokens.push_back(token);
  }
  return tokens;
}

Status CheckBytes(std::string_view line) {
  if (line.size() > kMaxCaseLine) {
    return Status::Error("the case line has " + std::to_string(line.size()) +
                         " bytes; the most is " + std::to_string(kMaxCaseLine));
  }
  for (size_t i = 0; i < line.size(); ++i) {
    const unsigned char byte = static_cast<unsigned char>(line[i]);
    if (byte == '\t' || (byte >= 0x20 && byte != 0x7f)) continue;
    return Scanner(line, i, i)
        .Error("control character (byte " + std::to_string(byte) +
               ") in the case line");
  }
  return {};
}

// The values of one case's line by key and index, before they are parsed.
using Values = std::map<std::pair<const CaseKey*, int64_t>, Scanner>;

std::vector<std::string_view> KeyNames(const CaseRow& op) {
  std::vector<std::string_view> names;
  for (const CaseKey& key : op.keys()) names.push_back(key.name);
  return names;
}

// The key that is most like what was typed. A term of a mask, which people
// take for a key, is named as the value that it is.
std::string NearestKey(const CaseRow& op, std::string_view typed) {
  const auto keys = KeyNames(op);
  auto names = keys;
  const auto terms = MaskTerms();
  const bool masked = std::find(keys.begin(), keys.end(), "mask") != keys.end();
  if (masked) names.insert(names.end(), terms.begin(), terms.end());
  const std::string_view nearest = NearestName(typed, names);
  const bool key = std::find(keys.begin(), keys.end(), nearest) != keys.end();
  return (key ? "" : "mask=") + std::string(nearest);
}

// "nearest is 'lane'", or why the op has no such key.
std::string NearestKeyIs(const CaseRow& op, std::string_view typed) {
  const std::string known = InTrade(WordFor::kKey, typed, KeyNames(op));
  return known.empty() ? "nearest is '" + NearestKey(op, typed) + "'" : known;
}

// A hint for a word without '=', a key's beginning or a term of a mask:
// "; nearest is 'mask=causal'".
std::string LikelyPair(const CaseRow& op, std::string_view word) {
  const std::string known = InTrade(WordFor::kKey, word, KeyNames(op));
  if (!known.empty()) return "; " + known;
  std::string nearest = NearestKey(op, word);
  const bool key = nearest.find('=') == nearest.npos;
  if (key && !nearest.starts_with(word)) return "";
  return "; nearest is '" + nearest + (key ? "=...'" : "'");
}

// The key called `name`, with the number of an indexed one.
Result<std::pair<const CaseKey*, int64_t>> FindKey(const CaseRow& op,
                                                   std::string_view name,
                                                   const Scanner& at) {
  for (const CaseKey& key : op.keys()) {
    const std::string_view known = key.name;
    if (key.indices == nullptr && name == known)
      return std::pair(&key, int64_t{0});
    if (key.indices == nullptr || !name.starts_with(known)) continue;
    Scanner number(name, known.size(), name.size());
    const auto index = number.Count();
    if (index.ok() && number.AtEnd()) return std::pair(&key, index.value());
    return at.Error("key " + Quote(name) + " wants a head number, as in " +
                    std::string(known) + "2");
  }
  return at.Error("unknown key " + Quote(name) + " of " + op.name + "; " +
                  NearestKeyIs(op, name));
}

Status CollectValues(const CaseRow& op, std::string_view line,
                     std::span<const Token> tokens, Values* values) {
  for (const Token& token : tokens) {
    const Scanner at(line, token.begin, token.end);
    const std::string_view text = at.Rest();
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) {
      return at.Error("expected key=value, found " + Quote(text) +
                      (equals == 0 ? "" : LikelyPair(op, text)));
    }
    ASSIGN_OR_RETURN(const auto key, FindKey(op, text.substr(0, equals), at));
    const Scanner value(line, token.begin + equals + 1, token.end);
    if (!values->emplace(key, value).second) {
      return at.Error("key '" + std::string(text.substr(0, equals)) +
                      "' is given twice");
    }
  }
  return {};
}

Status ParseValue(const CaseKey& key, int64_t index, Scanner value, Case* c) {
  const std::string name =
      key.name + (key.indices != nullptr ? std::to_string(index) : "");
  const auto annotate = [&](const Status& status) {
    const bool lane = key.form == keys::kLaneForm;
    const std::string known =
        lane ? InTrade(WordFor::kLane, value.Rest()) : std::string();
    return Status::Error(status.message() + (known.empty() ? "" : "; ") +
                         known + " (" + name + " is " + key.form + ")");
  };
  const Status status = key.parse(value, index, *c);
  if (!status.ok()) return annotate(status);
  if (value.AtEnd()) return {};
  return annotate(value.Error("unexpected " + Quote(value.Rest()) +
                              " after the value of " + name));
}

// The row of the op that the line begins with.
Result<const OpRow*> FindRow(OpRows ops, const Scanner& first) {
  std::vector<std::string_view> names;
  for (const OpRow* op : ops) {
    if (op->text.name == first.Rest()) return op;
    names.emplace_back(op->text.name);
  }
  std::string nearest = InTrade(WordFor::kOp, first.Rest(), names);
  if (nearest.empty()) {
    nearest =
        "nearest is '" + std::string(NearestName(first.Rest(), names)) + "'";
  }
  return first.Error("unknown op " + Quote(first.Rest()) + "; " + nearest +
                     "; known: " + ListNames(names));
}

Result<Case> ParseTokens(std::string_view line, std::span<const Token> tokens,
                         size_t end, OpRows ops) {
  if (tokens.empty()) {
    return Scanner(line, end, end).Error("expected a case, found nothing");
  }
  const Scanner first(line, tokens[0].begin, tokens[0].end);
  ASSIGN_OR_RETURN(const OpRow* row, FindRow(ops, first));
  const CaseRow& op = row->text;
  Values values;
  Status status = CollectValues(op, line, tokens.subspan(1), &values);
  if (!status.ok()) return status;
  Case c = EmptyCase(*row);
  for (const CaseKey& key : op.keys()) {
    auto value = values.lower_bound({&key, INT64_MIN});
    const bool given = value != values.end() && value->first.first == &key;
    if (!given && key.set_default == nullptr) {
      return first.Error("missing key '" + std::string(key.name) + "' of " +
                         op.name + "; it is " + key.form);
    }
    if (key.set_default != nullptr) key.set_default(c);
    for (; value != values.end() && value->first.first == &key; ++value) {
      status = ParseValue(key, value->first.second, value->second, &c);
      if (!status.ok()) return status;
    }
  }
  return c;
}

std::string Print(const Case& c, bool minimal) {
  std::string line = OpName(c);
  // A default may follow from other keys, so all but its key is as in `c`.
  std::optional<Case> defaults;
  for (const CaseKey& key : c.op->text.keys()) {
    if (key.indices != nullptr) {
      for (const int64_t index : key.indices(c)) {
        line += std::string(" ") + key.name + std::to_string(index) + "=" +
                key.print(c, index);
      }
      continue;
    }
    const std::string value = key.print(c, 0);
    if ((minimal || key.younger) && key.set_default != nullptr) {
      if (!defaults) defaults.emplace(c);
      key.set_default(*defaults);
      if (key.print(*defaults, 0) == value) continue;
      defaults.reset();  // its own value again
    }
    line += std::string(" ") + key.name + "=" + value;
  }
  return line;
}

std::string PrintSequence(std::span<const Case> sequence, bool minimal) {
  std::string line;
  for (const Case& c : sequence) {
    line += (line.empty() ? "" : " ;; ") + Print(c, minimal);
  }
  return line;
}

}  // namespace

constinit const CaseKey kGenKey = {
    "gen",
    "the number of an input generator",
    [](Case& c) { c.gen = kGenerator; },
    [](Scanner& in, int64_t, Case& c) -> Status {
      ASSIGN_OR_RETURN(c.gen, in.Unsigned());
      return {};
    },
    [](const Case& c, int64_t) { return std::to_string(c.gen); },
    nullptr};

constinit const CaseKey kSeedKey = {
    "seed",
    "an integer of 64 bits",
    [](Case& c) { c.seed = 0; },
    [](Scanner& in, int64_t, Case& c) -> Status {
      ASSIGN_OR_RETURN(c.seed, in.Unsigned());
      return {};
    },
    [](const Case& c, int64_t) { return std::to_string(c.seed); },
    nullptr};

constinit const CaseKey kExpectKey = {
    "expect",
    "pass|fail|vacuous|refuse",
    [](Case& c) { c.expect = Expect::kPass; },
    [](Scanner& in, int64_t, Case& c) -> Status {
      for (size_t i = 0; i < std::size(kExpects); ++i) {
        if (!in.AcceptWord(kExpects[i])) continue;
        c.expect = static_cast<Expect>(i);
        return {};
      }
      return in.Error("expected " + ListNames(kExpects) + ", found " +
                      Quote(in.Rest()));
    },
    [](const Case& c, int64_t) { return std::string(ExpectName(c.expect)); },
    nullptr};

Case EmptyCase(const OpRow& op) {
  return {.op = &op, .values = AnyValues(op.text.empty()), .gen = kGenerator};
}

Result<Case> ParseCase(std::string_view line, OpRows ops) {
  ASSIGN_OR_RETURN(auto sequence, ParseCaseSequence(line, ops));
  if (sequence.size() == 1) return std::move(sequence[0]);
  return Status::Error("expected one case, found a sequence of " +
                       std::to_string(sequence.size()) + " joined by ';;'");
}

Result<std::vector<Case>> ParseCaseSequence(std::string_view line, OpRows ops) {
  RETURN_IF_ERROR(CheckBytes(line));
  const std::vector<Token> tokens = Tokenize(line);
  std::vector<Case> sequence;
  size_t begin = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const bool at_end = i == tokens.size();
    if (!at_end) {
      const Token& token = tokens[i];
      if (line.substr(token.begin, token.end - token.begin) != ";;") continue;
    }
    const std::span<const Token> part(tokens.data() + begin, i - begin);
    ASSIGN_OR_RETURN(
        auto c,
        ParseTokens(line, part, at_end ? line.size() : tokens[i].begin, ops));
    sequence.push_back(std::move(c));
    begin = i + 1;
  }
  return sequence;
}

std::string CanonicalLine(const Case& c) { return Print(c, false); }
std::string MinimalLine(const Case& c) { return Print(c, true); }

std::string CanonicalLine(std::span<const Case> sequence) {
  return PrintSequence(sequence, false);
}

std::string MinimalLine(std::span<const Case> sequence) {
  return PrintSequence(sequence, true);
}

const char* OpName(const Case& c) { return c.op->text.name; }

Status ValidateCase(const Case& c) {
  if (c.gen != kGenerator) {
    return Status::Error(
        "gen=" + std::to_string(c.gen) +
        " is not known; this version has gen=" + std::to_string(kGenerator));
  }
  RETURN_IF_ERROR(CheckShard(c));
  return c.op->text.validate(c);
}

int64_t EstimateBytes(const Case& c) {
  return ValidateCase(c).ok() ? c.op->text.bytes(c) : INT64_MAX;
}

bool NamesFiles(const Case& c) {
  const auto names_files = c.op->text.names_files;
  return names_files != nullptr && names_files(c);
}

const char* ExpectName(Expect expect) {
  return kExpects[static_cast<size_t>(expect)].data();
}

}  // namespace lockstep::verify
