#include "verify/case/mamba3_scan/line.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "verify/case/fill.h"
#include "verify/case/lists.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

using Scan = Mamba3ScanCase;
using Problem = Mamba3ScanProblem;

Scan& Get(Case& c) { return c.Get<Scan>(); }
const Scan& Get(const Case& c) { return c.Get<Mamba3ScanCase>(); }

template <auto kMember>
Status ParseInt(Scanner& in, int64_t, Case& c) {
  const auto value = in.Int();
  if (!value.ok()) return value.status();
  Get(c).problem.*kMember = value.value();
  return {};
}

template <auto kMember>
std::string PrintInt(const Case& c, int64_t) {
  return std::to_string(Get(c).problem.*kMember);
}

template <auto kMember>
void SetOne(Case& c) {
  Get(c).problem.*kMember = 1;
}

// One of `words` as the value of an enum or bool.
template <typename T, size_t kSize>
Status ParseWord(Scanner& in, const std::string_view (&words)[kSize], T* to) {
  for (size_t i = 0; i < kSize; ++i) {
    if (!in.AcceptWord(words[i])) continue;
    *to = static_cast<T>(i);
    return {};
  }
  return in.Error("expected " + ListNames(words) + ", found " +
                  Quote(in.Rest()));
}

constexpr std::string_view kBool[] = {"no", "yes"};
constexpr std::string_view kLanes[] = {"f32", "bf16"};
constexpr std::string_view kVariants[] = {"siso", "mimo"};
constexpr std::string_view kLayouts[] = {"bthp", "bhtp"};
constexpr std::string_view kRegimes[] = {"typical", "short", "long", "strong",
                                         "resets"};

template <auto kMember>
Status ParseBool(Scanner& in, int64_t, Case& c) {
  return ParseWord(in, kBool, &(Get(c).problem.*kMember));
}

template <auto kMember>
std::string PrintBool(const Case& c, int64_t) {
  return std::string(kBool[Get(c).problem.*kMember ? 1 : 0]);
}

template <auto kMember, bool kValue>
void SetBool(Case& c) {
  Get(c).problem.*kMember = kValue;
}

template <auto kMember>
Status ParseLane(Scanner& in, int64_t, Case& c) {
  return ParseWord(in, kLanes, &(Get(c).problem.*kMember));
}

template <auto kMember>
std::string PrintLane(const Case& c, int64_t) {
  return LaneName(Get(c).problem.*kMember);
}

template <auto kMember>
void SetF32(Case& c) {
  Get(c).problem.*kMember = Lane::kF32;
}

Status ParseNorm(Scanner& in, int64_t, Case& c) {
  Get(c).norm.reset();
  if (in.AcceptWord("none")) return {};
  const auto value = in.Real();
  if (!value.ok()) return value.status();
  Get(c).norm = value.value();
  return {};
}

Status ParseSeg(Scanner& in, int64_t, Case& c) {
  auto segments = ParseSegments(in);
  if (!segments.ok()) return segments.status();
  Get(c).seg = std::move(segments.value());
  return {};
}

Status ParseCu(Scanner& in, int64_t, Case& c) {
  Get(c).cu.clear();
  if (in.AcceptWord("none")) return {};
  auto counts = ParseCounts(in);
  if (!counts.ok()) return counts.status();
  Get(c).cu = std::move(counts.value());
  return {};
}

// no, yes, or parts in their order: some of t, h, k, v.
Status ParseCarry(Scanner& in, int64_t, Case& c) {
  std::string& parts = Get(c).carry;
  parts.clear();
  if (in.AcceptWord("no")) return {};
  if (in.AcceptWord("yes")) {
    parts = "thkv";
    return {};
  }
  const size_t start = in.position();
  const std::string_view word = in.Word();
  for (const char part : std::string_view("thkv")) {
    if (word.find(part) != word.npos) parts += part;
  }
  if (!word.empty() && parts == word) return {};
  return in.ErrorAt(start,
                    "expected 'no', 'yes' or parts such as 'thkv', "
                    "found " +
                        Quote(word));
}

