#!/usr/bin/env python3
"""py: candidates and the package's host: right kernels, and each way to be wrong.
Needs NumPy alone: the extension is tried by package_test.py."""
import json
import mmap
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ["LOCKSTEP_PROGRAM"] = os.environ["LOCKSTEP"]
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"
os.chdir(HERE)

import kernels  # noqa: E402
import lockstep  # noqa: E402
import lockstep.host  # noqa: E402
import program  # noqa: E402

CASE = "attention_forward hq=4 hkv=2 sq=5 skv=9 d=8 cap=30 mask=causal&window:6,0 align=br"

# Function of kernels.py: exit code, and words of the sentence.
WRONG = {
    "wrong_number": (1, "o at [b=0 h=0 i=0 c=0]"),
    "unwritten": (1, "(written): o differs in 0 of 160 elements, 4 never written"),
    "raises": (3, "ValueError: no luck at all (kernels.py:"),
    "three_arrays": (3, "returned 3 arrays, want 2: o, lse"),
    "wrong_shape": (3, "lse has the shape [1, 4, 5, 1], want [1, 4, 5]"),
    "wrong_dtype": (3, "o has the type float64, want float32"),
    "alias_of_input": (3, "o lies in the memory of the input q"),
    "alias_of_before": (3, "memory that an earlier call returned"),
    "writes_inputs": (3, "read-only"),
    "rounds_up": (3, "the rounding mode is not to nearest"),
    "leaves": (3, "SystemExit: 0 (kernels.py:"),
    "leaves_at_once": (3, "ended with status 0 during the call"),
    "crashes": (3, "crashed: SIGSEGV"),
    "lies": (1, "its receipt is not true: the kernel took -1"),
    "by_splits": (1, "breaks its claim split: with splits = 4"),
}


def run(*arguments):
    return program.run(*arguments, cwd=HERE)


def judged(name, case=CASE, more=()):
    return run("verify", case, "--candidate", f"py:kernels.py:{name}", "--profile",
               "from-candidate", *more)


def mappings(name):
    """The flags of each mapping of a file of that name in this process (smaps)."""
    found, here = [], False
    with open("/proc/self/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                here = name in line
            elif here and words[0] == "VmFlags:":
                found.append(words[1:])
    return found


class MemoryTest(unittest.TestCase):
    def test_room_for_gaps_is_not_reserved(self):
        with open("/proc/sys/vm/overcommit_memory", encoding="utf-8") as file:
            if file.read().strip() == "2":
                self.skipTest("this system reserves memory for every mapping")
        descriptor = os.memfd_create("room_for_gaps")
        os.ftruncate(descriptor, 1 << 36)
        for prot in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE):
            with lockstep.host.mapped(descriptor, prot):
                (flags,) = mappings("room_for_gaps")
                self.assertIn("nr", flags)
        os.close(descriptor)


