// The four masks of 8 x 8 in tiles of 2 x 2 that all golden tables are of, with
// their plans.
#ifndef LOCKSTEP_TESTS_VERIFY_PLAN_FIXTURE_H_
#define LOCKSTEP_TESTS_VERIFY_PLAN_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/tile_plan.h"
#include "tests/support/mask_problem.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/invariants.h"

namespace lockstep::test {

struct Planned {
  MaskProblem mask;
  optimized::TilePlan plan;
  verify::IntendedMask intended;
};

// Plans batch row 0.
inline Planned PlanOf(const MaskProblem& mask,
                      const optimized::TileOptions& options) {
  Planned planned;
  planned.mask = mask;
  const AttentionForwardInputs in = mask.Inputs();
  Result<optimized::TilePlan> plan =
      optimized::PlanTiles(mask.problem, in, 0, options);
  EXPECT_TRUE(plan.ok()) << plan.message();
  planned.plan = std::move(plan.value());
  planned.intended =
      verify::IntendedMask::Of(mask.problem, in, 0, options.segments);
  return planned;
}

// "C1" causal; "C2" causal within documents 00011112; "C3" causal without
// queries 2, 3 and keys 4, 5; "C4" causal, two keys back; "none"; "all".
inline MaskProblem Golden(const std::string& name, int64_t length = 8) {
  MaskProblem m;
  m.problem.q_len = m.problem.kv_len = length;
  MaskExpr causal;
  causal.kind = MaskExpr::Kind::kCausal;
  MaskExpr other;
  if (name == "C2") {
    m.problem.segments = true;
    m.q_seg = m.kv_seg = {0, 0, 0, 1, 1, 1, 1, 2};
  }
  if (name == "C3" || name == "none") {
    other.kind = MaskExpr::Kind::kDense;
    m.dense.resize(1);
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t j = 0; j < length; ++j) {
        const bool seen = i / 2 != 1 && j / 2 != 2;
        m.dense[0].bits.push_back(seen && name == "C3");
      }
    }
  }
  if (name == "C4") {
    other.kind = MaskExpr::Kind::kWindow;
    other.left = 2;
    other.right = 0;
  }
  MaskExpr both;
  both.kind = MaskExpr::Kind::kAnd;
  both.children = {causal, other};
  m.problem.masks = {name == "all" ? MaskExpr{} : both};
  return m;
}

inline optimized::TileOptions Tiles(int64_t q, int64_t k) {
  optimized::TileOptions options;
  options.tile_q = q;
  options.tile_k = k;
  return options;
}

// "I2 I4", or "" for sound tables.
inline std::string Names(const std::vector<verify::Violation>& violations) {
  std::string names;
  for (const verify::Violation& v : violations) {
    names += (names.empty() ? "" : " ") +
             std::string(verify::InfoOf(v.invariant).name);
  }
  return names;
}

inline std::string Messages(const std::vector<verify::Violation>& violations) {
  std::string text;
  for (const verify::Violation& v : violations) text += v.message + "\n";
  return text;
}

// Digits of a table, rows separated by '/'; a minus sign before the digit.
inline std::string Digits(const std::vector<int32_t>& values, int64_t width) {
  std::string text;
  for (size_t n = 0; n < values.size(); ++n) {
    if (n > 0 && static_cast<int64_t>(n) % width == 0) text += '/';
    text += std::to_string(values[n]);
  }
  return text;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_VERIFY_PLAN_FIXTURE_H_