std::string PrintCarry(const Case& c, int64_t) {
  const std::string& parts = Get(c).carry;
  if (parts.empty()) return "no";
  return parts == "thkv" ? "yes" : parts;
}

template <auto kMember>
Status ParseSource(Scanner& in, int64_t, Case& c) {
  (Get(c).*kMember).reset();
  if (in.AcceptWord("regime")) return {};
  auto term = ParseSingleFill(in, "it");
  if (!term.ok()) return term.status();
  Get(c).*kMember = std::move(term.value());
  return {};
}

template <auto kMember>
std::string PrintSource(const Case& c, int64_t) {
  const auto& term = Get(c).*kMember;
  return term ? FormatFillTerm(*term) : "regime";
}

template <auto kMember>
void SetRegime(Case& c) {
  (Get(c).*kMember).reset();
}

Status ParseFillKey(Scanner& in, int64_t, Case& c) {
  auto terms = ParseFill(in);
  if (!terms.ok()) return terms.status();
  Get(c).fill = std::move(terms.value());
  return {};
}

Status ParsePoison(Scanner& in, int64_t, Case& c) {
  Get(c).poison.reset();
  if (in.AcceptWord("none")) return {};
  const auto run = in.Count();
  if (!run.ok()) return run.status();
  Get(c).poison = run.value();
  return {};
}

constexpr const char* kInteger = "an integer";
constexpr const char* kLane = "f32|bf16";
constexpr const char* kYesNo = "no|yes";
constexpr const char* kSource =
    "regime|normal:SIGMA|uniform:LO,HI|const:X|int:LO,HI|signs:X";

