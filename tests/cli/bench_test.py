#!/usr/bin/env python3
"""`lockstep bench`: rows, files, refusals, exit codes. What a figure is depends on the
machine, so no test asks for one."""

import json
import os
import signal
import subprocess
import time
import unittest

import program
from program import run

CASE = "attention_forward sq=40 skv=40 d=16 cap=30 mask=causal seed=1"
SCAN = "mamba3_scan t=16 n=8 p=8 seed=2"
KERNEL = "builtin:optimized,threads=1"
# Of a kernel that passes as the profile that it states.
SHAPES = ("attention_forward hq=2 hkv=1 sq=5 skv=9 d=4 cap=30 mask=causal align=br seed=3",
          "attention_forward sq=5 skv=8 d=4 mask=causal align=br seed=4")
HOST = os.path.join(os.path.abspath(program.SOURCE), "tests/host/clock_host.py")
QUICK = ("--budget", "0.01s")


def bench(*arguments, code=0, env=None):
    done = run("bench", *arguments, *QUICK, "--json", "-", env=env)
    assert done.code == code, (done.code, done.out, done.err)
    return json.loads(done.out)


def medians(result):
    return [r for r in result["benchmarks"] if r.get("aggregate_name") == "median"]


class Bench(program.TestCase):

    def test_rows_are_what_comparing_tools_read(self):
        result = bench(CASE, SCAN, "--candidate", KERNEL)
        context = result["context"]
        for key in ("date", "host_name", "executable", "num_cpus", "mhz_per_cpu",
                    "cpu_scaling_enabled", "caches", "load_avg",
                    "library_build_type", "cpu_model", "lockstep_commit"):
            self.assertIn(key, context)
        names = {r["run_name"] for r in result["benchmarks"]}
        self.assertEqual(len(names), 2)
        for name in names:
            rows = [r for r in result["benchmarks"] if r["run_name"] == name]
            samples = [r for r in rows if r["run_type"] == "iteration"]
            self.assertGreaterEqual(len(samples), 5)
            self.assertEqual([r["repetition_index"] for r in samples],
                             list(range(len(samples))))
            self.assertEqual({r["repetitions"] for r in rows}, {len(samples)})
            self.assertEqual({r.get("aggregate_name") for r in rows},
                             {None, "mean", "median", "stddev", "cv"})
            for row in rows:
                self.assertEqual(row["time_unit"], "ms")
                self.assertEqual(row["threads"], 1)
                self.assertGreaterEqual(row["real_time"], 0)
                self.assertGreaterEqual(row["cpu_time"], 0)

    def test_a_row_has_work_and_the_machine_its_limit(self):
        attention, scan = medians(bench(CASE, SCAN, "--candidate", KERNEL))
        self.assertEqual(attention["visible_pairs"], 40 * 41 // 2)
        flop = attention["visible_pairs"] * 2 * (16 + 16)
        self.assertAlmostEqual(
            attention["gflops"] * attention["real_time"] * 1e6 / flop, 1)
        # q, k, v, o and lse, and the two valid counts.
        self.assertEqual(attention["tensor_bytes"], 4 * 40 * (4 * 16 + 1) + 8)
        self.assertEqual(scan["head_tokens"], 16)
        for row in (attention, scan):
            self.assertEqual(row["verdict"], "pass")
            self.assertEqual(row["candidate"], KERNEL)
            for key in ("fraction", "of_roof", "best", "peak_gflops",
                        "bytes_per_second", "interval_low", "interval_high"):
                self.assertGreaterEqual(row[key], 0, key)
            self.assertIn("of_instruction", row)
            self.assertIn("f32_fma", row["instruction"])

    def test_blocks_are_held_against_the_matrix_unit_where_there_is_one(self):
        targets = json.loads(run("env", "--json", "-").out)["targets"]
        row, = medians(bench("attention_forward sq=40 skv=40 d=16 lane=bf16 p=bf16 "
                             "order=amx", "--candidate", KERNEL))
        if targets["used"] in targets["matrix_unit"]:
            self.assertEqual((row["limit"], row["instruction"]), ("amx", "amx"))
            self.assertIn("of_amx", row)
        else:
            self.assertNotIn("of_amx", row)

    def test_the_reference_has_no_instruction(self):
        row, = medians(bench(CASE, "--candidate", "builtin:reference"))
        self.assertIn("fraction", row)
        self.assertNotIn("of_instruction", row)

    def test_tiles_and_sweeps(self):
        rows = medians(bench(CASE, "--candidate", KERNEL, "--tile", "8x16", "--tile",
                             "16x32"))
        self.assertEqual([r["candidate"].split(",")[1] for r in rows],
                         ["threads=1", "tile=8x16", "tile=16x32"])
        result = bench(CASE, "--candidate", KERNEL, "--sweep", "tile", "--sweep",
                       "threads")
        tiles, threads = result["sweeps"]
        points = [p["point"] for p in tiles["points"]]
        self.assertEqual(points[0], "default")
        self.assertEqual(len(points), len(set(points)))
        # 40 keys are at most 48 of a tile: plans that are the same are one.
        self.assertTrue(all(p.endswith("x48") for p in points[1:]), points)
        self.assertIn("40x48", points)
        self.assertIn(tiles["best"], points)
        self.assertEqual([p["point"] for p in threads["points"]][:2], ["default", "1"])
        chunks, = bench(SCAN, "--sweep", "chunk")["sweeps"]
        self.assertIn("16", [p["point"] for p in chunks["points"]])
        targets, = bench(CASE, "--sweep", "target")["sweeps"]
        self.assertGreaterEqual(len(targets["points"]), 2)

    def row_of(self, words):
        done = run("bench", SHAPES[0], "--candidate", f"cmd:python3 -B {HOST} {words}",
                   "--profile", "from-candidate", *QUICK, "--json", "-")
        row, = [r for r in json.loads(done.out)["benchmarks"]
                if r.get("aggregate_name") == "median" or "error_message" in r]
        return done.code, row

    def test_a_told_time_is_marked_and_counts_only_if_it_may_be(self):
        code, row = self.row_of("5e-5 kernel --slow")
        self.assertEqual((code, row["told_times"]), (0, "told, not used"))
        self.assertGreater(row["real_time"], 5)
        self.assertNotIn("cpu_fraction", row)
        code, row = self.row_of("1e-5 device")
        self.assertEqual((code, row["told_times"]), (0, "device clock"))
        self.assertAlmostEqual(row["real_time"], 0.01)
        self.assertIn("it took no time", self.row_of("0 device")[1]["error_message"])

    def test_a_wrong_answer_is_not_timed(self):
        result = bench(CASE, "--candidate", "mutant:attn.cap_ignored", code=1)
        row, = result["benchmarks"]
        self.assertTrue(row["error_occurred"])
        self.assertIn("not timed: fail", row["error_message"])
        self.assertNotIn("fraction", row)

    def test_a_ragged_batch_is_timed(self):
        # Rows that it does not have hold whatever a kernel leaves there.
        result = bench("attention_forward b=3 hq=2 sq=9 skv=12 d=8 mask=causal layout=varlen "
                       "valid_q=9,0,4 valid_kv=12,3,7", "--candidate", KERNEL)
        self.assertEqual(len(medians(result)), 1, result)

    def test_the_time_of_a_host_is_its_own(self):
        row, = medians(bench(SHAPES[0], "--profile", "from-candidate", "--candidate",
                             f"cmd:python3 -B {HOST} 2.5e-8"))
        self.assertAlmostEqual(row["real_time"], 2.5e-5, places=9)
        # The wire and the host's own work are in the time until the answer.
        self.assertGreater(row["wall_time"], row["real_time"])
        self.assertNotIn("of_instruction", row)
        self.assertNotIn("cpu_fraction", row)

    def test_text(self):
        done = run("bench", CASE, "--candidate", KERNEL, *QUICK)
        self.assertEqual(done.code, 0, done.err)
        for word in ("machine   ", "peaks     ", "reads     ", CASE[:40], KERNEL, "+-"):
            self.assertIn(word, done.out)

    def test_what_has_changed_since_a_baseline(self):
        kernel = f"cmd:python3 -B {HOST} 2e-5"
        options = (SHAPES[0], "--profile", "from-candidate", "--candidate", kernel)
        before = bench(*options)
        for run_ in before["benchmarks"]:
            run_["real_time"] *= 2
        path = self.path("before.json", json.dumps(before))
        done = run("bench", *options, "--budget", "1s", "--baseline", path)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("against the baseline", done.out)
        self.assertIn("40 us -> 20 us, -50.0 %", done.out)
        self.assertUsage(run("bench", CASE, "--baseline", self.path("no.json", "[]")),
                         "is no result")
        self.assertUsage(run("bench", CASE, "--baseline", self.path("nowhere")))

    def test_goals(self):
        path = self.path("goals.cases",
                         "#: slow fraction >= 1e-9 with builtin:optimized,threads=1\n"
                         "#: vain fraction >= 1e9 with builtin:optimized,threads=1\n"
                         "#: beside speedup >= 1e-9 against slow\n" + CASE + "\n"
                         "#: plan planning_ms <= 1e9\n" + CASE + "\n"
                         "#: tanh cycles <= 1e9 of tanh\n")
        done = run("bench", "--cases", path, *QUICK, "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        goals = {g["goal"]: g for g in json.loads(done.out)["goals"]}
        self.assertEqual({n: g["met"] for n, g in goals.items()},
                         {"slow": 1, "vain": 0, "beside": 1, "plan": 1, "tanh": 1})
        for goal in goals.values():
            self.assertGreater(goal["measured"], 0)
            self.assertIn("target", goal)
        # To the judge they are comments.
        self.assertEqual(run("verify", "--cases", path).code, 0)

    def test_what_was_measured_stays_when_a_call_is_interrupted(self):
        stuck, out = self.path("stuck"), self.path("b.json")
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "bench", SHAPES[0],
             "attention_forward sq=3 skv=5 d=4", "--candidate",
             f"cmd:python3 -B {HOST} 2e-5 device --stuck {stuck}", "--profile",
             "from-candidate", "--json", out], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while not os.path.exists(stuck) and child.poll() is None:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        said = child.communicate()[0]
        self.assertEqual(child.returncode, 130, said)
        self.assertIn("20 us", said)
        self.assertIn("interrupted", said)
        with open(out, encoding="utf-8") as file:
            rows = json.load(file)["benchmarks"]
        self.assertEqual(len([r for r in rows if r["run_type"] == "iteration"
                              and not r.get("error_occurred")]), 1)
        self.assertIn("interrupted", [r.get("error_message") for r in rows])

    def test_refusals(self):
        self.assertUsage(run("bench"), "no cases")
        self.assertUsage(run("bench", "attention_forward sq=0"))
        self.assertUsage(run("bench", CASE, "--candidate", "files:x"))
        self.assertUsage(run("bench", CASE, "--candidate", "cmd:false"), "--profile")
        self.assertUsage(run("bench", CASE, "--tile", "8x17"), "tile")
        self.assertUsage(run("bench", SCAN, "--sweep", "tile"), "has no tiles")
        self.assertUsage(run("bench", CASE, "--sweep", "chunk"), "mamba3_scan")
        self.assertUsage(run("bench", CASE, "--sweep", "tile", "--candidate",
                             "builtin:reference"), "only builtin:optimized")
        self.assertUsage(run("bench", CASE, "--budget", "5cases"), "seconds to spend")
        self.assertUsage(run("bench", CASE, "--json", self.folder), "no file name")
        self.assertUsage(run("bench", "block_plan sq=64 skv=64 bq=8 bk=8"),
                         "no tensors")
        self.assertUsage(run("bench", CASE + " ;; " + CASE), "sequence")
        for text, word in (("#: a fracton >= 1\n", "nearest is 'fraction'"),
                           ("#: a fraction >= 1\n", "no case after it")):
            path = self.path("bad.cases", CASE + "\n" + text)
            self.assertUsage(run("bench", "--cases", path), word)


class Tuning(program.TestCase):

    def test_a_file_is_made_taken_and_changes_no_bit(self):
        path = self.path("tuning")
        done = run("bench", CASE, "--candidate", KERNEL, "--sweep", "tile", "--tune",
                   path, *QUICK)
        self.assertEqual(done.code, 0, done.err)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.readline(), "lockstep-tuning 1\n")
        # Whatever won: a file as it would be if 8x16 had.
        used = json.loads(run("env", "--json", "-").out)["targets"]["used"]
        cpu = bench(CASE, "--candidate", KERNEL)["context"]["cpu_model"]
        key = ("attention_forward lane=f32 p=f32 order=chain d=16 dv=16 group=1 sq<=64 "
               "skv<=64 cap=yes segments=no mask=causal threads=1")
        path = self.path("made", "lockstep-tuning 1\n" + "\t".join(
            (cpu, used, key, "tile=8x16")) + "\n")
        env = {"LOCKSTEP_TUNING": path}
        row, = medians(bench(CASE, "--candidate", KERNEL, env=env))
        self.assertIn("tile=8x16 ", row["plan"])
        self.assertTrue(row["plan"].endswith(" tuned"))
        digests = []
        for e in ({}, env):
            done = run("verify", CASE, "--json", "-", env=e)
            self.assertEqual(done.code, 0, done.out)
            digests += [event["output_digests"] for event in program.events(done.out)
                        if "output_digests" in event]
        self.assertEqual(len(digests), 2)
        self.assertEqual(digests[0], digests[1])

    def test_a_bad_file_is_one_line(self):
        for text, word in (("no\n", "lockstep-tuning 1"),
                           ("lockstep-tuning 1\na\tAVX2\tk\ttile=8x17\n", ":2: ")):
            env = {"LOCKSTEP_TUNING": self.path("bad", text)}
            for verb in (("verify", CASE), ("bench", CASE), ("fuzz",), ("env",)):
                self.assertUsage(run(*verb, env=env), "LOCKSTEP_TUNING", word)
        env = {"LOCKSTEP_TUNING": self.path("nowhere")}
        self.assertUsage(run("verify", CASE, env=env), "cannot be read")


if __name__ == "__main__":
    unittest.main()
