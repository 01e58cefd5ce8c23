#!/usr/bin/env python3
"""Kernels behind the wire: right ones pass, planted bugs fail, misbehaviour
ends with its sentence and exit code, and nothing is left behind."""

import glob
import json
import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
import schema  # noqa: E402
from program import events, run, summary  # noqa: E402

SMALL = "attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal align=br seed=3"
CASES = """
attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal align=br seed=3
attention_forward b=2 hq=4 hkv=2 sq=4 skv=7 d=4 dv=3 mask=causal&window:2,0 seed=4
attention_forward sq=6 skv=6 d=4 mask=prefix:2|chunked:3 seed=5
attention_forward sq=8 skv=8 d=4 mask=causal&(window:1,0|sink:2) q_seg=runs:5,3 kv_seg=runs:5,3 seed=6
attention_forward b=2 sq=5 skv=6 d=4 mask=random:0.5 valid_q=5,3 valid_kv=6,2 align=br seed=7
attention_forward hq=2 hkv=2 sq=5 skv=6 d=4 layout=bshd mask.h1=causal seed=8
attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 lane=bf16 p=bf16 cap=20 seed=9
attention_forward hq=2 sq=4 skv=8 d=4 sinklogit=normal:1 mask=window:3,inf align=2 seed=10
"""


def host(name, *arguments):
    # Not what the path has under that name: it may be a script that looks for one.
    return "cmd:" + " ".join([f"'{sys.executable}'", f"'{HERE}/{name}.py'", *arguments])


def judge(candidate, *more, case=SMALL, **limits):
    cases = [case] if case else []
    return run("verify", *cases, "--candidate", candidate, "--profile",
               "from-candidate", *more, **limits)


class RightTest(program.TestCase):
    def passes(self, candidate):
        cases = self.path("a.cases", CASES)
        done = judge(candidate, "--cases", cases, "--json", "-", case="")
        self.assertEqual(done.code, 0, done.out + done.err)
        # The host's profile is one for f32: the line in bf16 is skipped.
        lines = CASES.split("\n")[1:-1]
        self.assertEqual(summary(done.out)["pass"],
                         sum("lane=bf16" not in line for line in lines))

    def test_with_a_mask_made_by_the_judge(self):
        self.passes(host("attention_host"))

    def test_with_masks_as_terms(self):
        self.passes(host("terms_host"))

    def test_the_page_says_sixty_lines(self):
        with open(os.path.join(HERE, "attention_host.py"), encoding="utf-8") as file:
            code = file.read().split('"""', 2)[2]
        lines = [line for line in code.splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 60)

    def test_receipt_names_the_kernel(self):
        receipt = self.path("r.json")
        done = judge(host("attention_host"), "--receipt", receipt)
        self.assertEqual(done.code, 0, done.out + done.err)
        with open(receipt, encoding="utf-8") as file:
            text = json.load(file)
        kernel = text["cases"][0]["resolution"]["kernel"]
        self.assertEqual(kernel["name"], "python-attention")
        self.assertEqual(kernel["guards"], "zones")
        self.assertIn(kernel["peeking"], ("excluded", "not excluded"))
        self.assertEqual(text["request"]["profile_source"], "candidate")

    def test_other_ops_are_skipped(self):
        done = run("verify", "mamba3_scan t=3 n=4 p=2", "--candidate",
                   host("attention_host"), "--profile", "scan-f32")
        self.assertEqual(done.code, 77, done.out + done.err)
        self.assertIn("does not compute mamba3_scan", done.out)


