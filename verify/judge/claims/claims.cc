#include "verify/judge/claims/claims.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "verify/judge/claims/pair_judge.h"
#include "verify/judge/invariance.h"
#include "verify/ops/claims.h"

namespace lockstep::verify {
namespace {

// Past the tiles and splits that kernels have: of 16, 128, 256, 1024 and 4096
// keys, or tokens.
constexpr int64_t kLengths[] = {17, 129, 257, 1025, 4097};

// The case's own size may cost so many budgets.
constexpr int64_t kOwnBudgets = 16;

int64_t CostOf(const OpClaims& op, const Case& c) {
  return 2 * op.work(c) +
         2 * kElementCost *
             (EstimateBytes(c) / static_cast<int64_t>(sizeof(float)));
}

class ClaimJudge {
 public:
  ClaimJudge(const ClaimRequest& request, Claim claim, const TrialRow& op,
             CaseResult* result)
      : request_(request),
        case_(*request.request->call),
        table_(op.pairs()),
        row_(table_.Row(claim)),
        result_(result),
        pair_(request, op, row_, result, &tried_) {
    tried_.claim = claim;
    tried_.claimed =
        request.profile != nullptr && request.profile->claims.Has(claim);
    tried_.length_unit = table_.unit;
    if (row_.unit != nullptr) tried_.unit = row_.unit;
  }

  ClaimTried Run();

 private:
  std::vector<std::vector<ClaimSize>> Levels() const;
  std::vector<ClaimSize> SizesOf(int64_t length) const;
  bool Affordable(const ClaimSize& size, size_t level, size_t levels);
  bool Spent() const;
  Found Try(const ClaimSize& size) {
    const Found found = pair_.Try(size);
    if (found == Found::kHeld) held_.push_back(size);
    return found;
  }
  void Narrow(ClaimSize broken);
  int64_t Below(const ClaimSize& size, int64_t ClaimSize::* axis) const;
  void NarrowAlong(int64_t ClaimSize::* axis, ClaimSize* broken);
  void Conclude();

