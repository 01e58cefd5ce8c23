#!/usr/bin/env python3
"""Changes that the record has to show, before record_test: a verdict, a cause, a bound
that is wider by one unit in the last place, a probe left out."""

import sys

import runner

P = "verify/ops/attention_forward/trial_allowed.cc"

# name, source, text, replacement
MUTANTS = (
    ("a_verdict", "verify/judge/bounded.cc", "if (!found.Passed()) {", "if (false) {"),
    ("a_cause", "verify/causes/explain.cc",
     'if (Explained() < kCauseReproduced) return "something else is wrong, too";',
     'return "";'),
    ("a_wider_bound", "verify/allowed/attention_forward/envelope.cc",
     "const ValueSet allowed = rounded(error);",
     "ValueSet allowed = rounded(error);\n  allowed.hi = std::nextafter(allowed.hi, 1e300);"),
    ("a_probe_left_out", P, "if (ValidateCase(changed).ok()) cases.push_back",
     "if (ValidateCase(changed).ok() && probe.kind != ProbeKind::kCancel) cases.push_back"),
)

if __name__ == "__main__":
    sys.exit(runner.main("record", MUTANTS, optimize="-O0"))