class BugTest(program.TestCase):
    """Every planted bug is found on some line, and the exit code is 1."""

    def test_bugs(self):
        cases = self.path("a.cases", CASES)
        for bug in ("last_key_dropped", "first_key_twice", "look_ahead",
                    "mask_ignored", "no_scale", "no_cap", "head_of_group_0",
                    "lse_doubled", "row_before", "empty_row_not_zero"):
            with self.subTest(bug):
                done = judge(host("buggy_host", bug), "--cases", cases,
                             "--fail-fast", case="")
                self.assertEqual(done.code, 1, done.out + done.err)
                self.assertIn("replay: lockstep verify", done.out)

    def test_replay_of_a_finding(self):
        found = self.path("found")
        candidate = host("buggy_host", "last_key_dropped")
        done = judge(candidate, "--json", found)
        self.assertEqual(done.code, 1, done.out + done.err)
        again = run("replay", found, "--trust-file")
        self.assertEqual(again.code, 1, again.out + again.err)

    def test_fuzz_finds_and_shrinks(self):
        done = run("fuzz", "--candidate", host("buggy_host", "last_key_dropped"),
                   "--profile", "from-candidate", "--budget", "40cases",
                   "--shrink", "5")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("attention_forward", done.out)


# Hosts inherit PYTHON*: those of this test carry its mark, those of tests beside
# it do not.
MARK = f"PYTHON_OF_THIS_TEST={os.getpid()}"
os.environ.update([MARK.split("=")])