const CaseKey kKeys[] = {
    {"b", kInteger, SetOne<&Problem::batch>, ParseInt<&Problem::batch>,
     PrintInt<&Problem::batch>, nullptr},
    {"t", kInteger, nullptr, ParseInt<&Problem::length>,
     PrintInt<&Problem::length>, nullptr},
    {"h", kInteger, SetOne<&Problem::heads>, ParseInt<&Problem::heads>,
     PrintInt<&Problem::heads>, nullptr},
    {"g", kInteger, SetOne<&Problem::groups>, ParseInt<&Problem::groups>,
     PrintInt<&Problem::groups>, nullptr},
    {"n", kInteger, nullptr, ParseInt<&Problem::state_dim>,
     PrintInt<&Problem::state_dim>, nullptr},
    {"p", kInteger, nullptr, ParseInt<&Problem::head_dim>,
     PrintInt<&Problem::head_dim>, nullptr},
    {"s", kInteger,
     [](Case& c) { Get(c).problem.angles = Get(c).problem.state_dim / 4; },
     ParseInt<&Problem::angles>, PrintInt<&Problem::angles>, nullptr},
    {"variant", "siso|mimo",
     [](Case& c) { Get(c).problem.variant = Problem::Variant::kSiso; },
     [](Scanner& in, int64_t, Case& c) {
       return ParseWord(in, kVariants, &Get(c).problem.variant);
     },
     [](const Case& c, int64_t) {
       return std::string(kVariants[Get(c).problem.mimo() ? 1 : 0]);
     },
     nullptr},
    {"r", kInteger, SetOne<&Problem::ranks>, ParseInt<&Problem::ranks>,
     PrintInt<&Problem::ranks>, nullptr},
    {"lane", kLane, SetF32<&Problem::lane>, ParseLane<&Problem::lane>,
     PrintLane<&Problem::lane>, nullptr},
    {"rot", kLane, SetF32<&Problem::rotated_lane>,
     ParseLane<&Problem::rotated_lane>, PrintLane<&Problem::rotated_lane>,
     nullptr},
    {"bias", kYesNo, SetBool<&Problem::bias, true>, ParseBool<&Problem::bias>,
     PrintBool<&Problem::bias>, nullptr},
    {"skip", kYesNo, SetBool<&Problem::skip, true>, ParseBool<&Problem::skip>,
     PrintBool<&Problem::skip>, nullptr},
    {"gate", kYesNo, SetBool<&Problem::gate, false>, ParseBool<&Problem::gate>,
     PrintBool<&Problem::gate>, nullptr},
    {"reduce", kYesNo, SetBool<&Problem::reduce, false>,
     ParseBool<&Problem::reduce>, PrintBool<&Problem::reduce>, nullptr},
    {"norm", "none|EPSILON", [](Case& c) { Get(c).norm.reset(); }, ParseNorm,
     [](const Case& c, int64_t) {
       return Get(c).norm ? FormatNumber(*Get(c).norm) : std::string("none");
     },
     nullptr},
    {"seg", "none|runs:LEN,...|ids:ID*LEN,...",
     [](Case& c) { Get(c).seg = {}; }, ParseSeg,
     [](const Case& c, int64_t) { return FormatSegments(Get(c).seg); },
     nullptr},
    {"cu", "none|0,END,END,...", [](Case& c) { Get(c).cu.clear(); }, ParseCu,
     [](const Case& c, int64_t) {
       return Get(c).cu.empty() ? std::string("none") : FormatCounts(Get(c).cu);
     },
     nullptr},
    {"carry", "no|yes", [](Case& c) { Get(c).carry.clear(); }, ParseCarry,
     PrintCarry, nullptr},
    {"layout", "bthp|bhtp", [](Case& c) { Get(c).layout = ScanLayout::kBthp; },
     [](Scanner& in, int64_t, Case& c) {
       return ParseWord(in, kLayouts, &Get(c).layout);
     },
     [](const Case& c, int64_t) {
       return std::string(kLayouts[static_cast<size_t>(Get(c).layout)]);
     },
     nullptr},
    {"pad", "a count of elements", [](Case& c) { Get(c).pad = 0; },
     [](Scanner& in, int64_t, Case& c) -> Status {
       const auto pad = in.Count();
       if (!pad.ok()) return pad.status();
       Get(c).pad = pad.value();
       return {};
     },
     [](const Case& c, int64_t) { return std::to_string(Get(c).pad); },
     nullptr},
    {"regime", "typical|short|long|strong|resets",
     [](Case& c) { Get(c).regime = ScanRegime::kTypical; },
     [](Scanner& in, int64_t, Case& c) {
       return ParseWord(in, kRegimes, &Get(c).regime);
     },
     [](const Case& c, int64_t) {
       return std::string(RegimeName(Get(c).regime));
     },
     nullptr},
    {"a", kSource, SetRegime<&Scan::a>, ParseSource<&Scan::a>,
     PrintSource<&Scan::a>, nullptr},
    {"dt", kSource, SetRegime<&Scan::dt>, ParseSource<&Scan::dt>,
     PrintSource<&Scan::dt>, nullptr},
    {"tau", kSource, SetRegime<&Scan::tau>, ParseSource<&Scan::tau>,
     PrintSource<&Scan::tau>, nullptr},
    {"rate", kSource, SetRegime<&Scan::rate>, ParseSource<&Scan::rate>,
     PrintSource<&Scan::rate>, nullptr},
    {"fill", "FAMILY:ARGUMENTS joined by +",
     [](Case& c) { Get(c).fill = Scan().fill; }, ParseFillKey,
     [](const Case& c, int64_t) { return FormatFill(Get(c).fill); }, nullptr},
    {"poison", "none|RUN", [](Case& c) { Get(c).poison.reset(); }, ParsePoison,
     [](const Case& c, int64_t) {
       return Get(c).poison ? std::to_string(*Get(c).poison)
                            : std::string("none");
     },
     nullptr},
    kGenKey,
    kSeedKey,
    kExpectKey,
};

}  // namespace

std::span<const CaseKey> Mamba3ScanKeys() { return kKeys; }

const char* RegimeName(ScanRegime regime) {
  return kRegimes[static_cast<size_t>(regime)].data();
}

}  // namespace lockstep::verify