class ProgramTest(unittest.TestCase):
    def test_numpy_has_no_autograd(self):
        with self.assertRaisesRegex(lockstep.UsageError, "no autograd in 'numpy'; it is torch"):
            lockstep.autograd_kernel(framework="numpy")

    def test_splits_are_counts(self):
        for splits in ([0], ["two"], [5000], 4):
            with self.assertRaisesRegex(lockstep.UsageError, "are numbers in 1 ... 4096"):
                lockstep.kernel(splits=splits)

    def test_an_own_forward_pass_is_a_declaration(self):
        case = ("attention_backward hq=4 hkv=2 sq=13 skv=19 d=8 cap=2 mask=causal align=br "
                "seed=3")
        given = kernels.OWN_FORWARD.replace("own-forward", "given").replace("= own", "= given")
        for name, profile, code in (("autograd", kernels.OWN_FORWARD, 0),
                                    ("autograd", given, 1),
                                    ("autograd_uncapped", kernels.OWN_FORWARD, 1),
                                    ("autograd_uncapped", given, 1)):
            with self.subTest(name + " " + profile):
                done = run("verify", case, "--candidate", f"py:kernels.py:{name}",
                           "--profile", profile)
                self.assertEqual(done.code, code, done.out + done.err)
        self.assertIn("dq", done.out)

    def test_right_ones_pass(self):
        for name in ("attend", "in_place", "by_terms"):
            with self.subTest(name):
                done = judged(name)
                self.assertEqual(done.code, 0, done.out + done.err)

    def test_threads_of_a_kernel_sleep_between_calls(self):
        # Those that spin take the cores from the judge. A user who says otherwise is heard.
        unsaid = {name: None for name in ("KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_WAIT_POLICY",
                                          "GOMP_SPINCOUNT")}
        for said, wanted in (({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active"),
                             ({"GOMP_SPINCOUNT": "7"}, "unsaid")):
            variables = {**unsaid, **said}
            with self.subTest(wanted), unittest.mock.patch.dict(os.environ):
                for name, value in variables.items():
                    os.environ.pop(name, None)
                    if value is not None:
                        os.environ[name] = value
                done = judged("says_how_threads_wait")
                self.assertIn("threads wait: " + wanted, done.out + done.err)

    def test_terms_are_the_mask(self):
        for mask in ("full", "chunked:3", "prefix:4&window:inf,2", "random:0.4|sink:2",
                     "causal&(window:2,0|sink:1)"):
            for more in ("", " b=2 valid_q=5,3 valid_kv=9,6",
                         " q_seg=runs:2,3 kv_seg=ids:0*2,1*4,0*3"):
                case = f"attention_forward hq=2 sq=5 skv=9 d=8 mask={mask}{more}"
                with self.subTest(case):
                    done = judged("by_terms", case, ["--no-probes", "--no-invariance"])
                    self.assertEqual(done.code, 0, done.out + done.err)

    def test_wrong_ones(self):
        for name, (code, words) in WRONG.items():
            with self.subTest(name):
                done = judged(name)
                self.assertEqual(done.code, code, done.out + done.err)
                self.assertIn(words, done.out)
                self.assertIn(f"--candidate 'py:kernels.py:{name}'", done.out)

    def test_unsupported_is_skipped(self):
        done = judged("refuses")
        self.assertEqual(done.code, 77, done.out + done.err)
        self.assertIn("every case", done.out)

    def test_plans(self):
        case = "block_plan sq=20 skv=28 bq=4 bk=8 dialect=block_mask mask=causal"
        done = run("verify", case, "--candidate", "py:kernels.py:plan")
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_gradients_of_a_scan(self):
        case = ("mamba3_scan_backward b=2 t=9 h=4 g=2 n=8 p=3 variant=mimo r=2 gate=yes "
                "norm=1e-3 seg=runs:4,5 carry=yes dcarry=yes")
        done = judged("scan_gradients", case)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("executed  py (scan_gradients)", done.out)
        done = judged("scan_gradients_without_skip", case)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("(dv)", done.out)

    def test_what_cannot_start(self):
        for spec, words in (
                ("py:kernels", "names no function of a module"),
                ("py:kernels.py:attend,framework", "is no NAME=VALUE"),
                ("py:kernels.py:atend", "kernels.py has no function 'atend'"),
                ("py:gone.py:attend", "there is no file 'gone.py'"),
                ("py:no.such:attend", "there is no module 'no.such'"),
                ("py:kernels.py:attend,framework=numpi", "framework 'numpi' is unknown"),
                ("py:kernels.py:attend,wnats=segments", "a kernel has no 'wnats'")):
            with self.subTest(spec):
                done = run("verify", CASE, "--candidate", spec, "--profile", "cpu-f32")
                self.assertEqual(done.code, 2)
                self.assertIn(words, done.err)
                self.assertEqual(len(done.err.splitlines()), 1)

    def test_a_file_starts_none(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/lockstep.toml", "w", encoding="utf-8") as file:
                file.write(f'cases = "{folder}/a.cases"\ncandidate = "py:kernels.py:attend"\n'
                           'profile = "cpu-f32"\n')
            with open(f"{folder}/a.cases", "w", encoding="utf-8") as file:
                file.write(CASE + "\n")
            done = run("verify", "--config", f"{folder}/lockstep.toml")
            self.assertEqual(done.code, 2)
            self.assertIn("which is a program", done.err)


class PackageTest(unittest.TestCase):
    def test_report(self):
        report = lockstep.verify(kernels.attend, CASE).check()
        self.assertTrue(report.passed)
        self.assertEqual([c.verdict for c in report.cases], ["pass"])
        report = lockstep.verify(kernels.wrong_number, CASE)
        self.assertFalse(report.passed)
        self.assertIn("py:kernels.py:wrong_number", report.findings[0].replay)
        self.assertIn("other rules:", str(report))
        self.assertIn("i=0", report._repr_html_())
        self.assertIn('"passed": false', report.to_json())
        with self.assertRaises(lockstep.Failed) as caught:
            report.check()
        self.assertIn("replay: lockstep verify", str(caught.exception))

    def test_skipped(self):
        with self.assertRaises(lockstep.Skipped) as caught:
            lockstep.verify(kernels.refuses, CASE).check()
        self.assertIn("every case", str(caught.exception))

    def test_in_process(self):
        calls = []

        def closure(q, k, v, *, call):
            calls.append(call.case)
            return kernels.attend(q, k, v, call=call)

        words = {"profile": kernels.PROFILE_FILE, "wants": ["mask.dense"], "isolate": False}
        report = lockstep.verify(closure, CASE, **words).check()
        self.assertEqual(report.isolation, "none")
        self.assertGreater(len(calls), 5)

        with tempfile.TemporaryDirectory() as folder:
            for isolate, said in ((False, "none"), (True, "process")):
                path = f"{folder}/receipt.json"
                lockstep.verify(kernels.attend, CASE, isolate=isolate, receipt=path)
                with open(path, encoding="utf-8") as file:
                    ran = json.load(file)["cases"][0]["resolution"]
                self.assertEqual(ran["kernel"]["isolation"], said)
                self.assertEqual(ran["kernel"]["name"], "attend")
                self.assertEqual(ran["actual_backend"], "py")
                self.assertTrue(ran["requested"].endswith("numpy_attention.py:attend"), ran)
        with self.assertRaises(lockstep.UsageError) as caught:
            lockstep.verify(closure, CASE, profile="cpu-f32", isolate=True)
        self.assertIn("isolate=True", str(caught.exception))

    def test_in_process_exception_is_a_verdict(self):
        report = lockstep.verify(kernels.raises, CASE, isolate=False)
        self.assertEqual(report.exit, 3)
        self.assertIn("no luck", report.findings[0].message)

    def test_an_exit_in_process_does_not_end_the_caller(self):
        report = lockstep.verify(kernels.leaves, CASE, isolate=False)
        self.assertEqual(report.exit, 3)
        self.assertIn("SystemExit: 0 (kernels.py:", report.findings[0].message)

    def test_half_a_surrogate_pair_is_told(self):
        report = lockstep.verify(kernels.raises_half_a_character, CASE)
        self.assertEqual(report.exit, 3)
        self.assertIn(r"ValueError: no \udc80 here (kernels.py:",
                      report.findings[0].message)

    def test_in_process_crash_leaves_the_case(self):
        script = ("import lockstep, kernels\n"
                  f"lockstep.verify(kernels.crashes, {CASE!r}, isolate=False)\n")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True,
                              text=True, check=False)
        self.assertLess(done.returncode, 0)
        self.assertIn("ended during a call of\n  attention_forward", done.stderr)

    def test_fuzz_shrinks(self):
        report = lockstep.fuzz(kernels.wrong_number, budget="200cases", shrink=20)
        self.assertEqual(report.exit, 1)
        self.assertTrue(report.findings[0].case.startswith("attention_forward sq=1 skv=1 d=1"),
                        report.findings[0].case)

    def test_fuzz_needs_no_profile_of_a_planner(self):
        # One of another dialect than most cases ask for.
        report = lockstep.fuzz(kernels.plan, budget="60cases", shrink=5)
        self.assertEqual(report.exit, 1, str(report))
        self.assertNotIn("--profile", report.findings[0].replay)
        with self.assertRaisesRegex(lockstep.UsageError, "needs --profile"):
            lockstep.fuzz("py:kernels.py:plan", "attention_forward", budget="2cases")

    def test_a_profile_may_be_a_text(self):
        def report(base):
            return lockstep.verify(kernels.lse_in_bits, CASE,
                                   profile=kernels.PROFILE + f"lse_base = {base}\n")

        self.assertTrue(report(2).passed)
        wrong = report("e")
        self.assertEqual(wrong.exit, 1)
        replay = wrong.findings[0].replay
        self.assertNotIn("\n", replay)
        # No file that another user could own, or that outlives this process.
        self.assertIn("; lse_base = e'", replay)
        self.assertEqual(program.run(*shlex.split(replay)[1:], cwd=HERE).code, 1)
        with self.assertRaisesRegex(lockstep.UsageError, "lse_base"):
            report(3)

    def test_what_is_shrunk_fails_alone(self):
        # Every case fails once a long one was there, in the same process.
        found = lockstep.fuzz(kernels.wrong_after_a_long_one, budget="200cases",
                              shrink=40).findings[0]
        self.assertTrue(found.event["alone"])
        self.assertIn(" skv=6 ", found.case)
        self.assertEqual(program.run(*shlex.split(found.replay)[1:], cwd=HERE).code, 1)

    def test_what_takes_earlier_cases_says_so(self):
        report = lockstep.fuzz(kernels.wrong_after_many_cases, budget="200cases", shrink=20)
        self.assertFalse(report.findings[0].event["alone"])
        self.assertEqual(report.findings[0].case, report.findings[0].event["found"])
        self.assertIn("does not repeat in a fresh process", str(report))

    def test_scripts_need_no_guard(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/script.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"import sys; sys.path.insert(0, {HERE!r})\n"
                           "import kernels, lockstep\n"
                           "mine = kernels.marked(lambda q, k, v, *, call: None)\n"
                           "@kernels.marked\n"
                           "def attend(q, k, v, *, call):\n"
                           "    return kernels.attend(q, k, v, call=call)\n"
                           f"print(repr(lockstep.verify(attend, {CASE!r})))\n"
                           "later = attend\n")
            done = subprocess.run([sys.executable, path], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.stdout, "<lockstep.Report: 1 pass; exit 0>\n", done.stderr)
            done = run("verify", CASE, "--candidate", f"py:{path}:later", "--profile",
                       "from-candidate")
            self.assertEqual(done.code, 0, done.err)

    def test_usage(self):
        for call, words in (
                (lambda: lockstep.verify(kernels.attend, "attention_forward sq=1 skv=1 dd=1"),
                 "nearest is 'd'"),
                (lambda: lockstep.verify(kernels.attend, "gone.cases"), "nor a file"),
                (lambda: lockstep.verify(kernels.attend, []), "there are no cases"),
                (lambda: lockstep.verify(lambda q: q, CASE), "needs a numeric profile"),
                (lambda: lockstep.verify(7, CASE), "want a function"),
                (lambda: lockstep.kernel(op="attention"), "op 'attention' is unknown")):
            with self.subTest(words):
                with self.assertRaises(lockstep.UsageError) as caught:
                    call()
                self.assertIn(words, str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_the_program(self):
        done = subprocess.run([sys.executable, "-m", "lockstep", "list", "ops"],
                              capture_output=True, text=True, check=False)
        self.assertIn("attention_forward", done.stdout)


if __name__ == "__main__":
    unittest.main()
