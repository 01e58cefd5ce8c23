#!/usr/bin/env python3
"""Changes that the record has to show, before record_test: a verdict, a cause, a bound
that is wider by one unit in the last place, a probe left out."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("a_verdict", "if (!found.Passed()) {", "if (false) {"),
    ("a_cause", 'if (Explained() < kCauseReproduced) return "something else is wrong, too";',
     'return "";'),
    ("a_wider_bound", "const ValueSet allowed = rounded(error);",
     "ValueSet allowed = rounded(error); allowed.hi = std::nextafter(allowed.hi, 1e300);"),
    ("a_probe_left_out", "if (ValidateCase(changed).ok()) cases.push_back",
     "if (ValidateCase(changed).ok() && probe.kind != ProbeKind::kCancel) cases.push_back",
     "attention_forward/"),
)

if __name__ == "__main__":
    sys.exit(runner.main("record", MUTANTS, optimize="-O0"))
