#include "verify/case/fill.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

constexpr std::array<FillFamily, 22> kFamilies = {{
    {FillKind::kNormal, "normal", "SIGMA", 1, false,
     "sum of eight 16-bit uniforms, centred, deviation SIGMA, within 4.9 "
     "SIGMA; with a cap, q is scaled so that at SIGMA 1 the scaled scores "
     "deviate by half the cap"},
    {FillKind::kUniform, "uniform", "LO,HI", 2, false,
     "uniform in [LO, HI) on a grid of 2^-24 of the range"},
    {FillKind::kConst, "const", "X", 1, false,
     "every element X; inf, -inf and nan are numbers here"},
    {FillKind::kInt, "int", "LO,HI", 2, false,
     "uniform integers LO..HI, so that sums and products are exact"},
    {FillKind::kOneHot, "onehot", "", 0, false,
     "1 in channel (position mod channels), 0 elsewhere"},
    {FillKind::kSignature, "signature", "", 0, false,
     "position + 1 in channel (position mod channels), 0 elsewhere"},
    {FillKind::kFile, "file", "PATH#DIGEST", 0, false,
     "tensors q, k, v of a safetensors file, pinned by its digest"},
    {FillKind::kSpread, "spread", "S", 1, true,
     "scales q so that normal:1 data has scaled scores of deviation S before "
     "the cap"},
    {FillKind::kRamp, "ramp", "S", 1, true,
     "multiplies the row at position j of n by 1 + S * j / n: with k, the row "
     "maximum moves along the keys"},
    {FillKind::kSubnormal, "subnormal", "RATE", 1, true,
     "turns about RATE of the elements into subnormals of either sign"},
    {FillKind::kTiny, "tiny", "RATE", 1, true,
     "turns about RATE of the elements into numbers of 2^-126 to 2^-103"},
    {FillKind::kHuge, "huge", "RATE", 1, true,
     "turns about RATE of the elements into numbers within a factor 2 of the "
     "largest finite one"},
    {FillKind::kZero, "zero", "RATE", 1, true,
     "turns about RATE of the elements into +0 or -0"},
    {FillKind::kSpecial, "special", "RATE", 1, true,
     "turns about RATE of the elements into NaN, +inf or -inf"},
    {FillKind::kPoison, "poison", "masked", 0, true,
     "NaN and infinities in every k and v row that no query may see and in "
     "every q row that sees nothing"},
    {FillKind::kProbe, "probe", "NAME", 0, false,
     "an exact probe: inputs on which every legal kernel gives one result; "
     "NAME is one of `lockstep list probes`"},
    {FillKind::kSigns, "signs", "X", 1, false, "+X or -X, at random"},
    {FillKind::kCaps, "caps", "LO,HI", 2, true,
     "scales the normal q row by row so that scaled scores deviate by LO, "
     "2 LO, 4 LO, ... HI caps: some rows stay linear, some saturate"},
    {FillKind::kDrift, "drift", "A,P", 2, true,
     "moves the scaled scores of all rows along the keys: by A over P keys, "
     "back over the next P, and so on; q and k meet in channel 0"},
    {FillKind::kLow, "low", "A,N", 2, true,
     "moves all scaled scores of every Nth row down by A, far below a finite "
     "stand-in for -inf; q and k meet in the last channel"},
    {FillKind::kBurst, "burst", "RATE,E", 2, true,
     "multiplies about RATE of the rows by 2^E, within the finite numbers of "
     "the lane: a few keys, or queries, of another magnitude than the rest"},
    {FillKind::kPeak, "peak", "A,P", 2, true,
     "moves the scaled scores of the first key, and of every Pth behind it, "
     "up by A: one key with much of the weight, and many with little; q and k "
     "meet in channel 0"},
}};

constexpr auto MakeNames() {
  std::array<std::string_view, kFamilies.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kFamilies[i].name;
  return names;
}
constexpr auto kNames = MakeNames();

// "qk." and so on; kFillAll, and nothing consumed, if there is no prefix.
Result<uint8_t> ParseTensors(Scanner& in) {
  const std::string_view rest = in.Rest();
  const size_t dot = rest.find_first_not_of("qkv");
  if (dot == 0 || dot == rest.npos || rest[dot] != '.') return kFillAll;
  uint8_t tensors = 0;
  for (size_t i = 0; i < dot; ++i) {
    const uint8_t bit = rest[i] == 'q'   ? kFillQ
                        : rest[i] == 'k' ? kFillK
                                         : kFillV;
    if ((tensors & bit) != 0) {
      return in.Error("tensor '" + std::string(1, rest[i]) + "' named twice");
    }
    tensors |= bit;
    in.Accept(rest[i]);
  }
  in.Accept('.');
  return tensors;
}

