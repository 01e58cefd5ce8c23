// Where a trial's errors can be drawn, and which keys they can be blamed on.
#ifndef LOCKSTEP_VERIFY_OPS_PICTURES_H_
#define LOCKSTEP_VERIFY_OPS_PICTURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::verify {

// How much of a row's error each key can be blamed for.
struct KeyErrors {
  // The share, in [0, 1], of the row's squared error that another weight of
  // this key alone explains.
  std::vector<double> share;
  std::vector<bool> visible;
  // The key has nearly all weight of the row, by right or in what was produced.
  std::vector<bool> alone;
  // The key has a good part of the row's weight by right. Then every other
  // key's error points along it, too: it is what they all lose or gain to.
  std::vector<bool> heavy;
};

// What pictures of a trial's errors need to know.
class TrialPictures {
 public:
  virtual ~TrialPictures() = default;

  // Places along axis `down` of an output where a segment, or a run, begins; 0
  // is none. `at`: an element of the part that is drawn.
  virtual std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const {
    (void)output, (void)at;
    return {};
  }
  // Whether the lines of a wrong row can be blamed on keys, and on which. The
  // row's error and truth, channel by channel. Empty: not known.
  virtual KeyErrors ErrorByKey(size_t output, const std::array<int64_t, 4>& at,
                               std::span<const double> error,
                               std::span<const double> truth) const {
    (void)output, (void)at, (void)error, (void)truth;
    return {};
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_PICTURES_H_
