#!/usr/bin/env python3
"""Mutants of the judge of block tables and of its planted defects."""

import sys

import runner

B = "verify/judge/block_plan.cc"
G = "verify/tables/planner.cc"
K = "verify/tables/mutants_kernels.cc"
P = "verify/tables/mutants_planner.cc"
S = "verify/tables/dialects/splash_export.cc"
T = "verify/tables/mutants_tables.cc"

# name, source, text, replacement
MUTANTS = (
    ("canary_is_sound", B, "PlanWith(canary->bug, scene, &trace)",
     "PlanWith({}, scene, &trace)"),
    ("canary_never", B, "if (canary == nullptr) return;", "return;"),
    ("violations_lost", B, "if (found == violations.end()) continue;",
     "continue;"),
    ("slack_forgotten", B, "    trace.slack = scene.asked.slack;\n    FindUntrue",
     "    FindUntrue"),
    ("flat_rows_overlooked", G, "if (row) {", "if (false) {"),
    ("bug_not_asked", G, "if (of_other.ok()) plan = std::move",
     "if (false) plan = std::move"),
    ("bug_of_plan_lost", G, "if (bug.plan != nullptr)", "if (false)"),
    ("bug_of_trace_lost", G, "bug.trace != nullptr) {", "false) {"),
    ("always_in_range", G,
     "plan.options.boundary == optimized::Boundary::kPadded", "false"),
    ("print_of_all_rows", P, "pool.rows * pool.cols > 1000", "false"),
    ("no_id_overlap_at_all", P, "return one || overlap ?", "return true ?"),
    ("sees_the_last_key_only", P, "seen != 0 && seen != keys.end - keys.begin",
     "seen == 0"),
    ("narrow_enough", T, "tables->inner_bytes = 1;\n  for",
     "return;\n  for"),
    ("room_is_no_padding", T, "if (step >= work->grid_width)", "if (false)"),
    ("every_step_is_its_tile", K, "visit.mask_inner = step++;", "++step;"),
    ("shard_width_of_one_row", S, "row + shard_rows, 0,", "row + 1, 0,"),
)

if __name__ == "__main__":
    sys.exit(runner.main("plan", MUTANTS, optimize="-O0"))
