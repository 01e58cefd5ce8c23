// Which rows of attention are draws of their own. Rows of one query before the
// same keys share every rounding of their weights. Rows that hardly differ from
// the others round as these do.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_DRAWS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_DRAWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/allowed/attention_forward/errors.h"

namespace lockstep::verify {

// Distance of the lane's numbers next to x >= 0; 0 at 0.
double Ulp(double x, Lane lane);

class RowDraws {
 public:
  explicit RowDraws(const AttentionErrorsRequest& request);

  // Rows of one number share the roundings of their weights: their queries
  // hold the same values, and they read the same keys. `place`: in
  // request.rows.
  int64_t DrawOf(size_t place) const { return draw_[place]; }

  // Whether the row's roundings differ from those of the draws before the same
  // keys. They do if its scores and results lie further than one rounding from
  // the means of these draws, and its results from the mean of all elements.
  bool Varies(size_t place) const;

 private:
  // Rows that read the same keys, or the same keys and values.
  struct Group {
    int64_t rows = 0;
    int64_t draws = 0;
    std::vector<double> mean;
  };

  void Number();
  void Scores();
  void Results();
  std::vector<double> ScoresOf(size_t place) const;
  bool Ordinary(size_t place) const;
  double Truth(size_t place, size_t c) const;
  double ScorePeriod(size_t place) const;

  const AttentionErrorsRequest& r_;
  std::vector<int64_t> draw_;       // per row
  std::vector<size_t> keys_group_;  // per row: in by_keys_
  std::vector<size_t> pair_group_;  // per row: in by_pair_
  std::vector<Group> by_keys_;      // means of scores at a few keys
  std::vector<Group> by_pair_;      // means of results by channel
  std::vector<size_t> first_row_;   // per draw: its first row's place
  double mean_ = 0;                 // of all results
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_DRAWS_H_
