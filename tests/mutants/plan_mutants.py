#!/usr/bin/env python3
"""Mutants of the judge of block tables and of its planted defects."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("canary_is_sound", "PlanWith(canary->bug, scene, &trace)", "PlanWith({}, scene, &trace)"),
    ("canary_never", "if (canary == nullptr) return;", "return;"),
    ("violations_lost", "if (found == violations.end()) continue;", "continue;"),
    ("slack_forgotten", "trace.slack = scene.asked.slack; FindUntrue", "FindUntrue"),
    ("flat_rows_overlooked", "if (row) {", "if (false) {"),
    ("bug_not_asked", "if (of_other.ok()) plan = std::move", "if (false) plan = std::move"),
    ("bug_of_plan_lost", "if (bug.plan != nullptr)", "if (false)"),
    ("bug_of_trace_lost", "bug.trace != nullptr) {", "false) {"),
    ("always_in_range", "plan.options.boundary == optimized::Boundary::kPadded", "false"),
    ("print_of_all_rows", "pool.rows * pool.cols > 1000", "false"),
    ("no_id_overlap_at_all", "return one || overlap ?", "return true ?"),
    ("sees_the_last_key_only", "seen != 0 && seen != keys.end - keys.begin", "seen == 0"),
    ("narrow_enough", "tables->inner_bytes = 1; for", "return; for"),
    ("room_is_no_padding", "if (step >= work->grid_width)", "if (false)"),
    ("every_step_is_its_tile", "visit.mask_inner = step++;", "++step;"),
    ("shard_width_of_one_row", "row + shard_rows, 0,", "row + 1, 0,"),
)

if __name__ == "__main__":
    sys.exit(runner.main("plan", MUTANTS, optimize="-O0"))
