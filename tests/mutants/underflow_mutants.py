#!/usr/bin/env python3
"""Mutants of what the envelopes allow underflow, before underflow_test."""

import sys

import runner

B = "verify/oracle/mamba3_scan_backward/output.cc"
H = "verify/oracle/mamba3_scan_backward/walk.h"
K = "verify/oracle/mamba3_scan_backward/tokens.cc"
S = "verify/oracle/mamba3_scan/truth.cc"

# name, source, text, replacement
MUTANTS = (
    ("carry_within_a_chunk_is_exact", S, "for (double& x : row) x *= 1 + ends;", ""),
    ("decays_of_a_chunk_lose_nothing", S, "(e_.chunk > 1 ? whole_[m][c] : 0)", "0"),
    ("products_lose_nothing", B, "AsOne(Off(",
     "([](Num x) { x.lost = 0; return x; })(Off("),
    ("rounded_factors_lose_nothing", H, "relative > 0 ? 1.0 : 0.0", "0.0"),
)

if __name__ == "__main__":
    sys.exit(runner.main("underflow", MUTANTS, {H: K}))