  const ClaimRequest& request_;
  const Case& case_;
  const OpClaims& table_;
  const OpClaim& row_;
  CaseResult* result_;
  ClaimTried tried_;
  PairJudge pair_;
  int64_t spent_ = 0;
  std::vector<ClaimSize> held_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

bool ClaimJudge::Spent() const {
  if (request_.stop != nullptr && *request_.stop) return true;
  const std::chrono::duration<double> so_far =
      std::chrono::steady_clock::now() - start_;
  return so_far.count() > request_.budget.seconds;
}

std::vector<ClaimSize> ClaimJudge::SizesOf(int64_t length) const {
  if (row_.widths == nullptr) return {{length, 0, false}};
  std::vector<ClaimSize> sizes;
  for (const int64_t width : row_.widths(case_, length)) {
    sizes.push_back({length, width, false});
    if (row_.ragged) sizes.push_back({length, width, true});
  }
  return sizes;
}

// Sizes by length, ascending.
std::vector<std::vector<ClaimSize>> ClaimJudge::Levels() const {
  std::vector<int64_t> lengths = {table_.length(case_)};
  if (table_.grows(case_)) {
    lengths.insert(lengths.end(), std::begin(kLengths), std::end(kLengths));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::vector<std::vector<ClaimSize>> levels;
  for (const int64_t length : lengths) levels.push_back(SizesOf(length));
  return levels;
}

// Each length has its part of the budget, and what those before it have left.
bool ClaimJudge::Affordable(const ClaimSize& size, size_t level,
                            size_t levels) {
  const Result<Case> whole = row_.whole(case_, size);
  if (!whole.ok()) return false;
  const int64_t cost = CostOf(table_, whole.value());
  const int64_t work = request_.budget.work;
  if (size.length == table_.length(case_) && cost <= kOwnBudgets * work) {
    return true;
  }
  const auto part = static_cast<int64_t>(level + 1);
  if (!Spent() && spent_ + cost <= work / static_cast<int64_t>(levels) * part) {
    spent_ += cost;
    return true;
  }
  tried_.cut_short = true;
  return false;
}

ClaimTried ClaimJudge::Run() {
  const auto levels = Levels();
  for (size_t level = 0; level < levels.size(); ++level) {
    for (const ClaimSize& size : levels[level]) {
      if (!Affordable(size, level, levels.size())) continue;
      const Found found = Try(size);
      if (found == Found::kDiffers) Narrow(size);
      if (found == Found::kDiffers || found == Found::kEnded) {
        Conclude();
        return std::move(tried_);
      }
    }
  }
  Conclude();
  return std::move(tried_);
}

void ClaimJudge::Conclude() {
  if (tried_.state == ClaimState::kBroken || !tried_.why_not.empty()) return;
  if (tried_.pairs > 0 && result_->findings.empty()) {
    tried_.state = ClaimState::kKept;
    return;
  }
  tried_.state = ClaimState::kNotRun;
  if (!result_->findings.empty()) {
    tried_.why_not = "the kernel broke: " + result_->findings.back().message;
  } else if (!tried_.refused.empty()) {
    tried_.why_not = "the kernel refuses " + tried_.refused.front();
  } else if (tried_.claim == Claim::kSplit && held_.empty()) {
    tried_.state = ClaimState::kNotApplicable;
    tried_.why_not = "the kernel takes no number of splits or threads";
  } else {
    tried_.why_not = "no pair of calls is within the budget";
  }
}

// The largest size along an axis, below that one and else alike, that holds.
int64_t ClaimJudge::Below(const ClaimSize& size,
                          int64_t ClaimSize::* axis) const {
  int64_t below = 0;
  for (ClaimSize held : held_) {
    const int64_t at = held.*axis;
    held.*axis = size.*axis;
    if (held == size && at < size.*axis) below = std::max(below, at);
  }
  return below;
}

void ClaimJudge::NarrowAlong(int64_t ClaimSize::* axis, ClaimSize* broken) {
  int64_t below = Below(*broken, axis);
  while (broken->*axis - below > 1) {
    ClaimSize between = *broken;
    between.*axis = below + (broken->*axis - below) / 2;
    const Found found = Try(between);
    if (found == Found::kDiffers) {
      *broken = between;
    } else if (found == Found::kEnded) {
      return;
    } else {
      below = between.*axis;
    }
  }
}

void ClaimJudge::Narrow(ClaimSize broken) {
  if (row_.widths != nullptr) NarrowAlong(&ClaimSize::width, &broken);
  if (table_.grows(case_)) NarrowAlong(&ClaimSize::length, &broken);
  tried_.begins_length = broken.length;
  if (row_.widths != nullptr) tried_.begins_width = broken.width;
}

// "positions of padding" -> "position of padding", "queries" -> "query".
std::string Singular(const std::string& units) {
  const std::string first = units + " ";
  const size_t end = first.find("s ");
  if (end == std::string::npos) return units;
  const bool ies = end >= 2 && units.compare(end - 2, 2, "ie") == 0;
  return units.substr(0, ies ? end - 2 : end) + (ies ? "y" : "") +
         units.substr(end + 1);
}

}  // namespace

const char* ClaimStateName(ClaimState state) {
  switch (state) {
    case ClaimState::kKept:
      return "kept";
    case ClaimState::kBroken:
      return "broken";
    case ClaimState::kNotApplicable:
      return "not applicable";
    case ClaimState::kNotRun:
      return "not run";
  }
  return "unknown";
}

std::string WhyNotClaimed(const Case& c, Claim claim) {
  const Result<TrialRow> op = TrialRowOf(c);
  const auto none = [&] {
    return std::string(OpName(c)) + " has no pairs of calls for this claim";
  };
  if (!op.ok() || op->pairs == nullptr) return none();
  const OpClaim& row = op->pairs().Row(claim);
  if (row.whole == nullptr) return none();
  return row.why_not == nullptr ? "" : row.why_not(c);
}

ClaimTried JudgeClaim(const ClaimRequest& request, Claim claim,
                      CaseResult* result) {
  const std::string why = WhyNotClaimed(*request.request->call, claim);
  ClaimTried tried;
  tried.claim = claim;
  tried.claimed =
      request.profile != nullptr && request.profile->claims.Has(claim);
  tried.why_not = why;
  tried.state = ClaimState::kNotApplicable;
  if (!why.empty()) return tried;
  tried.state = ClaimState::kNotRun;
  if (!request.candidate->traits().repeatable ||
      !request.candidate->traits().computes) {
    tried.why_not = "its answers were computed elsewhere, none to such a pair";
    return tried;
  }
  const TrialRow op = TrialRowOf(*request.request->call).value();
  return ClaimJudge(request, claim, op, result).Run();
}

std::string SizeWords(int64_t width, const std::string& unit, int64_t length,
                      const std::string& length_unit) {
  std::string text;
  const auto add = [&](int64_t count, const std::string& units) {
    if (count == 0 || units.empty()) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            (count == 1 ? Singular(units) : units);
  };
  add(width, unit);
  add(length, length_unit);
  return text;
}

Finding BrokenClaim(const ClaimTried& tried, const Case& c) {
  const Result<TrialRow> op = TrialRowOf(c);
  std::string message = std::string("breaks its claim ") +
                        ClaimName(tried.claim) + ": " + tried.pair;
  const std::string where = SizeWords(tried.begins_width, tried.unit,
                                      tried.begins_length, tried.length_unit);
  if (!where.empty()) message += "; begins at " + where;
  if (tried.difference && op.ok()) {
    OutputSpec spec;
    for (const OutputSpec& output : op->outputs(c)) {
      if (output.name == tried.difference->tensor) spec = output;
    }
    message += ": " + DescribeComparison(spec, *tried.difference);
  }
  Finding finding{Tier::kInvariance, ClaimCheck(tried.claim), message, "",
                  tried.difference};
  finding.line = tried.whole_line;
  return finding;
}

}  // namespace lockstep::verify