def children_of_lockstep():
    """Hosts that this test has started, and what these have started."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                text = file.read()
            with open(os.path.dirname(path) + "/environ", "rb") as file:
                text += file.read()
        except OSError:
            continue
        hosts = b"bad_host.py" in text or b"LOCKSTEP_WIRE" in text
        if hosts and b"\0" + MARK.encode() + b"\0" in text:
            found.append(text)
    return found


HANGS = ("hang", "hello_hang")
# Mode of bad_host.py: exit code, and words of the sentence.
BAD = {
    "crash": (3, "crashed: SIGSEGV"),
    "abort": (3, "crashed: SIGABRT"),
    "exit_0": (3, "ended with status 0"),
    "exit_7": (3, "its last line: 'no device'"),
    "exception": (3, "RuntimeError: a kernel's own trouble"),
    "hang": (3, "did not end the call within "),
    "nothing_written": (1, "never written"),
    "one_unwritten": (1, "1 never written"),
    "previous": (1, "other bits"),
    "before": (3, "wrote outside its outputs: 1 byte before o"),
    "behind": (3, "wrote outside its outputs: 1 byte behind o"),
    "writes_inputs": (3, "crashed: SIGSEGV"),
    "maps_inputs": (3, "PermissionError"),
    "memory": (3, "above the limit of 200 MiB"),
    "flood": (3, "printed more than 1 MiB"),
    "orphan": (3, "left 1 process behind"),
    "torn": (3, "within a line"),
    "not_json": (3, "which is not a message"),
    "long_line": (3, "a line of more than 1 MiB"),
    "wrong_id": (3, "answered call"),
    "twice": (3, "candidate (wire): "),
    "wrong_type": (3, "field 'seconds' is not a number"),
    "fp": (3, "left subnormals flushed (FTZ)"),
    "closes": (3, "closed the wire"),
    "lie_seconds": (1, "the kernel took 1000.000000 s"),
    "lie_processor": (1, "-1.000000 s of processor time"),
    "lie_backend": (1, "'another' ran instead of"),
    "lie_tiles": (1, "add up to 0"),
    "error": (3, "out of luck"),
    "left_threads": (3, "left 2 threads behind"),
    "left_children": (3, "left 1 child process behind"),
    "reset_error": (3, "reset: cannot"),
    "unsupported": (77, "odd lengths"),
    "unsupported_later": (5, "once only"),
    "version": (2, "speaks version '2.0'"),
    "no_name": (2, "there is no 'name'"),
    "no_ops": (2, "there are no 'ops'"),
    "alignment": (2, "power of two"),
    "hello_type": (2, "'ops' is not a list of texts"),
    "no_hello": (2, "ended with status 0"),
    "hello_hang": (2, "did not end hello within 2 s"),
    "survives_bye": (3, "did not end within 5 s of bye"),
    "helper_at_end": (0, "1 pass"),
    "orphan_at_end": (3, "left 1 process behind"),
    "scan_only": (77, "does not compute attention_forward"),
}


class MisbehaviourTest(program.TestCase):
    def run_mode(self, mode):
        """Only what never ends has a limit, and a longer one where the machine is too
        busy for what comes before it."""
        seconds = 2
        while True:
            limit = ["--call-timeout", str(seconds)] if mode in HANGS else []
            done = judge(host("bad_host", mode), *limit, "--candidate-memory", "200M")
            if mode != "hang" or seconds > 32 or BAD[mode][1] in done.out:
                return done
            seconds *= 2

    def test_sentences_and_codes(self):
        for mode, (code, words) in BAD.items():
            with self.subTest(mode):
                done = self.run_mode(mode)
                self.assertEqual(done.code, code, done.out + done.err)
                self.assertIn(words, done.out + done.err)
        self.assertEqual(children_of_lockstep(), [])

    def test_the_next_case_gets_a_new_host(self):
        cases = self.path("a.cases", "\n".join([SMALL] * 12))
        # A dozen crashes: a descriptor left open by each would be too many, for a
        # run with one host takes more than 23 of them.
        done = judge(host("bad_host", "crash"), "--cases", cases, "--json",
                     "-", case="", descriptors=31)
        self.assertEqual(done.code, 3, done.out + done.err)
        self.assertEqual(summary(done.out)["error"], 12)
        reasons = [e["reason"] for e in events(done.out) if e["kind"] == "case"]
        self.assertTrue(all("crashed: SIGSEGV" in why for why in reasons), reasons)
        self.assertEqual(children_of_lockstep(), [])

    def test_nothing_is_left_behind(self):
        before = set(os.listdir("/dev/shm"))
        os.environ["TMPDIR"] = self.folder
        self.addCleanup(os.environ.pop, "TMPDIR")
        for mode in ("crash", "orphan", "exit_0", "torn"):
            judge(host("bad_host", mode))
        self.assertEqual(children_of_lockstep(), [])
        left = set(os.listdir("/dev/shm")) - before
        self.assertEqual([n for n in left if "lockstep" in n], [])
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_killed_judge_takes_its_host_along(self):
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "verify", SMALL, "--candidate",
             host("bad_host", "hang"), "--profile", "from-candidate"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until(lambda: any(
            b"bad_host.py" in text and b"\0verify\0" not in text
            for text in children_of_lockstep()))
        child.kill()
        child.wait()
        self.wait_until(lambda: not children_of_lockstep())

    def wait_until(self, condition):
        while not condition():
            time.sleep(0.05)


class MessageTest(program.TestCase):
    def test_real_messages_fit_the_schema(self):
        log = self.path("log")
        cases = self.path("a.cases", CASES)
        done = judge(host("tap_host", f"'{log}'"), "--cases", cases, case="")
        self.assertEqual(done.code, 0, done.out + done.err)
        with open(os.path.join(program.SOURCE, "docs/schemas/wire.schema.json"),
                  encoding="utf-8") as file:
            rules = json.load(file)
        seen = set()
        with open(log, encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                rule = rules["$defs"][entry["side"]]
                self.assertEqual(
                    schema.problems(entry["message"], rule, rules), [], line)
                seen.add((entry["side"], entry["message"]["type"]))
        self.assertEqual(seen, {
            ("judge", kind) for kind in ("hello", "call", "reset", "bye")} | {
            ("host", kind) for kind in ("hello", "done", "bye")})

    def test_the_page_fits_the_schema(self):
        with open(os.path.join(program.SOURCE, "docs/schemas/wire.schema.json"),
                  encoding="utf-8") as file:
            rules = json.load(file)
        with open(os.path.join(program.SOURCE, "docs/wire.md"),
                  encoding="utf-8") as file:
            blocks = file.read().split("```json\n")[1:]
        sides = {"side": ("judge", "host")}
        count = 0
        for block in blocks:
            text = block.split("```")[0]
            decoder, at = json.JSONDecoder(), 0
            while at < len(text.rstrip()):
                message, at = decoder.raw_decode(text, at)
                while at < len(text) and text[at].isspace():
                    at += 1
                if "type" not in message:
                    continue
                found = [schema.problems(message, rules["$defs"][side], rules)
                         for side in sides["side"]]
                self.assertTrue(any(not f for f in found), (message, found))
                count += 1
        self.assertGreaterEqual(count, 8)


class TrustTest(program.TestCase):
    """No file starts a program."""

    def setUp(self):
        super().setUp()
        self.mark = self.path("started")
        self.evil = f"cmd:touch '{self.mark}'"

    def test_replay(self):
        finding = {"kind": "finding", "case": SMALL, "candidate": self.evil,
                   "profile": "cpu-f32"}
        path = self.path("f.ndjson", json.dumps(finding) + "\n")
        self.assertUsage(run("replay", path), "--trust-file", "program")
        receipt = {"kind": "receipt", "cases": [{"outcome": {"findings": [finding]}}]}
        path = self.path("r.json", json.dumps(receipt))
        self.assertUsage(run("replay", path), "--trust-file", "program")
        self.assertFalse(os.path.exists(self.mark))
        done = run("replay", path, "--candidate", "variant:cpu")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertFalse(os.path.exists(self.mark))
        run("replay", path, "--trust-file")
        self.assertTrue(os.path.exists(self.mark))

    def test_merge(self):
        out = self.path("out")
        done = run("fuzz", "--budget", "3cases", "--out", out)
        self.assertEqual(done.code, 0, done.out + done.err)
        (shard,) = glob.glob(out + "/*.ndjson")
        with open(shard, encoding="utf-8") as file:
            text = file.read()
        with open(shard, "w", encoding="utf-8") as file:
            file.write(text.replace("builtin:optimized,threads=1", self.evil))
        done = run("campaign", "merge", out)
        self.assertEqual(done.code, 2, done.out + done.err)
        self.assertIn("--trust-file", done.err)
        self.assertFalse(os.path.exists(self.mark))


class SpecTest(program.TestCase):
    def test_bad_specs(self):
        for spec, word in (("cmd:", "there is no program"),
                           ("cmd:'a", "has no end"),
                           ("cmd:a\\", "keeps the next character"),
                           ("cmd:/no/such/program", "it is not an executable file"),
                           ("cmd:no-such-program", "no such program in PATH"),
                           ("cmd:" + HERE, "it is not an executable file"),
                           ("cmd-files:", "there is no program")):
            done = run("verify", SMALL, "--candidate", spec, "--profile", "cpu-f32")
            self.assertUsage(done, word)

    def test_no_profile(self):
        self.assertUsage(run("verify", SMALL, "--candidate", host("attention_host")),
                         "needs --profile")
        self.assertUsage(judge(host("bad_host", "plain") + " x", "--candidate",
                               "variant:cpu"), "states no profile")

    def test_no_shell(self):
        mark = self.path("mark")
        run("verify", SMALL, "--candidate", f"cmd:python3 -c 'pass' ; touch {mark}",
            "--profile", "cpu-f32")
        self.assertFalse(os.path.exists(mark))

    def test_few_descriptors_are_enough(self):
        command = [os.path.abspath(program.PROGRAM), "verify", SMALL, "--candidate",
                   host("attention_host"), "--profile", "from-candidate"]
        done = subprocess.run(["bash", "-c", 'ulimit -n 30 && exec "$@"', "_", *command],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_environment_and_descriptors(self):
        seen = self.path("seen")
        code = ("import os, sys; open(sys.argv[1], 'w').write(repr((sorted("
                "os.listdir('/proc/self/fd')), sorted(os.environ))))")
        run("verify", SMALL, "--candidate", f"cmd:python3 -c \"{code}\" '{seen}'",
            "--profile", "cpu-f32")
        with open(seen, encoding="utf-8") as file:
            descriptors, names = eval(file.read())
        # Two more than the wire's: the file written here, the folder listed.
        self.assertEqual(len(descriptors), 9, descriptors)
        self.assertNotIn("LOCKSTEP", names)
        self.assertIn("LOCKSTEP_WIRE", names)


if __name__ == "__main__":
    unittest.main()
