#!/usr/bin/env python3
"""Misbehaving kernels behind the C interface: each ends with the right sentence and
exit code, and none leaves anything behind.

  bad_kernel_test.py [--runs N]   N runs of them, in place of the table"""

import json
import os
import re
import resource
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
import leftovers  # noqa: E402
import program  # noqa: E402
from program import events, run, summary  # noqa: E402

CASE = "attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal align=br seed=3"
STRIDED = CASE + " strides=o:100/50/10/1"

# Mode of bad_kernel.cc: exit code, and words of the sentence.
BAD = {
    "null": (3, "crashed: SIGSEGV (signal 11) during the call"),
    "abort": (3, "crashed: SIGABRT (signal 6) during the call"),
    "kill": (3, "crashed: SIGKILL"),
    "terminate": (3, "crashed: SIGTERM"),
    "illegal": (3, "crashed: SIGILL"),
    "divide": (3, "crashed: SIGFPE"),
    "overflow": (3, "crashed: SIGSEGV"),
    "timer": (3, "crashed: SIGALRM"),
    "exit_0": (3, "ended with status 0 during the call"),
    "exit_7": (3, "its last line: 'no device'"),
    "exception": (3, "exception: a kernel's own \"trouble\""),
    "exception_int": (3, "exception: of a type that is no std::exception"),
    "exception_thread": (3, "crashed: SIGABRT"),
    "thread_exit": (3, "crashed: SIGABRT"),
    "longjmp": (3, "longjmp: jumped into a call that had already returned"),
    "hang": (3, "did not end the call within "),
    "spin": (3, "did not end the call within "),
    "stop": (3, "did not end the call within "),
    "memory": (3, "above the limit of 200 MiB"),
    "shared_memory": (3, "above the limit of 200 MiB"),
    "memory_file": (3, "above the limit of 200 MiB"),
    "shared_file": (3, "above the limit of 200 MiB"),
    "fills_out": (3, "above the limit of 200 MiB"),
    "child_memory": (3, "above the limit of 200 MiB"),
    "flood": (3, "printed more than 1 MiB"),
    "flood_errors": (3, "printed more than 1 MiB"),
    "orphan": (3, "left 1 process behind"),
    "child": (3, "left 1 child process behind"),
    "zombie": (3, "left 1 child process behind"),
    "thread": (3, "left 1 thread behind"),
    "close_wire": (3, "the wire is closed: Bad file descriptor"),
    "writes_wire": (3, "which is not a message"),
    # It has said that it is done before it has begun: the judge sees its second
    # answer, or what it goes on to write, whichever comes first.
    "forged_answer": (3, re.compile(
        r"candidate \(wire\): (wrote '.*' without being asked|answered call \d+ again)|"
        r"candidate \(guard_zones\): wrote to outputs after it had said that it was "
        "done")),
    "long_line": (3, "a line of more than 1 MiB"),
    "before": (3, "signal: SIGSEGV writing 1 byte before o"),
    "behind": (3, "wrote outside its outputs: 1 byte behind o"),
    "far_behind": (3, "signal: SIGSEGV writing 3901 bytes behind o"),
    "opens_page_behind": (3, re.compile(r"wrote outside its outputs: \d+ bytes behind o")),
    "far_before": (3, "signal: SIGSEGV writing 8192 bytes before o"),
    "writes_inputs": (3, "signal: SIGSEGV writing the input q"),
    "reads_beyond": (3, "bytes behind lse"),
    "ftz": (3, "left subnormals flushed (FTZ)"),
    "daz": (3, "left subnormals flushed (DAZ)"),
    "rounding": (3, "left the rounding mode at 'upward'"),
    "rounding_vectors": (3, "left the rounding mode at 'toward_zero'"),
    "error": (3, "out of luck"),
    "error_code": (3, "returned -5"),
    "unterminated": (3, "xxxxxxxx"),
    "open_fails": (3, "open: lockstep_open returned 1"),
    "open_throws": (3, "lockstep_open threw: no licence"),
    "open_crashes": (3, "crashed: SIGABRT"),
    "open_hangs": (3, "did not end the call within "),
    "close_crashes": (3, "crashed: SIGABRT (signal 6) during reset"),
    "close_throws": (3, "lockstep_close threw: busy"),
    "close_hangs": (3, "did not end reset within "),
    "ends_crashing": (3, "crashed: SIGABRT (signal 6) after bye"),
    "ends_with_status": (3, "ended with status 7 after bye"),
    "nothing_written": (1, "never written"),
    "one_unwritten": (1, "1 never written"),
    "no_lse": (1, "1 never written"),
    "previous": (1, "other bits"),
    "of_address": (1, "invariance (contents): other bits"),
    "random": (1, "other bits"),
    "of_threads": (1, "other bits"),
    "infinite": (1, "produced inf"),
    "peek": (1, "produced 0"),
    "lie_seconds": (1, "the kernel took 1000.000000 s"),
    "lie_no_seconds": (1, "the kernel took nan s"),
    "lie_backend": (1, "'another' ran instead of"),
    "lie_threads": (1, "1 threads were asked for, 3 ran"),
    "lie_tile": (1, "a tile is -1 x"),
    "lie_tiles": (1, "add up to 4"),
    "lie_full": (1, "9 tiles were taken as full, and only 8 are"),
    "unsupported": (77, "odd lengths"),
    "unsupported_later": (5, "odd lengths"),
    "right": (0, "1 pass"),
}
HANGS = ("hang", "spin", "stop", "open_hangs", "close_hangs")
# Nothing is left to replay: every case has passed.
AFTER_ALL = ("ends_crashing", "ends_with_status")
# Take long, or are ended by a limit.
SLOW = HANGS + ("memory", "shared_memory", "memory_file", "shared_file", "fills_out",
                "child_memory")

