#!/usr/bin/env python3
"""Mutants of the first witness: what it leaves out of its margins, and what of
its own is never tried, before witness_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("growth_forgotten",
     "margin.growth = (1 + before) * (1 + own_.division) * kWitnessRoundUp;",
     "margin.growth = 1;"),
    ("growth_without_phi",
     "(2 * phi + numerator * (1 + 3 * phi) + denominator * (1 + phi)) / least;",
     "(numerator + denominator) / least;"),
    ("lse_denominator_twice", "margin.lse = more_denominator + more_eta - kRounding;",
     "margin.lse = 2 * more_denominator + more_eta;"),
    ("lse_eta_of_the_profile", "margin.lse = more_denominator + more_eta - kRounding;",
     "margin.lse = claimed_.Denominator(n, rescales) + more_eta;"),
    ("numerator_of_the_profile",
     "const double more_numerator = claimed_.Numerator(n, rescales) - numerator;",
     "const double more_numerator = claimed_.Numerator(n, rescales);"),
    ("both_terms_of_output", "more_numerator + std::min(more_denominator, more_eta) -",
     "2 * more_numerator + more_denominator + more_eta -"),
    ("any_product", "rescales * e.rescale - 1.5 * lack +", "rescales * e.rescale +"),
    ("any_maximum", 'if (claimed_.weights.fixed_reference) return "no maximum is subtracted";',
     ""),
    ("rounded_outward", "std::fabs(x - witness) <= error) return true;",
     "std::fabs(x - witness) <= 3 * error) return true;"),
    ("lse_allowed_twice", "margin.lse * (1 - 1e-6)", "margin.lse * 2"),
    ("keys_not_counted", "known.visible = visible_[at];", "known.visible = 1;"),
    ("norms_halved", "return std::sqrt(sum) * kRoundUp;", "return std::sqrt(sum) * 0.01;"),
    ("nan_is_allowed", "doubt = apart <= doubt ? doubt : apart == apart ? apart : HUGE_VAL;",
     "if (apart != apart) return std::nullopt;"),
    ("lse_not_looked_at", "!HasLse(profile_) || VouchesForLse(*margin, row, produced);",
     "true;"),
    ("candidate_not_tried", "judge(claimed, truths[1], produced.tensors[0], lse)",
     "judge(own, truths[0], o_, &lse_)"),
    ("sizes_not_tried", ".likely = false, .sizes = true}", ".likely = false}"),
    ("edges_not_tried", "if (drawn % static_cast<uint64_t>(step) == 0) trials.insert(row);",
     ""),
)

if __name__ == "__main__":
    sys.exit(runner.main("witness", MUTANTS, optimize="-O0"))
