#include "verify/case/mamba3_scan/line.h"

#include <string>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/fill.h"
#include "verify/case/keys.h"
#include "verify/case/lists.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

using Scan = Mamba3ScanCase;
using Problem = Mamba3ScanProblem;

Scan& Get(Case& c) { return c.Get<Scan>(); }
const Scan& Get(const Case& c) { return c.Get<Mamba3ScanCase>(); }

constexpr std::string_view kVariants[] = {"siso", "mimo"};
constexpr std::string_view kLayouts[] = {"bthp", "bhtp"};
constexpr std::string_view kRegimes[] = {"typical", "short", "long", "strong",
                                         "resets"};

Status ParseNorm(Scanner& in, int64_t, Case& c) {
  Get(c).norm.reset();
  if (in.AcceptWord("none")) return {};
  ASSIGN_OR_RETURN(const auto value, in.Real());
  Get(c).norm = value;
  return {};
}

Status ParseSeg(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(auto segments, ParseSegments(in));
  Get(c).seg = std::move(segments);
  return {};
}

Status ParseCu(Scanner& in, int64_t, Case& c) {
  Get(c).cu.clear();
  if (in.AcceptWord("none")) return {};
  ASSIGN_OR_RETURN(auto counts, ParseCounts(in));
  Get(c).cu = std::move(counts);
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
  ASSIGN_OR_RETURN(auto term, ParseSingleFill(in, "it"));
  Get(c).*kMember = std::move(term);
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
  ASSIGN_OR_RETURN(auto terms, ParseFill(in));
  Get(c).fill = std::move(terms);
  return {};
}

Status ParsePoison(Scanner& in, int64_t, Case& c) {
  Get(c).poison.reset();
  if (in.AcceptWord("none")) return {};
  ASSIGN_OR_RETURN(const auto run, in.Count());
  Get(c).poison = run;
  return {};
}

constexpr const char* kSource =
    "regime|normal:SIGMA|uniform:LO,HI|const:X|int:LO,HI|signs:X";

// A key of the contract's problem.
template <auto kMember>
constexpr CaseKey IntKey(const char* name, void (*set_default)(Case& c)) {
  return keys::IntKey<&Scan::problem, kMember>(name, set_default);
}
template <auto kMember>
constexpr CaseKey LaneKey(const char* name) {
  return keys::LaneKey<&Scan::problem, kMember>(name);
}
template <auto kMember, bool kDefault>
constexpr CaseKey BoolKey(const char* name) {
  return keys::BoolKey<&Scan::problem, kMember>(
      name, &keys::Set<kDefault, &Scan::problem, kMember>);
}
template <auto kMember>
void SetOne(Case& c) {
  keys::Set<1, &Scan::problem, kMember>(c);
}

const CaseKey kKeys[] = {
    IntKey<&Problem::batch>("b", SetOne<&Problem::batch>),
    IntKey<&Problem::length>("t", nullptr),
    IntKey<&Problem::heads>("h", SetOne<&Problem::heads>),
    IntKey<&Problem::groups>("g", SetOne<&Problem::groups>),
    IntKey<&Problem::state_dim>("n", nullptr),
    IntKey<&Problem::head_dim>("p", nullptr),
    IntKey<&Problem::angles>(
        "s",
        [](Case& c) { Get(c).problem.angles = Get(c).problem.state_dim / 4; }),
    keys::WordKey<kVariants, &Scan::problem, &Problem::variant>(
        "variant", "siso|mimo",
        &keys::Set<Problem::Variant::kSiso, &Scan::problem, &Problem::variant>),
    IntKey<&Problem::ranks>("r", SetOne<&Problem::ranks>),
    LaneKey<&Problem::lane>("lane"),
    LaneKey<&Problem::rotated_lane>("rot"),
    BoolKey<&Problem::bias, true>("bias"),
    BoolKey<&Problem::skip, true>("skip"),
    BoolKey<&Problem::gate, false>("gate"),
    BoolKey<&Problem::reduce, false>("reduce"),
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
    keys::WordKey<kLayouts, &Scan::layout>(
        "layout", "bthp|bhtp", &keys::Set<ScanLayout::kBthp, &Scan::layout>),
    {"pad", "a count of elements", [](Case& c) { Get(c).pad = 0; },
     [](Scanner& in, int64_t, Case& c) -> Status {
       ASSIGN_OR_RETURN(Get(c).pad, in.Count());
       return {};
     },
     [](const Case& c, int64_t) { return std::to_string(Get(c).pad); },
     nullptr},
    keys::WordKey<kRegimes, &Scan::regime>(
        "regime", "typical|short|long|strong|resets",
        &keys::Set<ScanRegime::kTypical, &Scan::regime>),
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
    kShardKey,
    kExpectKey,
};

}  // namespace

std::span<const CaseKey> Mamba3ScanKeys() { return kKeys; }

const char* RegimeName(ScanRegime regime) {
  return kRegimes[static_cast<size_t>(regime)].data();
}

}  // namespace lockstep::verify
