// Allowed answers for tests that look at counts alone.
#ifndef LOCKSTEP_TESTS_VERIFY_NO_ROWS_H_
#define LOCKSTEP_TESTS_VERIFY_NO_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/ops/allowed.h"

namespace lockstep::verify {

// Has no row.
class NoRows final : public AllowedResults {
 public:
  const std::vector<int64_t>& rows() const override { return rows_; }
  std::vector<EnvelopeResult> JudgeEach(const OutputSet&,
                                        const ElementSink&) const override {
    return {};
  }
  bool Allows(size_t, const RowBits&) const override { return false; }
  bool Bounds(size_t) const override { return false; }
  std::span<const double> truth() const override { return {}; }

 private:
  std::vector<int64_t> rows_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_NO_ROWS_H_