Status ParseFile(Scanner& in, FillTerm* term) {
  const size_t start = in.position();
  term->path = in.Until("#");
  if (term->path.empty()) return in.Error("file wants a file name");
  if (!in.Accept('#')) {
    return in.ErrorAt(start,
                      "a file is pinned by its digest: write "
                      "file:PATH#DIGEST");
  }
  ASSIGN_OR_RETURN(term->digest, ScanDigest(in));
  return {};
}

Status ParseProbe(Scanner& in, FillTerm* term) {
  const size_t start = in.position();
  const Result<ProbeKind> probe = FindProbe(in.Until("+"));
  if (!probe.ok()) return in.ErrorAt(start, probe.message());
  term->probe = probe.value();
  if (term->tensors == kFillAll) return {};
  return in.ErrorAt(start, "a probe fills q, k and v: write probe:" +
                               std::string(ProbeName(term->probe)));
}

Status ParseArguments(Scanner& in, const FillFamily& family, FillTerm* term) {
  if (family.arguments[0] == '\0') return {};
  const std::string form = std::string(family.name) + ":" + family.arguments;
  if (!in.Accept(':')) return in.Error("expected " + form);
  if (family.kind == FillKind::kFile) return ParseFile(in, term);
  if (family.kind == FillKind::kProbe) return ParseProbe(in, term);
  if (family.kind == FillKind::kPoison) {
    if (in.AcceptWord("masked")) return {};
    return in.Error("expected " + form);
  }
  ASSIGN_OR_RETURN(term->a, in.Real());
  if (family.numbers < 2) return {};
  if (!in.Accept(',')) return in.Error("expected " + form);
  ASSIGN_OR_RETURN(term->b, in.Real());
  return {};
}

// q and k have to fit: these are for all tensors, and leave v alone.
bool IsOfScores(FillKind kind) {
  return kind == FillKind::kCaps || kind == FillKind::kDrift ||
         kind == FillKind::kLow || kind == FillKind::kPeak;
}

Result<FillTerm> ParseTerm(Scanner& in) {
  ASSIGN_OR_RETURN(const auto tensors, ParseTensors(in));
  const size_t start = in.position();
  const std::string_view name = in.Word();
  for (const FillFamily& family : kFamilies) {
    if (name != family.name) continue;
    FillTerm term;
    term.kind = family.kind;
    term.tensors = tensors;
    RETURN_IF_ERROR(ParseArguments(in, family, &term));
    if (IsOfScores(term.kind) && term.tensors != kFillAll) {
      return in.ErrorAt(start, std::string(name) +
                                   " shapes scores, of q and k together: "
                                   "write it without tensors");
    }
    return term;
  }
  if (name.empty()) return in.Error("expected a fill family");
  return in.ErrorAt(start, "unknown fill family " + Quote(name) +
                               "; nearest is '" +
                               std::string(NearestName(name, kNames)) + "'");
}

// Scales stay well inside f32: products with them are finite.
constexpr double kLargestScale = 0x1p100;

Status BadArgument(const FillTerm& term, const std::string& wanted) {
  return Status::Error("fill " + FormatFillTerm(term) + ": wants " + wanted);
}

bool IsInteger(double x) {
  constexpr double kLargest = 16777216;  // 2^24: every integer is an f32
  return std::fabs(x) <= kLargest && x == std::floor(x);
}

}  // namespace

std::span<const FillFamily> FillFamilies() { return kFamilies; }

std::optional<ProbeKind> ProbeIn(std::span<const FillTerm> fill) {
  for (const FillTerm& term : fill) {
    if (term.kind == FillKind::kProbe) return term.probe;
  }
  return std::nullopt;
}

void DropProbe(std::vector<FillTerm>* fill) {
  std::erase_if(*fill, [](const FillTerm& term) {
    return term.kind == FillKind::kProbe;
  });
}

const FillFamily& FamilyOf(FillKind kind) {
  return kFamilies[static_cast<size_t>(kind)];
}

