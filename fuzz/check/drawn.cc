#include "fuzz/check/drawn.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "fuzz/trial.h"
#include "fuzz/where.h"
#include "verify/base/status_macros.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::check {
namespace {

constexpr double kShrinking = 8;  // seconds

// Sizes of judged cases, by the keys that people know.
class Sizes : public Observer {
 public:
  explicit Sizes(int64_t reach) : reach_(reach) {}

  Status OnCase(const Tried& tried, const Report&) override {
    if (tried.outcome->verdict == verify::Verdict::kSkipped) return {};
    bool past = false;
    for (const verify::Case& c : *tried.sequence) {
      std::istringstream words(verify::CanonicalLine(c));
      for (std::string word; words >> word;) past = Take(word) || past;
    }
    past_ += past ? 1 : 0;
    return {};
  }

  int64_t past() const { return past_; }
  // "heads 1..8, lengths 1..257, channels 4..256".
  std::string Text() const {
    std::string text;
    for (const auto& [name, range] : ranges_) {
      text += (text.empty() ? "" : ", ") + name + " " +
              std::to_string(range.first) + ".." + std::to_string(range.second);
    }
    return text;
  }

 private:
  bool Take(const std::string& word) {
    static const std::map<std::string, std::string> kNames = {
        {"hq", "heads"},    {"h", "heads"},   {"sq", "lengths"},
        {"skv", "lengths"}, {"t", "lengths"}, {"d", "channels"},
        {"n", "channels"},  {"p", "channels"}};
    const size_t at = word.find('=');
    const auto name = kNames.find(word.substr(0, at));
    char* end = nullptr;
    const char* digits = word.c_str() + (at == word.npos ? 0 : at + 1);
    const int64_t n = std::strtoll(digits, &end, 10);
    if (name == kNames.end() || *end != '\0' || end == digits) return false;
    const auto [place, fresh] = ranges_.insert({name->second, {n, n}});
    place->second.first = std::min(place->second.first, n);
    place->second.second = std::max(place->second.second, n);
    return reach_ > 0 && word.starts_with("skv=") && n > reach_;
  }

  int64_t reach_;
  int64_t past_ = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges_;
};

void Join(const Report& more, Drawn* all) {
  Counts& to = all->counts;
  const Counts& from = more.counts;
  for (const auto count :
       {&Counts::cases, &Counts::pass, &Counts::fail, &Counts::untrusted,
        &Counts::skipped, &Counts::error, &Counts::self_errors,
        &Counts::canaries, &Counts::canaries_missed}) {
    to.*count += from.*count;
  }
  all->seconds += more.judging_seconds;
  all->faults.insert(all->faults.end(), more.faults.begin(), more.faults.end());
  all->conventions.insert(all->conventions.end(), more.conventions.begin(),
                          more.conventions.end());
}

// Features of a domain that show each word of what a kernel computes.
constexpr std::pair<const char*, const char*> kShows[] = {
    {"causal", "causal"},
    {"window:", "window"},
    {"chunked:", "chunked"},
    {"kv_seg=q_seg", "segments"},
    {"align=br", "align_bottom_right"}};

// The words of the condition that have to be judged, by the domain's list.
std::vector<size_t> Needed(const Looked& looked, const verify::Domain& domain) {
  std::vector<size_t> needed;
  const auto names = domain.features();
  const auto add = [&](const std::string& feature) {
    const auto at = std::find(names.begin(), names.end(), feature);
    if (at == names.end()) return;
    needed.push_back(static_cast<size_t>(at - names.begin()));
  };
  for (const auto& [word, feature] : kShows) {
    if (looked.where.find(word) != looked.where.npos) add(feature);
  }
  const size_t cap = looked.where.find("cap=");
  const bool capped = cap != looked.where.npos &&
                      !looked.where.substr(cap).starts_with("cap=none ");
  if (capped) add("cap");
  const bool equal = looked.where.find("hkv=hq") != looked.where.npos ||
                     looked.where.find("g=h") != looked.where.npos;
  if (!equal) add("grouped_heads");
  return needed;
}

// Up to what lengths a round gathers edges: a window has one of its own.
constexpr int64_t kSmallEdge = 4;
constexpr int64_t kLongestEdge = 600;

class Rounds {
 public:
  Rounds(const Looked& looked, const Drawing& how)
      : looked_(looked), how_(how), sizes_(looked.reach) {}

  Result<Drawn> Run() {
    ASSIGN_OR_RETURN(target_,
                     Target::Open(looked_.spec, how_.profile, looked_.op));
    target_.stop = how_.stop;
    ASSIGN_OR_RETURN(plan_.domain, verify::FindDomain(looked_.op));
    if (!looked_.where.empty()) {
      ASSIGN_OR_RETURN(plan_.where, ParseWhere(looked_.where));
    }
    plan_.draw.lane = target_.lane;
    plan_.max_signatures = 1;
    plan_.shrink_seconds = kShrinking;
    plan_.learn = true;
    RETURN_IF_ERROR(CheckWhere(plan_.where, *plan_.domain, plan_.draw));
    std::vector<int64_t> edges = {kSmallEdge};
    if (looked_.reach > 2 * kSmallEdge && looked_.reach < kLongestEdge) {
      edges.push_back(looked_.reach + 1);
    }
    std::vector<int64_t> features(plan_.domain->features().size());
    for (const int64_t edge : edges) {
      RETURN_IF_ERROR(Round(edge, edges.size(), &features));
      if (!drawn_.faults.empty()) break;
    }
    for (const size_t n : Needed(looked_, *plan_.domain)) {
      if (features[n] == 0) drawn_.never.push_back(plan_.domain->features()[n]);
    }
    drawn_.past = sizes_.past();
    drawn_.sizes = sizes_.Text();
    return std::move(drawn_);
  }

 private:
  Status Round(int64_t edge, size_t rounds, std::vector<int64_t>* features) {
    plan_.draw.tile_q = plan_.draw.tile_kv = edge;
    const auto share = static_cast<double>(rounds);
    if (how_.seconds) {
      plan_.budget.seconds = *how_.seconds / share;
    } else {
      plan_.budget.cases = how_.cases / static_cast<int64_t>(rounds) + 1;
    }
    Progress progress;
    ASSIGN_OR_RETURN(const Report report,
                     RunPlan(plan_, target_, &sizes_, &progress));
    for (size_t n = 0; n < features->size(); ++n) {
      (*features)[n] += report.features[n];
    }
    Join(report, &drawn_);
    return {};
  }

  const Looked& looked_;
  const Drawing& how_;
  Sizes sizes_;
  Target target_;
  Plan plan_;
  Drawn drawn_;
};

}  // namespace

Result<Drawn> DrawCases(const Looked& looked, const Drawing& how) {
  return Rounds(looked, how).Run();
}

}  // namespace lockstep::fuzz::check
