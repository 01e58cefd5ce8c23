#!/usr/bin/env python3
"""Mutants of what the envelopes allow underflow, before underflow_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("carry_within_a_chunk_is_exact", "for (double& x : row) x *= 1 + ends;", ""),
    ("decays_of_a_chunk_lose_nothing", "(e_.chunk > 1 ? whole_[m][c] : 0)", "0"),
    ("products_lose_nothing", "AsOne(Off(", "([](Num x) { x.lost = 0; return x; })(Off("),
    ("rounded_factors_lose_nothing", "relative > 0 ? 1.0 : 0.0", "0.0"),
)

if __name__ == "__main__":
    sys.exit(runner.main("underflow", MUTANTS,
                         units=("verify/oracle/mamba3_scan_backward/tokens.cc",)))
