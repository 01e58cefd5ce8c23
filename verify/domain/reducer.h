// What the reducers of all ops share: edits made in a whole sequence or in one
// of its calls, kept where the cases stay legal.
#ifndef LOCKSTEP_VERIFY_DOMAIN_REDUCER_H_
#define LOCKSTEP_VERIFY_DOMAIN_REDUCER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

// The case as its line reads: dense sources in the order of the masks. Absent
// where ValidateCase refuses it.
std::optional<Case> NormalForm(const Case& c);

// Smaller values to try, boldest first.
std::vector<int64_t> Below(int64_t n, int64_t least);

// kPart: the op's part of a case. Requires: it is that of every call.
template <auto kPart>
class SequenceReducer {
 public:
  using Part = std::remove_pointer_t<decltype(kPart(std::declval<Case*>()))>;
  using Edit = std::function<void(Part*)>;

  SequenceReducer(std::span<const Case> sequence, size_t call)
      : sequence_(sequence.begin(), sequence.end()), call_(call) {}

 protected:
  const Case& call() const { return sequence_[call_]; }
  // Edits all calls, then the one.
  void Try(const Edit& edit) {
    const auto apply = [&](Case* c) {
      Case changed = *c;
      edit(kPart(&changed));
      const std::optional<Case> normal = NormalForm(changed);
      if (normal) *c = *normal;
      return normal.has_value();
    };
    std::vector<Case> together = sequence_;
    if (std::all_of(together.begin(), together.end(),
                    [&](Case& c) { return apply(&c); })) {
      Keep(together);
    }
    if (sequence_.size() == 1) return;
    std::vector<Case> alone = sequence_;
    if (apply(&alone[call_])) Keep(alone);
  }
  void TrySeeds() {
    for (const uint64_t seed : {0, 1, 2}) {
      if (seed >= call().seed) break;
      std::vector<Case> changed = sequence_;
      changed[call_].seed = seed;
      Keep(changed);
    }
  }
  // Not in shards, or in fewer.
  void TryShards() {
    if (!call().shard) return;
    for (const int64_t count : {0, 1, 2, 3, 4}) {
      if (count >= call().shard->count) break;
      std::vector<Case> changed = sequence_;
      changed[call_].shard->count = count;
      if (count == 0) changed[call_].shard.reset();
      if (ValidateCase(changed[call_]).ok()) Keep(changed);
    }
  }
  std::vector<std::vector<Case>> Take() { return std::move(smaller_); }

 private:
  void Keep(const std::vector<Case>& sequence) {
    if (sequence != sequence_) smaller_.push_back(sequence);
  }

  const std::vector<Case> sequence_;
  const size_t call_;
  std::vector<std::vector<Case>> smaller_;
};

// Fewer runs, ids counted from 0.
std::vector<std::vector<SegmentRun>> SmallerRuns(
    const std::vector<SegmentRun>& runs);
// Runs cut off at a length.
void ResizeRuns(Segments* segments, int64_t length);
// The last run of every row reaches to the length. Requires: no row is longer.
void ExtendRuns(Segments* segments, int64_t length);

// For small cases (DomainRow). Lengths keep what they leave modulo half of the
// side, so that a tail stays one.
int64_t TwinLength(int64_t length, int64_t side);
// A count of `from` tokens as one of `to`, no less than 1 where it was that.
int64_t Scaled(int64_t count, int64_t from, int64_t to);
// Runs of `from` tokens as runs of `to`; those that are left with none go.
void ScaleRuns(Segments* segments, int64_t from, int64_t to);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_REDUCER_H_
