#include "verify/judge/evidence/truth_chain.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {

bool TruthChain::Settled(int64_t place) const {
  if (place >= closed_) return true;
  const auto link = links_.find(place);
  return link != links_.end() &&
         (link->second.ended || link->second.truth != nullptr);
}

std::shared_ptr<const PreviousTruth> TruthChain::Before(int64_t place) {
  std::unique_lock<std::mutex> lock(mutex_);
  // From the nearest back to the first that told.
  for (int64_t at = place - 1; at >= first_; --at) {
    changed_.wait(lock, [&] { return at < first_ || Settled(at); });
    if (at < first_) break;
    const auto link = links_.find(at);
    if (link != links_.end() && link->second.truth != nullptr) {
      return link->second.truth;
    }
  }
  return before_first_;
}

void TruthChain::Tell(int64_t place, PreviousTruth own) {
  auto truth = std::make_shared<const PreviousTruth>(std::move(own));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    links_[place].truth = std::move(truth);
  }
  changed_.notify_all();
}

void TruthChain::End(int64_t place) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    links_[place].ended = true;
    while (!links_.empty() && links_.begin()->first == first_ &&
           links_.begin()->second.ended) {
      auto& truth = links_.begin()->second.truth;
      if (truth != nullptr) before_first_ = std::move(truth);
      links_.erase(links_.begin());
      ++first_;
    }
  }
  changed_.notify_all();
}

void TruthChain::Close(int64_t from) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = std::min(closed_, from);
  }
  changed_.notify_all();
}

}  // namespace lockstep::verify
