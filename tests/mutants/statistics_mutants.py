#!/usr/bin/env python3
"""Mutants of the statistics of errors: thresholds, shares of the rate, which
rows count, the second draw, before statistics_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("bias_bound_loosened", "LogDouble(2) - x * x / 2", "LogDouble(2) - x * x / 2.2"),
    ("bias_bound_tightened", "LogDouble(2) - x * x / 2", "LogDouble(2) - x * x / 1.8"),
    ("size_bound_loosened", "return -static_cast<double>(rows) / 2 *",
     "return -static_cast<double>(rows) / 2.1 *"),
    ("whole_takes_all", "constexpr double kWholePart = 0.5;",
     "constexpr double kWholePart = 1;"),
    ("groups_take_more", "constexpr double kGroupPart = 0.25;",
     "constexpr double kGroupPart = 0.5;"),
    ("places_take_more", "constexpr double kPoolPart = 0.25;",
     "constexpr double kPoolPart = 0.5;"),
    ("no_bonferroni",
     "return log_part - LogDouble(std::max(static_cast<double>(count), 1.0));",
     "return log_part;"),
    ("drift_forgotten", "const double left = std::fabs(along) - drift;",
     "const double left = std::fabs(along);"),
    ("few_rows_looked_at", "if (!(LeastLog(result.rows) < least)) {",
     "if (result.rows == 0) {"),
    ("any_sign_confirms", "if (s.Same(first)) return s.log_p;",
     "if (s.name == first.name) return s.log_p;"),
    ("one_draw_proves", "if (log_p < limit) {", "if (log_p <= 0) {"),
    ("same_draw_again", "call_.seed = Mix(request.salt ^ call_.seed) >> 1;", ""),
    ("truncation_is_chance", "if (model.biased || profile.out_round != Rounding::kNearest) {",
     "if (false) {"),
    ("crowds_at_the_cap_forgotten",
     "const double common = unit * (apart > unit ? unit / apart : 1.0);",
     "const double common = 0 * apart;"),
    ("equal_weights_are_chance", "spread > 0x1p-10 &&", "true &&"),
    ("cut_is_no_drift", "mean.apart += std::fabs(part) / 2;", ""),
    ("cut_mean_left_in", "mean.middle += part / 2;", ""),
    ("copies_are_draws", "draws[{group(row), row.draw}]", "draws[{group(row), row.row}]"),
    ("queries_have_one_number", "draw_.push_back(static_cast<int64_t>(",
     "draw_.push_back(0 * static_cast<int64_t>("),
    ("scores_that_hardly_differ_are_chance", "const double period = ScorePeriod(place);",
     "const double period = 0;"),
    ("results_that_hardly_differ_are_chance", "return from_all >= least &&", "return true ||"),
    ("any_inputs_are_a_draw", 'return smooth ? "" : "inputs that are no random draw";',
     'return "";'),
    ("cap_has_no_slope", "s - x * (1 - t * t)", "s * 0"),
)

if __name__ == "__main__":
    sys.exit(runner.main("statistics", MUTANTS, optimize="-O0"))