Result<std::vector<FillTerm>> ParseFill(Scanner& in) {
  std::vector<FillTerm> terms;
  do {
    ASSIGN_OR_RETURN(auto term, ParseTerm(in));
    terms.push_back(std::move(term));
  } while (in.Accept('+'));
  return terms;
}

std::string FormatFillTerm(const FillTerm& term) {
  const FillFamily& family = FamilyOf(term.kind);
  std::string text;
  if (term.tensors != kFillAll) {
    if ((term.tensors & kFillQ) != 0) text += 'q';
    if ((term.tensors & kFillK) != 0) text += 'k';
    if ((term.tensors & kFillV) != 0) text += 'v';
    text += '.';
  }
  text += family.name;
  if (family.kind == FillKind::kFile) {
    return text + ":" + term.path + "#" + term.digest;
  }
  if (family.kind == FillKind::kPoison) return text + ":masked";
  if (family.kind == FillKind::kProbe) {
    return text + ":" + ProbeName(term.probe);
  }
  if (family.numbers > 0) text += ":" + FormatNumber(term.a);
  if (family.numbers > 1) text += "," + FormatNumber(term.b);
  return text;
}

std::string FormatFill(const std::vector<FillTerm>& terms) {
  std::string text;
  for (const FillTerm& term : terms) {
    text += (text.empty() ? "" : "+") + FormatFillTerm(term);
  }
  return text;
}

Result<FillTerm> ParseSingleFill(Scanner& in, const char* what) {
  const size_t start = in.position();
  auto term = ParseTerm(in);
  if (!term.ok()) return term;
  const FillKind kind = term->kind;
  const bool fits = kind == FillKind::kNormal || kind == FillKind::kUniform ||
                    kind == FillKind::kConst || kind == FillKind::kInt ||
                    kind == FillKind::kSigns;
  if (!fits || term->tensors != kFillAll) {
    return in.ErrorAt(start,
                      std::string(what) +
                          " is normal:SIGMA, uniform:LO,HI, const:X, int:LO,HI "
                          "or signs:X");
  }
  return term;
}

Status ValidateFillTerm(const FillTerm& term) {
  const double a = term.a.value;
  const double b = term.b.value;
  switch (term.kind) {
    case FillKind::kNormal:
    case FillKind::kSpread:
    case FillKind::kSigns:
      if (0 <= a && a <= kLargestScale) return {};
      return BadArgument(term, "a number from 0 to 2^100");
    case FillKind::kRamp:
      if (std::fabs(a) <= kLargestScale) return {};
      return BadArgument(term, "a number within +-2^100");
    case FillKind::kUniform:
      if (-kLargestScale <= a && a <= b && b <= kLargestScale) return {};
      return BadArgument(term, "LO <= HI within +-2^100");
    case FillKind::kInt:
      if (IsInteger(a) && IsInteger(b) && a <= b) return {};
      return BadArgument(term, "integers LO <= HI of at most 2^24");
    case FillKind::kCaps:
      if (0x1p-20 <= a && a <= b && b <= 0x1p20) return {};
      return BadArgument(term, "2^-20 <= LO <= HI <= 2^20");
    case FillKind::kDrift:
    case FillKind::kPeak:
      if (std::fabs(a) <= 0x1p20 && IsInteger(b) && b >= 1) return {};
      return BadArgument(term, "A within +-2^20, P keys from 1 to 2^24");
    case FillKind::kLow:
      if (0 <= a && a <= 0x1p20 && IsInteger(b) && b >= 1) return {};
      return BadArgument(term, "A from 0 to 2^20, N rows from 1 to 2^24");
    case FillKind::kBurst:
      if (0 <= a && a <= 1 && IsInteger(b) && std::fabs(b) <= 256) return {};
      return BadArgument(term,
                         "a rate between 0 and 1, an integer within +-256");
    case FillKind::kSubnormal:
    case FillKind::kTiny:
    case FillKind::kHuge:
    case FillKind::kZero:
    case FillKind::kSpecial:
      if (0 <= a && a <= 1) return {};
      return BadArgument(term, "a rate between 0 and 1");
    case FillKind::kConst:
    case FillKind::kOneHot:
    case FillKind::kSignature:
    case FillKind::kFile:
    case FillKind::kPoison:
    case FillKind::kProbe:
      break;
  }
  return {};
}

}  // namespace lockstep::verify
