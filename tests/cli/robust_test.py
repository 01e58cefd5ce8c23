#!/usr/bin/env python3
"""The program where its starter, its files or its reader are hostile: the right exit
code, one clear line, nothing half written, nothing left behind."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

import program
from program import SMALL, run


def shell(command, cwd, **environment):
    """`command` in bash; $L is the program."""
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, capture_output=True, text=True,
        check=False, env={**os.environ, "L": os.path.abspath(program.PROGRAM),
                          **environment})


class OptionsTest(program.TestCase):
    def test_an_option_takes_one_word(self):
        for options in (["--candidate", "builtin:reference"],
                        ["--cases", "data/cases/smoke.cases", "--budget", "1cases"]):
            done = run("verify", *options, SMALL)
            self.assertEqual(done.code, 0, done.err)

    def test_every_bad_line_is_listed(self):
        first = self.path("a.cases", "nonsense\n" + SMALL + "\n" + SMALL + " x=1\n")
        second = self.path("b.cases", SMALL + " sq=0\n")
        done = run("verify", "--cases", first, "--cases", second)
        self.assertEqual(done.code, 2)
        for place in (first + ":1:", first + ":3:", second + ":1:"):
            self.assertIn(place, done.err)
        self.assertEqual(done.err.count("\n"), 3, done.err)

    def test_many_bad_lines_are_counted(self):
        file = self.path("a.cases", "nonsense\n" * 25)
        done = run("verify", "--cases", file)
        self.assertEqual(done.err.count("\n"), 21)
        self.assertIn("5 more bad lines", done.err)

    def test_verbs(self):
        done = run()
        self.assertEqual(done.code, 2)
        last = done.err.rstrip("\n").splitlines()[-1]
        self.assertTrue(last.startswith("lockstep: no verb given; "), done.err)
        for verb in ("verify", "fuzz", "campaign", "shrink"):
            self.assertIn(f" {verb} ", last)
        self.assertUsage(run("verfy"), "'verfy'", "'verify'")
        self.assertUsage(run("fuz", "--help"), "'fuz'", "'fuzz'")
        version = run("--version")
        self.assertEqual(version.code, 0)
        self.assertRegex(version.out, r"^lockstep \d+\.\d+.* \(commit .*\)\n$")


class OutputsTest(program.TestCase):
    def test_a_pipe_is_written_into(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        done = shell(f"cat pipe >got & $L verify '{SMALL}' --receipt pipe; wait",
                     self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        with open(self.path("got"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["kind"], "receipt")

    def test_a_device_stays_one(self):
        done = run("verify", SMALL, "--json", "/dev/null")
        self.assertEqual(done.code, 0, done.err)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_a_full_device_is_seen(self):
        for option in ("--json", "--receipt"):
            done = run("verify", SMALL, option, "/dev/full")
            self.assertEqual(done.code, 2)
            self.assertIn("/dev/full: cannot be written", done.err)

    def test_a_link_leads_to_its_target(self):
        target = self.path("target", "old")
        os.symlink("target", self.path("link"))
        done = run("verify", SMALL, "--receipt", self.path("link"))
        self.assertEqual(done.code, 0, done.err)
        self.assertTrue(os.path.islink(self.path("link")))
        with open(target, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["kind"], "receipt")

    def test_outputs_of_yesterday_are_gone(self):
        old = self.path("r.json", "yesterday")
        done = run("verify", SMALL, "--candidate", "builtin:optimized,tile=0x0",
                   "--receipt", old)
        self.assertEqual(done.code, 2)  # nothing was judged
        self.assertTrue(os.path.exists(old))
        child = program.hold(self, "verify", SMALL, "--receipt", old)
        child.kill()
        child.communicate()
        self.assertFalse(os.path.exists(old))

    def test_what_takes_the_place_of_an_output_is_not_followed(self):
        """A kernel may write where the judge does, and root opens every file."""
        names = ("json", "junit", "receipt", "html")
        for plant in (lambda path: os.symlink(self.path("victim"), path), os.mkfifo):
            self.path("victim", "mine")
            folder = self.path("out")
            os.mkdir(folder)
            outputs = {name: os.path.join(folder, name) for name in names}
            child = program.hold(self, "verify", SMALL, *(
                word for name, path in outputs.items() for word in ("--" + name, path)))
            for path in outputs.values():
                if os.path.exists(path):
                    os.remove(path)
                plant(path)
            # Nor is a link that takes the folder's place.
            os.rename(folder, self.path("moved"))
            os.mkdir(self.path("other"))
            os.symlink(self.path("other"), folder)
            self.path("go", "")
            out, err = child.communicate()
            self.assertEqual(child.returncode, 0, out + err)
            with open(self.path("victim"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "mine")
            self.assertEqual(os.listdir(self.path("other")), [])
            for name in names:
                written = os.lstat(os.path.join(self.path("moved"), name))
                self.assertTrue(stat.S_ISREG(written.st_mode), name)
                self.assertGreater(written.st_size, 100, name)
            shutil.rmtree(self.path("moved"))
            os.rmdir(self.path("other"))
            for name in ("out", "go", "begun"):
                os.remove(self.path(name))

    def test_a_link_is_no_file_of_a_campaign(self):
        self.path("victim", "mine")
        os.mkdir(self.path("runs"))
        os.symlink("../victim", self.path("runs/shard-0-of-1.ndjson"))
        done = run("fuzz", "attention_forward", "--budget", "1cases", "--out",
                   self.path("runs"))
        self.assertUsage(done, "cannot write", "shard-0-of-1.ndjson")
        with open(self.path("victim"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_outputs_do_not_meet(self):
        cases = self.path("a.cases", SMALL + "\n")
        for arguments in (["--json", "x", "--receipt", "./x"],
                          ["--cases", cases, "--receipt", cases]):
            done = run("verify", SMALL, *arguments, cwd=self.folder)
            self.assertUsage(done, "would replace")
        with open(cases, encoding="utf-8") as file:
            self.assertEqual(file.read(), SMALL + "\n")

    def test_a_long_name_is_refused_before_judging(self):
        done = run("verify", SMALL, "--receipt", self.path("x" * 250))
        self.assertUsage(done, "more than 231 characters")

    def test_a_disk_that_fills_up_is_seen(self):
        fuzz = "$L fuzz attention_forward --budget 92cases --out "
        whole = shell(fuzz + "whole", self.folder)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        with open(self.path("whole/shard-0-of-1.ndjson"), "rb") as file:
            lines = file.read().splitlines(keepends=True)
        # The limit falls into the last line, which the end of the run writes: lines
        # before it hold times, whose lengths differ by a few bytes a run.
        limit = sum(map(len, lines)) - len(lines[-1]) // 2
        done = shell(f"trap '' XFSZ; exec prlimit --fsize={limit} {fuzz} torn",
                     self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r"cannot write .*shard-0-of-1\.ndjson")

    def test_counts_that_overflow_blame_no_kernel(self):
        profile = self.path(
            "p", "base = cpu-f32\nname = p\nsplits = 9223372036854775807\n")
        done = run("verify", SMALL, "--candidate", "variant:cpu", "--profile",
                   profile)
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_stdout_that_takes_nothing(self):
        for command in (f"$L verify '{SMALL}' --json - >/dev/full",
                        f"$L verify '{SMALL}' >&-", "$L list ops --json >/dev/full"):
            done = shell(command, self.folder)
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("cannot write to stdout", done.stderr)

    def test_a_reader_that_leaves_costs_no_evidence(self):
        lines = self.path("many.cases", (SMALL + "\n") * 200)
        done = shell(f"set -o pipefail; $L verify --cases {lines} -v --receipt r "
                     "| head -1", self.folder)
        self.assertNotIn("stdout", done.stderr)
        with open(self.path("r"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["cases"]), 200)


class ProcessTest(program.TestCase):
    def test_no_file_of_shared_memory_is_left(self):
        """libomp marks each process in /dev/shm, the trial of a team as well."""
        library = os.environ.get("LOCKSTEP_SHM_NAMES", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        for more in ((), ("--budget", "0.01s")):  # the second ends inside a case
            names = self.path("names")
            done = run("verify", "attention_forward hq=4 sq=512 skv=512 d=64", "--threads",
                       "2", *more, env={"LD_PRELOAD": library, "SHM_NAMES": names})
            self.assertIn(done.code, (0, 5), done.err)
            with open(names, encoding="utf-8") as file:
                notes = [line.split() for line in file]
            left = {name for sign, name in notes if sign == "+"}
            self.assertGreaterEqual(len(left), 2)  # the program and the trial
            for name in left:
                self.assertEqual([sign for sign, other in notes if other == name][-1],
                                 "-", notes)
            os.remove(names)

    ENDLESS = f"{SMALL[:-1]}77"

    def test_openmp_variables(self):
        for name, value in (("OMP_NUM_THREADS", ""), ("OMP_NUM_THREADS", "x"),
                            ("OMP_NUM_THREADS", "-5"), ("OMP_NUM_THREADS", "2,0"),
                            ("OMP_THREAD_LIMIT", "none")):
            done = run("verify", SMALL, env={name: value})
            self.assertUsage(done, name, "positive integer")
        done = run("verify", SMALL, env={"OMP_NUM_THREADS": "2,1"})
        self.assertEqual(done.code, 0, done.err)

    def test_threads_sleep_between_calls(self):
        # Those of a benchmark do not (bench.cc); nor where the user says so.
        unsaid = {name: value for name, value in os.environ.items() if name not in (
            "KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        for variable, expected in (
                ({}, "asleep"), ({"KMP_BLOCKTIME": "5"}, "as KMP_BLOCKTIME says"),
                ({"OMP_WAIT_POLICY": "active"}, "as OMP_WAIT_POLICY says")):
            done = subprocess.run(
                [os.path.abspath(program.PROGRAM), "env", "--json", "-"], text=True,
                capture_output=True, check=True, env={**unsaid, **variable})
            self.assertEqual(json.loads(done.stdout)["waiting"], expected)

    def test_threads_by_default(self):
        core = min(os.sched_getaffinity(0))
        out = self.path("r.json")
        for asked, expected in ({}, 1), ({"OMP_NUM_THREADS": "3"}, 3):
            environment = {name: value for name, value in os.environ.items()
                           if name != "OMP_NUM_THREADS"}
            subprocess.run(
                [os.path.abspath(program.PROGRAM), "verify",
                 "attention_forward hq=4 sq=64 skv=64 d=16", "--no-invariance",
                 "--receipt", out], check=True, capture_output=True,
                env={**environment, **asked},
                preexec_fn=lambda: os.sched_setaffinity(0, {core}))
            with open(out, encoding="utf-8") as file:
                receipt = json.load(file)
            self.assertEqual(receipt["environment"]["threads"], 1)
            executed = receipt["cases"][0]["resolution"]
            self.assertEqual(executed["threads"], expected)

    def test_threads_that_ran_are_counted(self):
        case = "attention_forward hq=4 sq=64 skv=64 d=16"
        for spec in (case, "mamba3_scan t=32 h=4 n=8 p=4"):
            out = self.path("out.json")
            done = run("verify", spec, "--candidate", "builtin:optimized,threads=4",
                       "--require-executed", "--no-invariance", "--receipt", out,
                       env={"OMP_THREAD_LIMIT": "1"})
            self.assertEqual(done.code, 1, done.out)
            self.assertIn("on 1 thread", done.out)

    def test_a_budget_ends_inside_a_case(self):
        # The second case never ends. On a machine that has no time for the first
        # within the budget, neither is judged.
        done = run("verify", SMALL, self.ENDLESS, "--budget", "3s", "--json",
                   self.path("e.ndjson"), "--profile", "from-candidate",
                   "--candidate", program.held_kernel(self, "seed=77"))
        with open(self.path("e.ndjson"), encoding="utf-8") as file:
            summary = program.summary(file.read())
        judged = summary["cases"]
        self.assertIn(judged, (0, 1))
        self.assertEqual(summary["not_run"], 2 - judged)
        self.assertEqual(done.code, 0 if judged else 5, done.err)

    def test_ctrl_c_ends_inside_a_case(self):
        child = program.hold(self, "verify", SMALL, self.ENDLESS, "--junit",
                             self.path("j.xml"), "--json", "-", word="seed=77")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual(child.returncode, 130)
        self.assertEqual(program.summary(out)["not_run"], 1)
        self.assertTrue(os.path.exists(self.path("j.xml")))

    def test_sigterm_leaves_the_evidence(self):
        receipt = self.path("r.json")
        child = program.hold(self, "verify", SMALL, self.ENDLESS, "--receipt", receipt,
                             word="seed=77")
        child.send_signal(signal.SIGTERM)
        child.communicate()
        with open(receipt, encoding="utf-8") as file:
            self.assertTrue(json.load(file)["outcome"]["interrupted"])


class CampaignTest(program.TestCase):
    FUZZ = ("fuzz", "attention_forward", "--candidate", "builtin:reference")

    def test_one_writer_a_shard(self):
        folder = self.path("runs")
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), *self.FUZZ, "--budget", "200000cases",
             "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            shard = os.path.join(folder, "shard-0-of-1.ndjson")
            while not os.path.exists(shard) or not os.path.getsize(shard):
                time.sleep(0.01)
            done = run(*self.FUZZ, "--budget", "200000cases", "--out", folder)
            self.assertUsage(done, "another process")
        finally:
            child.kill()
            child.wait()

    def test_closed_descriptors_are_nobodys_file(self):
        done = shell("$L fuzz --budget 20cases --out runs >&-", self.folder)
        self.assertEqual(done.returncode, 2)
        with open(self.path("runs/shard-0-of-1.ndjson"), encoding="utf-8") as file:
            for line in file:
                self.assertIn(json.loads(line)["kind"], ("campaign", "case"))

    def test_hostile_headers(self):
        self.assertEqual(
            run(*self.FUZZ, "--budget", "3cases", "--out", self.path("r")).code, 0)
        with open(self.path("r/shard-0-of-1.ndjson"), encoding="utf-8") as file:
            text = file.read()
        for key, value in (("tile_kv", 0), ("tile_q", 1 << 62), ("plans", 0)):
            first, rest = text.split("\n", 1)
            header = json.loads(first)
            header[key] = value
            folder = self.path(key)
            os.mkdir(folder)
            self.path(f"{key}/shard-0-of-1.ndjson", json.dumps(header) + "\n" + rest)
            self.assertUsage(run("campaign", "merge", folder), key)

    def test_hostile_records(self):
        self.assertEqual(
            run(*self.FUZZ, "--budget", "3cases", "--out", self.path("r")).code, 0)
        with open(self.path("r/shard-0-of-1.ndjson"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for n, (key, value) in enumerate((
                ("canaries", 1 << 62), ("canaries", -1), ("canaries_missed", 1 << 30),
                ("index", -1), ("verdict", "splendid"))):
            record = {**json.loads(lines[1]), key: value}
            folder = self.path(f"records-{n}")
            os.mkdir(folder)
            self.path(f"records-{n}/shard-0-of-1.ndjson",
                      "\n".join([lines[0], json.dumps(record), *lines[2:]]) + "\n")
            self.assertUsage(run("campaign", "merge", folder), key)

    def test_nested_receipts(self):
        deep = "[" * 100000 + "]" * 100000
        file = self.path("r.json", '{"kind":"receipt","cases":[{"outcome":{"findings":'
                         + deep + "}}]}")
        self.assertUsage(run("replay", file), "neither an event nor a receipt")

    def test_long_sequences(self):
        line = " ;; ".join(["attention_forward sq=1 skv=1 d=1"] * 4000)
        file = self.path("long.cases", line + "\n")
        done = run("verify", "--cases", file, "--budget", "1cases")
        self.assertEqual(done.code, 0, done.err)
        self.assertLess(done.max_rss_mib, 500)


if __name__ == "__main__":
    unittest.main()