# Flags of a build that describes itself badly, and the sentence. All exit 2.
DESCRIBED = {
    "-DOTHER_ABI=0x20000": "was built for version 2 of lockstep/candidate.h",
    "-DNO_NAME": "there is no 'name'",
    "-DBAD_THREADS": "describes threads as 'two': want numbers between blanks",
    "-DBAD_SPLITS": "describes splits as 'two': want numbers between blanks",
    "-DBAD_ALIGNMENT": "power of two",
    "-DFAILS": "lockstep_describe returned 9",
    "-DCRASHES": "crashed: SIGSEGV (signal 11) during hello",
    "-DNO_CLOSE": "want both or none",
}


def build(folder, *flags):
    right = os.path.join(folder, "right.o")
    renamed = [f"-Dlockstep_{name}=right_{name}" for name in
               ("describe", "open", "close", "attention_forward")]
    subprocess.run(["gcc", "-std=c99", "-O1", "-fPIC", "-c", "-I", kernel_builds.INCLUDE,
                    *renamed, os.path.join(kernel_builds.EXAMPLES, "attention.c"), "-o",
                    right], check=True)
    return kernel_builds.build(folder, os.path.join(HERE, "bad_kernel.cc"), "-Wno-unused",
                         "-Wno-infinite-recursion", "-pthread", *flags, right)


