#include "verify/run/side_by_side.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {
namespace {

// Results that wait for an earlier one are held in memory: so many calls.
constexpr int64_t kMostAhead = 64;

}  // namespace

SideBySide::SideBySide(std::vector<CallUnit> units, const Limits& limits,
                       TruthChain* chain, Tell tell)
    : units_(std::move(units)),
      limits_(limits),
      chain_(*chain),
      tell_(std::move(tell)),
      end_(std::min(units_.empty() ? 0 : units_.back().end, limits.calls)) {}

double SideBySide::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       start_)
      .count();
}

// Whether the next unit has to wait for those at work.
bool SideBySide::IsLate() const {
  if (working_ == 0) return false;
  const CallUnit& unit = units_[next_];
  return unit.bytes > limits_.bytes - bytes_ ||
         unit.begin - told_ >= kMostAhead;
}

std::optional<CallUnit> SideBySide::Take() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto over = [&] {
    return next_ == units_.size() || units_[next_].begin >= end_;
  };
  changed_.wait(lock, [&] { return over() || !IsLate(); });
  if (over()) return std::nullopt;
  const CallUnit& unit = units_[next_++];
  ++working_;
  bytes_ += unit.bytes;
  return unit;
}

bool SideBySide::Begins(int64_t call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (call >= end_) return false;
  if (Stopped()) {
    Interrupt(call);
  } else if (limits_.seconds && Seconds() >= *limits_.seconds) {
    EndBefore(call);
  }
  return call < end_;
}

void SideBySide::Deliver(int64_t call, CaseResult result, bool causes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (call >= end_) return;
  // Interrupted inside a case: what it says is not the whole truth.
  if (Stopped() && result.verdict == Verdict::kPass) return Interrupt(call);
  waiting_.insert({call, {std::move(result), causes}});
  while (!waiting_.empty() && waiting_.begin()->first == told_ &&
         told_ < end_) {
    auto first = waiting_.extract(waiting_.begin());
    ++told_;
    if (!tell_(&first.mapped().result, first.mapped().causes)) EndBefore(told_);
  }
  changed_.notify_all();
}

bool SideBySide::IsNext(int64_t call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return call == told_ && call < end_;
}

void SideBySide::Leave(const CallUnit& unit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --working_;
  bytes_ -= unit.bytes;
  changed_.notify_all();
}

void SideBySide::Abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  EndBefore(told_);
}

void SideBySide::EndBefore(int64_t call) {
  end_ = std::min(end_, call);
  chain_.Close(end_);
  changed_.notify_all();
}

void SideBySide::Interrupt(int64_t call) {
  if (call >= end_) return;
  interrupted_ = true;
  EndBefore(call);
}

}  // namespace lockstep::verify
