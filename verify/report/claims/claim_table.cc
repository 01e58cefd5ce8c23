#include "verify/report/claims/claim_table.h"

#include <algorithm>
#include <tuple>

#include "verify/report/claims/claim_words.h"
#include "verify/report/json_text.h"

namespace lockstep::verify {
namespace {

// "o [b=0 h=1 i=2 c=3]".
std::string ElementOf(const CaseResult& result, const Comparison& comparison) {
  for (const OutputSpec& spec : result.outputs) {
    if (spec.name != comparison.tensor || !comparison.first) continue;
    std::string at;
    for (size_t axis = 0; axis < 4; ++axis) {
      if (spec.axes[axis] == nullptr) continue;
      at += (at.empty() ? "" : " ") + std::string(spec.axes[axis]) + "=" +
            std::to_string(comparison.first->index[axis]);
    }
    return comparison.tensor + " [" + at + "]";
  }
  return comparison.tensor;
}

ClaimWitness WitnessOf(const CaseResult& result, const ClaimTried& tried) {
  ClaimWitness witness;
  witness.line = tried.whole_line.empty() ? result.line : tried.whole_line;
  witness.pair = tried.pair;
  witness.replay = ClaimReplayLine(result, tried);
  if (!tried.difference) return witness;
  const Comparison& comparison = *tried.difference;
  witness.element = ElementOf(result, comparison);
  if (comparison.first) {
    const ElementWitness& first = *comparison.first;
    witness.one = FormatElement(comparison.lane, first.expected);
    witness.other = FormatElement(comparison.lane, first.produced);
  }
  witness.counts = DifferenceWords(comparison.Over(), comparison.Compared(),
                                   comparison.max_ulp);
  return witness;
}

// Whether the case breaks the claim at a smaller size than those before it.
bool BeginsEarlier(const ClaimRow& row, const ClaimTried& tried) {
  const auto size = [](const ClaimTried& one) {
    return std::tuple(one.begins_width, one.begins_length);
  };
  return row.broken_cases == 0 || size(tried) < size(row.begins);
}

void Widen(const ClaimTried& tried, ClaimTried* widest) {
  widest->longest = std::max(widest->longest, tried.longest);
  widest->widest = std::max(widest->widest, tried.widest);
  widest->cut_short = widest->cut_short || tried.cut_short;
  if (widest->unit.empty()) widest->unit = tried.unit;
  if (widest->length_unit.empty()) widest->length_unit = tried.length_unit;
}

Json BeginsJson(const ClaimTried& tried) {
  return {{"width", tried.begins_width},
          {"unit", tried.unit},
          {"length", tried.begins_length},
          {"length_unit", tried.length_unit}};
}

Json UpToJson(const ClaimTried& tried) {
  return {{"width", tried.widest},
          {"unit", tried.unit},
          {"length", tried.longest},
          {"length_unit", tried.length_unit},
          {"cut_short", tried.cut_short}};
}

}  // namespace

ClaimRow* ClaimTable::RowOf(Claim claim) {
  for (ClaimRow& row : rows_) {
    if (row.claim == claim) return &row;
  }
  rows_.push_back({});
  rows_.back().claim = claim;
  return &rows_.back();
}

void ClaimTable::Add(const CaseResult& result) {
  for (const ClaimTried& tried : result.claims_tried) {
    ClaimRow& row = *RowOf(tried.claim);
    row.claimed = row.claimed || tried.claimed;
    for (const std::string& form : tried.refused) ++row.untried[form];
    if (tried.pairs == 0) {
      if (tried.state == ClaimState::kNotRun) row.state = ClaimState::kNotRun;
      ++row.untried[tried.why_not];
      continue;
    }
    ++row.cases;
    row.pairs += tried.pairs;
    row.broken += tried.broken;
    row.elements += tried.elements;
    row.differing += tried.differing;
    row.max_ulp = std::max(row.max_ulp, tried.max_ulp);
    Widen(tried, &row.widest);
    if (tried.state != ClaimState::kBroken) continue;
    if (BeginsEarlier(row, tried)) {
      row.begins = tried;
      row.witness = WitnessOf(result, tried);
    }
    ++row.broken_cases;
  }
}

int64_t ClaimTable::pairs() const {
  int64_t pairs = 0;
  for (const ClaimRow& row : rows_) pairs += row.pairs;
  return pairs;
}

std::vector<Claim> ClaimTable::Unproved() const {
  std::vector<Claim> claims;
  for (const ClaimRow& row : rows_) {
    if (row.claimed && row.pairs == 0) claims.push_back(row.claim);
  }
  return claims;
}

int ClaimsExitCode(const ClaimTable& table, int exit_code) {
  if (exit_code != kExitPass) return exit_code;
  const bool proved = table.pairs() > 0 && table.Unproved().empty();
  return proved ? kExitPass : kExitVacuous;
}

Json ClaimTableJson(const ClaimTable& table) {
  Json list = Json::array();
  for (const ClaimRow& row : table.rows()) {
    Json untried = Json::array();
    for (const auto& [why, cases] : row.untried) {
      untried.push_back({{"why", why}, {"cases", cases}});
    }
    Json json = {{"claim", ClaimName(row.claim)},
                 {"claimed", row.claimed},
                 {"state", StateOf(row)},
                 {"cases", row.cases},
                 {"broken_cases", row.broken_cases},
                 {"pairs", row.pairs},
                 {"broken", row.broken},
                 {"elements", row.elements},
                 {"differing", row.differing},
                 {"max_ulp", row.max_ulp},
                 {"up_to", UpToJson(row.widest)},
                 {"untried", untried}};
    if (row.broken_cases > 0) {
      const ClaimWitness& witness = row.witness;
      json["begins"] = BeginsJson(row.begins);
      json["first"] = {
          {"case", witness.line},       {"pair", witness.pair},
          {"element", witness.element}, {"one", witness.one},
          {"other", witness.other},     {"differs", witness.counts},
          {"replay", witness.replay}};
    }
    list.push_back(json);
  }
  return list;
}

Json TriedClaimsJson(const CaseResult& result) {
  Json list = Json::array();
  for (const ClaimTried& tried : result.claims_tried) {
    Json json = {{"claim", ClaimName(tried.claim)},
                 {"claimed", tried.claimed},
                 {"state", ClaimStateName(tried.state)},
                 {"why_not", tried.why_not},
                 {"pairs", tried.pairs},
                 {"broken", tried.broken},
                 {"runs", tried.runs},
                 {"elements", tried.elements},
                 {"differing", tried.differing},
                 {"max_ulp", tried.max_ulp},
                 {"up_to", UpToJson(tried)},
                 {"refused", tried.refused}};
    if (tried.state == ClaimState::kBroken) {
      json["begins"] = BeginsJson(tried);
      json["pair"] = tried.pair;
      json["case"] = tried.whole_line;
      json["part"] = tried.part_line;
      if (tried.difference) {
        json["difference"] = ComparisonJson(result, *tried.difference);
      }
    }
    list.push_back(json);
  }
  return list;
}

}  // namespace lockstep::verify