class BadKernelTest(program.TestCase):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.holder = tempfile.TemporaryDirectory()
        cls.bad = build(cls.holder.name)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def judge(self, mode, *more, case=CASE, **limits):
        """Only what never ends has a limit, and a longer one where the machine is too
        busy for what comes before it."""
        cases = [case] if case else []
        seconds = 1
        while True:
            limit = ["--call-timeout", str(seconds)] if mode in HANGS else []
            done = run("verify", *cases, "--candidate", f"so:{self.bad},mode={mode}",
                       "--profile", "from-candidate", "--candidate-memory", "200M",
                       *limit, *more, **limits)
            if not limit or seconds > 32 or BAD[mode][1] in done.out + done.err:
                return done
            seconds *= 2

    def ends(self, mode, wanted, **more):
        code, words = wanted
        done = self.judge(mode, **more)
        self.assertEqual(done.code, code, done.out[-2000:] + done.err)
        self.assertRegex(done.out + done.err, words if isinstance(words, re.Pattern)
                         else re.escape(words))
        if code not in (0, 77) and mode not in AFTER_ALL:
            self.assertIn(f",mode={mode}", done.out)

    def test_sentences_and_codes(self):
        for mode, wanted in BAD.items():
            with self.subTest(mode):
                self.ends(mode, wanted)
        with self.subTest("between rows"):
            self.ends("between_rows", (3, "between the rows of o"), case=STRIDED)
        with self.subTest("late"):
            # Which of its writes is seen first depends on the scheduler.
            done = self.judge("late")
            self.assertIn(done.code, (1, 3), done.out)
            self.assertRegex(done.out, "after it had said that it was done|SIGSEGV|"
                             "thread.* behind|other bits|never written|outside")
        self.assertEqual(leftovers.processes(), [])
        self.assertEqual(leftovers.files(), [])

    def test_splits_count_where_they_are_claimed(self):
        words = ["verify", CASE, "--candidate", f"so:{self.bad},mode=of_splits", "--profile"]
        done = run(*words, "base = cpu-f32; name = own")
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)
        done = run(*words, "base = cpu-f32; name = own; claims = split")
        self.assertEqual(done.code, 1, done.out[-2000:] + done.err)
        self.assertIn("breaks its claim split: with splits = 4", done.out)

    def test_output_of_another_case(self):
        cases = self.path("a.cases", CASE + "\n" + CASE.replace("seed=3", "seed=4"))
        done = self.judge("other_case", "--cases", cases, "--json", "-", case="")
        self.assertEqual(done.code, 1, done.out[-2000:] + done.err)

    def test_the_next_case_gets_a_new_host(self):
        cases = self.path("a.cases", "\n".join([CASE] * 12))
        for mode in ("null", "longjmp", "far_behind", "exception"):
            # A run with one host takes more than 23: one that stays is too many.
            done = self.judge(mode, "--cases", cases, "--json", "-", case="",
                              descriptors=31)
            self.assertEqual(done.code, 3, done.err)
            self.assertEqual(summary(done.out)["error"], 12)
            for event in events(done.out):
                if event["kind"] == "case":
                    self.assertIn(BAD[mode][1], event["reason"])

    def test_a_rare_fault_is_found_by_repeating_calls(self):
        done = self.judge("rare")
        self.assertEqual(done.code, 0, done.out)
        self.assertRegex(done.out, r"(\d+) runs of the candidate: a fault in fewer than 1 of "
                         r"\d+ calls would pass\n")
        path = self.path("receipt.json")
        done = self.judge("rare", "--repeat", "320", "--receipt", path)
        self.assertEqual(done.code, 1, done.out)
        self.assertIn("other bits in call 300 of the case: o differs in 1 of", done.out)
        self.assertIn(" --repeat 320", done.out)
        with open(path, encoding="utf-8") as file:
            outcome = json.load(file)["outcome"]
        self.assertGreaterEqual(outcome["runs"], 300)
        self.assertEqual(outcome["faults_rarer_than_1_in"], outcome["runs"] // 3)

    def told(self, mode, **env):
        """The median row of a kernel that tells 1e-6 s."""
        done = run("bench", CASE, "--candidate", f"so:{self.bad},mode={mode}", "--profile",
                   "from-candidate", "--budget", "0.01s", "--json", "-", env=env)
        self.assertEqual(done.code, 0, done.err)
        row, = [r for r in json.loads(done.out)["benchmarks"]
                if r.get("aggregate_name") == "median"]
        return row.get("told_times"), row["real_time"]

    def test_a_told_time_counts_if_the_host_has_waited_for_the_device(self):
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o",
                        self.path("libcuda.so.1")], check=True,
                       input=b"int cuCtxSynchronize(void) { return 0; }\n")
        told, milliseconds = self.told("tells_device", LD_LIBRARY_PATH=self.folder)
        self.assertEqual(told, "device clock")
        self.assertAlmostEqual(milliseconds, 1e-3)
        for mode in ("tells_device", "tells_own"):
            with self.subTest(mode):
                told, milliseconds = self.told(mode, LD_LIBRARY_PATH="")
                self.assertEqual(told, "told, not used")
                self.assertGreater(milliseconds, 2e-3)
        self.assertEqual(self.told("right")[0], None)

    def test_descriptions(self):
        for number, (flag, words) in enumerate(DESCRIBED.items()):
            with self.subTest(flag):
                folder = self.path(str(number))
                os.mkdir(folder)
                done = run("verify", CASE, "--candidate", "so:" + build(folder, flag),
                           "--profile", "cpu-f32")
                self.assertUsage(done, words)

    def test_start_up_code_that_flushes(self):
        flushing = kernel_builds.build(self.folder,
                                 os.path.join(kernel_builds.EXAMPLES, "attention.c"),
                                 "-Ofast", "-fno-finite-math-only",
                                 name="flushing")
        done = run("verify", CASE, "--candidate", "so:" + flushing, "--profile",
                   "from-candidate")
        if "FTZ" not in done.out:  # g++ 13 has mended it
            self.skipTest("this compiler's start-up code leaves the modes alone")
        self.assertEqual(done.code, 3, done.out + done.err)

    def test_no_shared_object(self):
        text = self.path("a.so", "no object")
        missing = kernel_builds.build(self.folder, "missing.c",
                                text="extern int nowhere(void);\n"
                                "int lockstep_describe(void* d) { return nowhere() + !d; }\n")
        no_op = kernel_builds.build(self.folder, "no_op.c", text="int f(void) { return 0; }\n")
        for spec, words in ((text, "cannot be loaded"),
                            (missing, "nowhere"),
                            (no_op, "exports no lockstep_describe"),
                            (self.path("none.so"), "there is no file"),
                            ("", "there is no path"),
                            (self.bad + ",mode", "is no ARG=VALUE"),
                            ("'a", "has no end")):
            with self.subTest(words):
                self.assertUsage(run("verify", CASE, "--candidate", "so:" + spec,
                                     "--profile", "cpu-f32"), words)


def many(runs):
    """Runs in one judge each 50 cases, where a descriptor left open by each would be
    too many. Returns what was left behind."""
    import tempfile
    left = []
    with tempfile.TemporaryDirectory() as folder:
        bad = build(folder)
        cases = os.path.join(folder, "a.cases")
        with open(cases, "w", encoding="utf-8") as file:
            file.write("\n".join([CASE] * 50))
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
        modes = [mode for mode in BAD if mode not in SLOW]
        done = 0
        while done < runs:
            mode = modes[done // 50 % len(modes)]
            code = run("verify", "--cases", cases, "--candidate",
                       f"so:{bad},mode={mode}", "--profile", "from-candidate",
                       "--json", "-").code
            if code != BAD[mode][0]:
                left.append(f"{mode} ended with {code}")
            done += 50
        left += leftovers.processes() + leftovers.files()
    return left


if __name__ == "__main__":
    if sys.argv[1:2] == ["--runs"]:
        LEFT = many(int(sys.argv[2]))
        print("\n".join(LEFT) or "nothing is left")
        sys.exit(1 if LEFT else 0)
    unittest.main()
