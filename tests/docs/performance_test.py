#!/usr/bin/env python3
"""docs/performance.md is what scripts/performance.py makes of data/performance/."""
import copy
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "performance.py"
SPEC = importlib.util.spec_from_file_location("performance", SCRIPT)
performance = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(performance)

BENCH = {
    "context": {"cpu_model": "CPU 1/2", "num_cpus": 2, "target": "AVX2", "date": "2026-01-02T",
                "lockstep_commit": "0123456789", "compiler": "c", "load_avg": [0.5, 1, 1],
                "peak_gflops": {"f32_fma@AVX2": 100.4}, "read_bandwidth": {"L1": 5e11}},
    "benchmarks": [{"goal": "a", "best": 0.71}, {"goal": "a", "run_type": "iteration"}],
    "goals": [
        {"goal": "a", "metric": "fraction", "target": 0.6, "target_is": "at_least",
         "measured": 0.7, "met": 1, "case": "attention_forward sq=4 mask=a|b"},
        {"goal": "b", "metric": "judging_ratio", "target": 2, "target_is": "at_most",
         "measured": 3.125, "met": 0}]}


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True,
                          text=True, check=False)


class Page(unittest.TestCase):

    def test_it_is_what_the_data_gives(self):
        self.assertEqual(run("page", "--check").returncode, 0, "run scripts/performance.py page")

    def test_rows_of_a_run(self):
        page = performance.page_of([performance.reduced(BENCH)])
        self.assertIn("| `a` | >= 60 % of the limit | 70.0 (71.0) |", page)
        self.assertIn("| `b` | <= 2 judging ratio | 3.12, missed |", page)
        self.assertIn("| `a` | `attention_forward sq=4 mask=a\\|b` |", page)
        self.assertIn("| CPU 1/2 | 2 | AVX2 | f32_fma@AVX2 100 | L1 500 | 2026-01-02 | 0.5 "
                      "| 01234567, c |", page)

    # A page that is the same for any measurement would prove nothing.
    def test_every_number_shows(self):
        page = performance.page_of([performance.reduced(BENCH)])
        for change in ({"measured": 0.65}, {"target": 0.5}, {"met": 0}, {"goal": "c"}):
            other = copy.deepcopy(BENCH)
            other["goals"][0].update(change)
            self.assertNotEqual(page, performance.page_of([performance.reduced(other)]), change)

    def test_a_machine_without_a_row_has_an_empty_cell(self):
        other = copy.deepcopy(BENCH)
        other["goals"] = other["goals"][1:]
        page = performance.page_of([performance.reduced(other), performance.reduced(BENCH)])
        self.assertIn("| `a` | >= 60 % of the limit |  | 70.0 (71.0) |", page)

    def test_bad_input_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bench.json"
            file.write_text(json.dumps({"context": {}}), encoding="utf-8")
            for arguments, says in (((str(file), "x"), "has no 'benchmarks'"),
                                    ((str(file) + ".no", "x"), "No such file"),
                                    ((str(file), "a/b"), "want letters")):
                done = run("collect", *arguments)
                self.assertEqual(done.returncode, 1)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
