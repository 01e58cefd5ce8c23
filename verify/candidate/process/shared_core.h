// One core for a judge of short calls and the process that answers them.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_CORE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_CORE_H_

#include <chrono>

namespace lockstep::verify {

// Two processes that wait for each other use one core at a time. On two of them
// each message wakes an idle core, which takes longer than a kernel of a few
// microseconds. On a quiet machine fuzzing of such a kernel reached 0.48 of the
// cases a second in process, and 0.72 with both on one core. A kernel with
// threads needs the other cores, so its process stays free. Nothing is held
// where there is one core only, or no such process.
class SharedCore {
 public:
  // `hold`: for how long, before some cases are free.
  explicit SharedCore(std::chrono::seconds hold = std::chrono::seconds(1))
      : hold_(hold) {}
  ~SharedCore() { Free(); }
  SharedCore(const SharedCore&) = delete;
  SharedCore& operator=(const SharedCore&) = delete;

  // Between two cases, always from the same thread. Both are held for a while,
  // then free for some cases, since another process may have come to that core.
  void BetweenCases();
  // Before what takes longer than a case, or starts processes.
  void Free();
  bool held() const { return held_; }

 private:
  using Clock = std::chrono::steady_clock;
  void Hold();

  const std::chrono::seconds hold_;
  bool held_ = false;
  int free_cases_ = 0;  // that are left
  Clock::time_point until_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_CORE_H_
