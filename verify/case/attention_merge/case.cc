#include "verify/case/attention_merge/case.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/cotangent.h"
#include "verify/case/fill.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

using Am = AttentionMergeCase;

constexpr std::string_view kBases[] = {"e", "2"};
constexpr std::string_view kLayouts[] = {"shnd", "snhd", "nshd"};

constexpr CaseKey OutKey() {
  CaseKey key = keys::LaneKey<&Am::out_lane>("out");
  key.set_default = [](Case& c) { c.Get<Am>().out_lane = c.Get<Am>().lane; };
  return key;
}

template <auto kMember>
Status ParseTerms(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(auto terms, ParseFill(in));
  c.Get<Am>().*kMember = std::move(terms);
  return {};
}

template <auto kMember>
constexpr CaseKey TermsKey(const char* name) {
  return {
      name,
      "FAMILY:ARGUMENTS joined by +",
      [](Case& c) { c.Get<Am>().*kMember = Am().*kMember; },
      ParseTerms<kMember>,
      [](const Case& c, int64_t) { return FormatFill(c.Get<Am>().*kMember); },
      nullptr};
}

Status ParseLetters(Scanner& in, int64_t, Case& c) {
  std::vector<Number>& letters = c.Get<Am>().letters;
  letters.clear();
  if (in.AcceptWord("none")) return {};
  do {
    ASSIGN_OR_RETURN(const Number value, in.Real());
    letters.push_back(value);
  } while (in.Accept(','));
  return {};
}

std::string PrintLetters(const Case& c, int64_t) {
  std::string text;
  for (const Number value : c.Get<Am>().letters) {
    text += (text.empty() ? "" : ",") + FormatNumber(value);
  }
  return text.empty() ? "none" : text;
}

template <auto kMember>
constexpr CaseKey ShareKey(const char* name) {
  return {
      name,
      "a share from 0 to 1",
      [](Case& c) { c.Get<Am>().*kMember = Number{}; },
      [](Scanner& in, int64_t, Case& c) -> Status {
        ASSIGN_OR_RETURN(c.Get<Am>().*kMember, in.Real());
        return {};
      },
      [](const Case& c, int64_t) { return FormatNumber(c.Get<Am>().*kMember); },
      nullptr};
}

const CaseKey kKeys[] = {
    keys::IntKey<&Am::parts>("s", nullptr),
    keys::IntKey<&Am::heads>("h", &keys::Set<1, &Am::heads>),
    keys::IntKey<&Am::rows>("n", &keys::Set<1, &Am::rows>),
    keys::IntKey<&Am::value_dim>("dv", nullptr),
    keys::LaneKey<&Am::lane>("lane"),
    OutKey(),
    keys::WordKey<kBases, &Am::base>("base", "e|2",
                                     &keys::Set<LseBase::kE, &Am::base>),
    keys::WordKey<kLayouts, &Am::layout>(
        "layout", "shnd|snhd|nshd",
        &keys::Set<MergeLayout::kShnd, &Am::layout>),
    TermsKey<&Am::fill>("fill"),
    TermsKey<&Am::lse>("lse"),
    {"letters", "none, or an lse for each part: 0,-inf,3.5",
     [](Case& c) { c.Get<Am>().letters.clear(); }, ParseLetters, PrintLetters,
     nullptr},
    ShareKey<&Am::empty>("empty"),
    ShareKey<&Am::blank>("blank"),
    ShareKey<&Am::nan>("nan"),
    ShareKey<&Am::posinf>("posinf"),
    kGenKey,
    kSeedKey,
    kExpectKey,
};

bool IsProbe(const FillTerm& term) { return term.kind == FillKind::kProbe; }
bool IsPoison(const FillTerm& term) { return term.kind == FillKind::kPoison; }
bool IsMergeFile(const FillTerm& term) {
  return term.kind == FillKind::kFile && term.tensors == kFillAll;
}

