#include "verify/case.h"

#include <algorithm>
#include <map>
#include <utility>

#include "verify/case_attention_forward.h"
#include "verify/case_block_plan.h"
#include "verify/case_keys.h"
#include "verify/case_mamba3_scan.h"
#include "verify/case_text.h"

namespace lockstep::verify {
namespace {

// One row per op, in the order of Case::op: its name, its keys, an empty case
// of it, and what its cases mean.
struct Op {
  OpInfo info;
  std::span<const CaseKey> (*keys)();
  Case (*empty)();
  Status (*validate)(const Case&);
  int64_t (*bytes)(const Case&);  // Requires: validate passes
  bool (*names_files)(const Case&);
};

template <typename T>
Case Empty() {
  return Case{T(), kGenerator, 0, Expect::kPass};
}

const Op kOps[] = {
    {{"attention_forward", "softcap attention with masks, forward"},
     AttentionForwardKeys,
     Empty<AttentionForwardCase>,
     ValidateAttentionForward,
     AttentionForwardBytes,
     AttentionForwardNamesFiles},
    {{"mamba3_scan", "Mamba-3 state-space scan, forward, with its carries"},
     Mamba3ScanKeys,
     Empty<Mamba3ScanCase>,
     ValidateMamba3Scan,
     Mamba3ScanBytes,
     Mamba3ScanNamesFiles},
    {{"mamba3_step", "the same decoded token by token, from carry to carry"},
     Mamba3ScanKeys,
     Empty<Mamba3StepCase>,
     ValidateMamba3Scan,
     Mamba3ScanBytes,
     Mamba3ScanNamesFiles},
    {{"block_plan", "tables of a block-sparse kernel, judged by its mask"},
     BlockPlanKeys,
     Empty<BlockPlanCase>,
     ValidateBlockPlan,
     BlockPlanBytes,
     AttentionForwardNamesFiles},
};

const Op& OpOf(const Case& c) { return kOps[c.op.index()]; }

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

std::vector<std::string_view> KeyNames(const Op& op) {
  std::vector<std::string_view> names;
  for (const CaseKey& key : op.keys()) names.push_back(key.name);
  return names;
}

// The key called `name`, with the number of an indexed one.
Result<std::pair<const CaseKey*, int64_t>> FindKey(const Op& op,
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
  const auto names = KeyNames(op);
  const std::string nearest(NearestName(name, names));
  return at.Error("unknown key " + Quote(name) + " of " + op.info.name +
                  "; nearest is '" + nearest + "'");
}

Status CollectValues(const Op& op, std::string_view line,
                     std::span<const Token> tokens, Values* values) {
  for (const Token& token : tokens) {
    const Scanner at(line, token.begin, token.end);
    const std::string_view text = at.Rest();
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) {
      return at.Error("expected key=value, found " + Quote(text));
    }
    const auto key = FindKey(op, text.substr(0, equals), at);
    if (!key.ok()) return key.status();
    const Scanner value(line, token.begin + equals + 1, token.end);
    if (!values->emplace(key.value(), value).second) {
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
    return Status::Error(status.message() + " (" + name + " is " + key.form +
                         ")");
  };
  const Status status = key.parse(value, index, *c);
  if (!status.ok()) return annotate(status);
  if (value.AtEnd()) return {};
  return annotate(value.Error("unexpected " + Quote(value.Rest()) +
                              " after the value of " + name));
}

Result<Case> ParseTokens(std::string_view line, std::span<const Token> tokens,
                         size_t end) {
  if (tokens.empty()) {
    return Scanner(line, end, end).Error("expected a case, found nothing");
  }
  const Scanner first(line, tokens[0].begin, tokens[0].end);
  const Op* op = std::find_if(
      std::begin(kOps), std::end(kOps),
      [&](const Op& candidate) { return candidate.info.name == first.Rest(); });
  if (op == std::end(kOps)) {
    std::vector<std::string_view> names;
    for (const Op& known : kOps) names.push_back(known.info.name);
    return first.Error("unknown op " + Quote(first.Rest()) +
                       "; known: " + ListNames(names));
  }
  Values values;
  Status status = CollectValues(*op, line, tokens.subspan(1), &values);
  if (!status.ok()) return status;
  Case c = op->empty();
  for (const CaseKey& key : op->keys()) {
    auto value = values.lower_bound({&key, INT64_MIN});
    const bool given = value != values.end() && value->first.first == &key;
    if (!given && key.set_default == nullptr) {
      return first.Error("missing key '" + std::string(key.name) + "' of " +
                         op->info.name + "; it is " + key.form);
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
  for (const CaseKey& key : OpOf(c).keys()) {
    if (key.indices != nullptr) {
      for (const int64_t index : key.indices(c)) {
        line += std::string(" ") + key.name + std::to_string(index) + "=" +
                key.print(c, index);
      }
      continue;
    }
    const std::string value = key.print(c, 0);
    if (minimal && key.set_default != nullptr) {
      Case defaults = c;  // afresh: a default may follow from other keys
      key.set_default(defaults);
      if (key.print(defaults, 0) == value) continue;
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
      const auto value = in.Unsigned();
      if (!value.ok()) return value.status();
      c.gen = value.value();
      return {};
    },
    [](const Case& c, int64_t) { return std::to_string(c.gen); },
    nullptr};

constinit const CaseKey kSeedKey = {
    "seed",
    "an integer of 64 bits",
    [](Case& c) { c.seed = 0; },
    [](Scanner& in, int64_t, Case& c) -> Status {
      const auto value = in.Unsigned();
      if (!value.ok()) return value.status();
      c.seed = value.value();
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

Result<Case> ParseCase(std::string_view line) {
  auto sequence = ParseCaseSequence(line);
  if (!sequence.ok()) return sequence.status();
  if (sequence->size() == 1) return std::move(sequence.value()[0]);
  return Status::Error("expected one case, found a sequence of " +
                       std::to_string(sequence->size()) + " joined by ';;'");
}

Result<std::vector<Case>> ParseCaseSequence(std::string_view line) {
  const Status status = CheckBytes(line);
  if (!status.ok()) return status;
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
    auto c = ParseTokens(line, part, at_end ? line.size() : tokens[i].begin);
    if (!c.ok()) return c.status();
    sequence.push_back(std::move(c.value()));
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

const char* OpName(const Case& c) { return OpOf(c).info.name; }

Status ValidateCase(const Case& c) {
  if (c.gen != kGenerator) {
    return Status::Error(
        "gen=" + std::to_string(c.gen) +
        " is not known; this version has gen=" + std::to_string(kGenerator));
  }
  return OpOf(c).validate(c);
}

int64_t EstimateBytes(const Case& c) {
  return ValidateCase(c).ok() ? OpOf(c).bytes(c) : INT64_MAX;
}

bool NamesFiles(const Case& c) { return OpOf(c).names_files(c); }

std::span<const OpInfo> KnownOps() {
  static const std::vector<OpInfo> ops = [] {
    std::vector<OpInfo> list;
    for (const Op& op : kOps) list.push_back(op.info);
    return list;
  }();
  return ops;
}

const char* ExpectName(Expect expect) {
  return kExpects[static_cast<size_t>(expect)].data();
}

const char* LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kBhsd:
      return "bhsd";
    case Layout::kBshd:
      return "bshd";
    case Layout::kThd:
      break;
  }
  return "thd";
}

}  // namespace lockstep::verify
