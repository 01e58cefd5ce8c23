#include "fuzz/shrink.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace lockstep::fuzz {
namespace {

using verify::Case;
using Sequence = std::vector<Case>;

// In a campaign this one would have neither a canary nor a law.
constexpr int64_t kNumber = 2;

class Shrinker {
 public:
  using Try = Outcome (*)(const Sequence&, const Target&, int64_t);
  Shrinker(const verify::Domain& domain, const Target& target, Try attempt,
           double seconds, const ShrinkGoal* goal, const Keeps& keeps,
           Shrunk* shrunk)
      : domain_(domain),
        target_(target),
        attempt_(attempt),
        seconds_(seconds),
        goal_(goal),
        keeps_(keeps),
        shrunk_(shrunk),
        signature_(shrunk->outcome.signature) {}

  void Run() {
    while (!IsEnough() && !TimeIsUp() && Step()) {
    }
    shrunk_->seconds += Seconds();
    shrunk_->finished = !TimeIsUp();
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }
  bool IsEnough() const {
    return goal_ != nullptr && goal_->size(shrunk_->sequence) <= goal_->most;
  }
  // Of smaller sequences the one nearest to half the size first, then smaller
  // ones, then those that are hardly smaller.
  std::vector<Sequence> Ordered(std::vector<Sequence> smaller) const {
    if (goal_ == nullptr) return smaller;
    const int64_t half = goal_->size(shrunk_->sequence) / 2;
    std::vector<std::pair<int64_t, Sequence>> sized;
    for (Sequence& one : smaller) {
      const int64_t size = goal_->size(one);
      sized.emplace_back(size <= half ? half - size : size, std::move(one));
    }
    std::stable_sort(
        sized.begin(), sized.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    // Another side each time, or one would be cut down to nothing.
    const auto other = std::find_if(sized.begin(), sized.end(), [&](auto& one) {
      return one.first != sized.front().first;
    });
    if (other != sized.begin()) {
      const auto turn = shrunk_->steps % (other - sized.begin());
      std::rotate(sized.begin(), sized.begin() + turn, other);
    }
    smaller.clear();
    for (auto& [size, one] : sized) smaller.push_back(std::move(one));
    return smaller;
  }
  bool TimeIsUp() const {
    return Seconds() >= seconds_ || (target_.stop != nullptr && *target_.stop);
  }

  // Whether the sequence fails alike; it is the current one then.
  bool Take(const Sequence& sequence) {
    if (TimeIsUp()) return false;
    if (!seen_.insert(verify::MinimalLine(sequence)).second) return false;
    if (keeps_ && !keeps_(sequence)) return false;
    ++shrunk_->tried;
    Outcome outcome = attempt_(sequence, target_, kNumber);
    if (outcome.signature != signature_) return false;
    ++shrunk_->steps;
    shrunk_->sequence = sequence;
    shrunk_->outcome = std::move(outcome);
    return true;
  }

  bool FewerCalls() {
    const Sequence& now = shrunk_->sequence;
    if (now.size() == 1) return false;
    for (size_t n = 0; n < now.size(); ++n) {
      Sequence fewer = now;
      fewer.erase(fewer.begin() + static_cast<int64_t>(n));
      if (Take(fewer)) return true;
    }
    return false;
  }

  bool Step() {
    if (FewerCalls()) return true;
    for (size_t call = 0; call < shrunk_->sequence.size(); ++call) {
      for (const Sequence& smaller :
           Ordered(domain_.reduce(shrunk_->sequence, call))) {
        if (Take(smaller)) return true;
      }
    }
    return false;
  }

  const verify::Domain& domain_;
  const Target& target_;
  const Try attempt_;
  const double seconds_;
  const ShrinkGoal* const goal_;
  const Keeps& keeps_;
  Shrunk* shrunk_;
  const std::string signature_;
  std::set<std::string> seen_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

Shrunk Shrink(const verify::Domain& domain,
              const std::vector<verify::Case>& sequence, const Outcome& outcome,
              const Target& target, double seconds, const ShrinkGoal* goal,
              const Keeps& keeps) {
  Shrunk shrunk;
  shrunk.sequence = sequence;
  shrunk.outcome = outcome;
  Target alike = target;
  // A signature is a tier and a check: "invariance:law_scale".
  const std::string law =
      verify::LawOf(outcome.signature.substr(outcome.signature.find(':') + 1));
  if (!law.empty()) alike.law = law;
  Shrinker(domain, alike, TryCase, seconds, goal, keeps, &shrunk).Run();
  const bool stopped = target.stop != nullptr && *target.stop;
  if (!target.apart || shrunk.tried == 0 || stopped) return shrunk;
  const auto alone = [&](const Sequence& calls) {
    return TryAlone(calls, alike, kNumber).signature == outcome.signature;
  };
  if (alone(shrunk.sequence)) return shrunk;
  shrunk.sequence = sequence;
  shrunk.outcome = outcome;
  shrunk.steps = 0;
  shrunk.alone = alone(sequence);
  if (shrunk.alone) {
    Shrinker(domain, alike, TryAlone, seconds - shrunk.seconds, goal, keeps,
             &shrunk)
        .Run();
  }
  return shrunk;
}

}  // namespace lockstep::fuzz