// Families of one tensor, poison, and a probe or one file in their place.
Status CheckFill(const char* key, std::vector<FillTerm> terms) {
  if (std::erase_if(terms, IsMergeFile) > 1) {
    return Status::Error(std::string(key) + ": at most one file: term");
  }
  std::erase_if(terms, [](const FillTerm& term) {
    return term.tensors == kFillAll && (IsProbe(term) || IsPoison(term));
  });
  return CheckCotangent(key, terms);
}

Status CheckLse(const Am& c) {
  std::vector<FillTerm> terms = c.lse;
  if (std::erase_if(terms, IsMergeFile) > 1) {
    return Status::Error("lse: at most one file: term");
  }
  RETURN_IF_ERROR(CheckCotangent("lse", terms));
  const auto count = static_cast<int64_t>(c.letters.size());
  if (count != 0 && count != c.parts) {
    return Status::Error("letters has " + std::to_string(count) +
                         " numbers; want none, or one for each of the s=" +
                         std::to_string(c.parts) + " parts");
  }
  const std::pair<const char*, Number> shares[] = {{"empty", c.empty},
                                                   {"blank", c.blank},
                                                   {"nan", c.nan},
                                                   {"posinf", c.posinf}};
  for (const auto& [name, share] : shares) {
    if (share.value >= 0 && share.value <= 1) continue;
    return Status::Error(std::string(name) + "=" + FormatNumber(share) +
                         " is no share; want a number from 0 to 1");
  }
  return {};
}

}  // namespace

AttentionMergeProblem ToProblem(const AttentionMergeCase& c) {
  return {.parts = c.parts,
          .heads = c.heads,
          .rows = c.rows,
          .value_dim = c.value_dim,
          .lane = c.lane,
          .out_lane = c.out_lane,
          .base = c.base};
}

std::array<int64_t, 4> MergeStrides(MergeLayout layout,
                                    const std::array<int64_t, 4>& shape) {
  const auto [s, h, n, d] = shape;
  switch (layout) {
    case MergeLayout::kSnhd:
      return {n * h * d, d, h * d, 1};
    case MergeLayout::kNshd:
      return {h * d, d, s * h * d, 1};
    case MergeLayout::kShnd:
      break;
  }
  return DenseStrides(shape);
}

bool PoisonsEmptyParts(const AttentionMergeCase& c) {
  return std::any_of(c.fill.begin(), c.fill.end(), IsPoison);
}

std::span<const CaseKey> AttentionMergeKeys() { return kKeys; }

std::string WhyNotAttentionMergeProbe(ProbeKind probe, const Case&) {
  const bool own =
      probe >= ProbeKind::kMergeSelect && probe <= ProbeKind::kMergeShift;
  return own ? "" : "a probe of another op proves nothing about a merge";
}

Status ValidateAttentionMerge(const Case& c) {
  const Am& merge = c.Get<Am>();
  if (const auto probe = ProbeOf(merge)) {
    const std::string why = WhyNotAttentionMergeProbe(*probe, c);
    if (!why.empty()) {
      return Status::Error(std::string("fill probe:") + ProbeName(*probe) +
                           ": " + why);
    }
  }
  RETURN_IF_ERROR(Validate(ToProblem(merge)));
  RETURN_IF_ERROR(CheckFill("fill", merge.fill));
  return CheckLse(merge);
}

int64_t AttentionMergeBytes(const Case& c) {
  const Am& merge = c.Get<Am>();
  const auto lane = static_cast<int64_t>(LaneBytes(merge.lane));
  const auto out = static_cast<int64_t>(LaneBytes(merge.out_lane));
  // Extents are within the contract's limits: below 2^50 together.
  const int64_t rows = merge.heads * merge.rows;
  return rows * (merge.parts * (merge.value_dim * lane + 4) +
                 merge.value_dim * out + 4);
}

bool AttentionMergeNamesFiles(const Case& c) {
  const Am& merge = c.Get<Am>();
  return std::any_of(merge.fill.begin(), merge.fill.end(), IsMergeFile) ||
         std::any_of(merge.lse.begin(), merge.lse.end(), IsMergeFile);
}

}  // namespace lockstep::verify
