"""`lockstep fuzz`, `shrink`: findings, exit codes, interrupts, refusals."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
import unittest

import program
import schema
from program import events, run, summary


class Fuzz(program.TestCase):

    def test_nothing_found(self):
        done = run("fuzz", "--budget", "120cases", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        last = summary(done.out)
        self.assertEqual(last["cases"], 120)
        self.assertEqual(last["findings"], 0)
        self.assertIsNone(last["first_finding_s"])
        self.assertGreater(last["cases_per_second"], 0)
        self.assertEqual(last["canaries"], last["canaries_caught"])
        self.assertGreater(last["canaries"], 0)
        never = [name for name, n in last["features"].items() if n == 0]
        self.assertEqual(never, last["features_missing"])
        self.assertIn("features", done.err)

    # Every case that is tried is as was asked for, and the bug of such cases is found.
    def test_where(self):
        records = self.path("w.ndjson")
        done = run("fuzz", "--where", "mask=causal d=8|16 hkv=hq sinklogit=none cap=none",
                   "--candidate", "mutant:attn.causal_strict", "--shrink", "0",
                   "--budget", "60cases", "--json", records)
        self.assertEqual(done.code, 1, done.err)
        with open(records, encoding="utf-8") as file:
            found = events(file.read())[0]["found"]
        keys = dict(word.split("=", 1) for word in found.split()[1:] if "=" in word)
        self.assertEqual(keys["mask"], "causal")
        self.assertIn(keys["d"], ("8", "16"))
        self.assertEqual(keys.get("hkv", keys.get("hq", "1")), keys.get("hq", "1"))
        self.assertNotIn("sinklogit", keys)
        self.assertNotIn("cap", keys)

    # A key takes its default: of a scale 1/sqrt(d), which no text says for every d.
    def test_where_default(self):
        for value, other in (("default", False), ("default|0.3", True)):
            done = run("fuzz", "--where", f"scale={value} sinklogit=none", "--budget", "100cases",
                       "--json", "-")
            self.assertEqual(done.code, 0, done.err)
            missing = events(done.out)[-1]["features_missing"]
            self.assertEqual("scale_other" not in missing, other, value)

    # A line without what was asked for may fail for another reason.
    def test_shrinking_keeps_where(self):
        where = "cap=50 mask=causal&window:7,0|causal&window:3,0 sq=skv align=tl"
        done = run("fuzz", "--where", where, "--candidate", "mutant:attn.zeros",
                   "--budget", "60cases", "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        finding = events(done.out)[0]
        keys = dict(word.split("=", 1) for word in finding["case"].split()[1:])
        self.assertEqual(keys["cap"], "50")
        self.assertIn(keys["mask"], ("causal&window:7,0", "causal&window:3,0"))
        self.assertEqual(keys["sq"], keys["skv"])
        self.assertGreater(finding["shrink_steps"], 2)

    def test_where_that_cannot_be(self):
        for where, said in (
                ("mask=causl", "unknown mask term 'causl'; nearest is 'causal'"),
                ("dd=64", "unknown key 'dd' of attention_forward; nearest is 'd'"),
                ("d", "'d' is no KEY=VALUE"),
                ("", "--where: is empty"),
                (" ", "want keys of case lines"),
                ("hq=3 hkv=2", "no drawn case of attention_forward can be so: ")):
            done = run("fuzz", "--where", where, "--budget", "3cases")
            self.assertEqual(done.code, 2, where)
            self.assertIn(said, done.err)
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
        done = run("fuzz", "--where", "d=8", "--out", self.path("o"), "--budget", "3cases")
        self.assertEqual(done.code, 2)
        self.assertIn("leave out --where", done.err)

    def test_a_long_run_names_what_it_never_produced(self):
        done = run("fuzz", "--budget", "1cases")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("too few cases to name the rest", done.out)
        self.assertNotIn("never produced", done.out)
        lines = self.path("one.cases", "attention_forward sq=1 skv=1 d=1\n" * 1400)
        done = run("fuzz", "--budget", "1cases", "--plans", "1", "--corpus", lines,
                   "--candidate", "builtin:reference")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("never produced: ", done.out)

    def test_finding_ends_in_a_line_that_shows_it(self):
        for mutant in ("attn.causal_plus_one", "attn.cap_stale",
                       "attn.merge_swapped"):
            done = run("fuzz", "attention_forward", "--candidate",
                       "mutant:" + mutant, "--json", "-")
            self.assertEqual(done.code, 1, done.err)
            finding = events(done.out)[0]
            self.assertEqual(finding["kind"], "finding")
            self.assertEqual(summary(done.out)["findings"], 1)
            words = shlex.split(finding["replay"])
            self.assertEqual(words[:2], ["lockstep", "verify"])
            again = run(*words[1:], "--json", "-")
            self.assertEqual(again.code, 1, again.err)
            tier = finding["signature"].split(":")[0]
            self.assertIn(tier, [e.get("tier") for e in events(again.out)])
            if "probe:" not in finding["replay"]:
                self.assertIn(finding["case"], words)

    def test_scans(self):
        for op in ("mamba3_scan", "mamba3_step"):
            done = run("fuzz", op, "--budget", "60cases", "--json", "-")
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(summary(done.out)["cases"], 60)
        for op, mutant in (("mamba3_scan", "scan.carry_undecayed"),
                           ("mamba3_step", "scan.step_beta_no_alpha")):
            done = run("fuzz", op, "--candidate", "mutant:" + mutant)
            self.assertEqual(done.code, 1, done.err)
            self.assertIn("shrunk: " + op + " t=", done.out)

    def test_plans(self):
        done = run("fuzz", "block_plan", "--budget", "150cases", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        last = summary(done.out)
        self.assertEqual((last["op"], last["cases"]), ("block_plan", 150))
        self.assertGreater(last["pass"], 100)
        for mutant, shrunk in (
                ("plan.diagonal_full", " mask=causal bq="),
                ("plan.index_wraps", "block_plan sq=129 skv=1 bq=1 bk=1"),
                ("plan.shard_tiles_as_global", " dialect=splash q_shards=2")):
            done = run("fuzz", "block_plan", "--candidate", "mutant:" + mutant,
                       "--json", "-")
            self.assertEqual(done.code, 1, done.err)
            finding = events(done.out)[0]
            self.assertIn(shrunk, finding["case"])
            words = shlex.split(finding["replay"])
            self.assertIn(finding["case"], words)
            again = run(*words[1:], "--json", "-")
            self.assertEqual(again.code, 1, again.err)
            self.assertIn(finding["signature"].split(":")[1],
                          [e.get("check") for e in events(again.out)])

    def test_the_same_seed_finds_the_same(self):
        found = []
        for seed in ("5", "5", "6"):
            done = run("fuzz", "--candidate", "mutant:attn.prefix_plus_one",
                       "--seed", seed, "--json", "-")
            finding = events(done.out)[0]
            found.append((finding["index"], finding["found"], finding["case"]))
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])

    def test_interrupt(self):
        for candidate, code in (("builtin:reference", 130),
                                ("mutant:attn.zeros", 1)):
            path = self.path(candidate.replace(":", "_"), "yesterday")
            child = subprocess.Popen(
                [os.path.abspath(program.PROGRAM), "fuzz", "--candidate",
                 candidate, "--findings", "0", "--json", path],
                stdout=subprocess.PIPE, text=True)
            # The file goes when signals are waited for and nothing is drawn yet.
            while os.path.exists(path):
                time.sleep(0.01)
            said = ""
            while code == 1 and "FOUND" not in said:
                said += child.stdout.readline()
            child.send_signal(signal.SIGINT)
            out = said + child.communicate()[0]
            self.assertEqual(child.returncode, code, out)
            self.assertIn("interrupted", out)
            with open(path, encoding="utf-8") as file:
                last = summary(file.read())
            self.assertTrue(last["interrupted"])
            self.assertEqual(last["findings"] > 0, code == 1)

    def test_a_pipe_in_the_place_of_a_shard_does_not_hang(self):
        os.mkdir(self.path("runs"))
        os.mkfifo(self.path("runs/shard-0-of-1.ndjson"))
        done = run("fuzz", "attention_forward", "--budget", "2cases", "--out",
                   self.path("runs"))
        self.assertUsage(done, "cannot write", "shard-0-of-1.ndjson")
        os.remove(self.path("runs/shard-0-of-1.ndjson"))
        os.symlink("/dev/null", self.path("runs/shard-0-of-1.ndjson"))
        done = run("fuzz", "attention_forward", "--budget", "2cases", "--out",
                   self.path("runs"))
        self.assertUsage(done, "it is a link")

    def corpus_without_end(self):
        """Two cases; the kernel never answers the second one."""
        return self.path("long.cases", "attention_forward sq=8 skv=8 d=8\n"
                         "attention_forward sq=8 skv=8 d=8 seed=77\n")

    def test_a_budget_ends_inside_a_case(self):
        path = self.path("b")
        done = run("fuzz", "--corpus", self.corpus_without_end(), "--json", path,
                   "--budget", "3s", "--profile", "from-candidate", "--candidate",
                   program.held_kernel(self, "seed=77"))
        with open(path, encoding="utf-8") as file:
            last = summary(file.read())
        self.assertFalse(last["interrupted"])
        # Where the machine had no time for the first case, nothing is proved.
        judged = last["cases"]
        self.assertIn((done.code, judged), ((0, 1), (5, 0)), done.out + done.err)
        if os.path.exists(self.path("begun")):
            self.assertIn("seed=77", last["unfinished"])
            self.assertIn("not run   ended inside attention_forward sq=8", done.out)

    def test_an_interrupt_ends_inside_a_case(self):
        path = self.path("c")
        child = program.hold(self, "fuzz", "--corpus", self.corpus_without_end(),
                             "--json", path, word="seed=77")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        with open(path, encoding="utf-8") as file:
            last = summary(file.read())
        self.assertEqual((child.returncode, last["cases"]), (130, 1), out)
        self.assertTrue(last["interrupted"])
        self.assertIn("seed=77", last["unfinished"])

    def test_yesterdays_findings_do_not_survive_a_kill(self):
        path = self.path("old", "yesterday")
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "fuzz", "--json", path],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while os.path.exists(path):
            time.sleep(0.01)
        child.kill()
        child.wait()
        self.assertFalse(os.path.exists(path))

    def test_guards_want_an_op_that_has_some(self):
        for op in ("mamba3_scan", "block_plan"):
            done = run("fuzz", op, "--guards", "only")
            self.assertEqual((done.code, done.out), (2, ""))
            self.assertIn(f"--guards only: no fast path of {op} has a guard", done.err)
        done = run("fuzz", "attention_backward", "--guards", "only", "--budget",
                   "40cases", "--json", "-")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertEqual(summary(done.out)["fail"], 0)

    def campaign(self, folder, *more, candidate="mutant:attn.prefix_plus_one",
                 cases=150):
        return run("fuzz", "--candidate", candidate, "--budget",
                   f"{cases}cases", "--seed", "4", "--shrink", "0", "--out",
                   self.path(folder), *more)

    def merge(self, *folders, code=1):
        out = self.path("merged-" + "-".join(folders))
        done = run("campaign", "merge", *map(self.path, folders), "--out", out)
        self.assertEqual(done.code, code, done.out + done.err)
        with open(out, encoding="utf-8") as file:
            return file.read(), done.out

    def test_shards_merged_are_the_unsharded_run(self):
        self.assertEqual(self.campaign("whole").code, 1)
        for shard in ("0/2", "1/2"):
            self.campaign("parts", "--shard", shard)
        whole, _ = self.merge("whole")
        with open(os.path.join(program.SOURCE, "docs/schemas/fuzz.schema.json"),
                  encoding="utf-8") as file:
            rules = json.load(file)
        for event in events(whole):
            self.assertEqual(schema.problems(event, rules), [], event)
        parts, text = self.merge("parts")
        self.assertEqual(whole, parts)
        self.assertEqual(sum(e["kind"] == "case" for e in events(whole)), 150)
        self.assertEqual(summary(whole)["cases"], 150)
        self.assertIn("replay: lockstep verify", text)

    def test_missing_cases_are_named(self):
        self.campaign("half", "--shard", "0/2", candidate="builtin:reference",
                      cases=6)
        _, text = self.merge("half", code=5)
        self.assertIn("incomplete: no record of cases 1, 3, 5", text)

    def test_killing_and_resuming_changes_nothing(self):
        """Killed again and again, resumed, and still the same."""
        self.campaign("calm", cases=500)
        shard = self.path("killed/shard-0-of-1.ndjson")

        def size():
            return os.path.getsize(shard) if os.path.exists(shard) else 0

        kills = 0
        while kills < 5:
            before = size()
            child = subprocess.Popen(
                [os.path.abspath(program.PROGRAM), "fuzz", "--candidate",
                 "mutant:attn.prefix_plus_one", "--budget", "500cases",
                 "--seed", "4", "--shrink", "0", "--out",
                 self.path("killed")], stdout=subprocess.DEVNULL)
            while size() == before and child.poll() is None:
                time.sleep(0.01)
            child.kill()
            if child.wait() == -signal.SIGKILL:
                kills += 1
            else:  # it was done before: from the beginning
                shutil.rmtree(self.path("killed"))
        done = self.campaign("killed", cases=500)
        self.assertEqual(done.code, 1, done.err)
        calm, _ = self.merge("calm")
        killed, _ = self.merge("killed")
        self.assertEqual(calm, killed)
        # Nothing is left to do, and the verdict is remembered.
        again = self.campaign("killed", "--json", "-", cases=500)
        self.assertEqual(again.code, 1)
        self.assertEqual(summary(again.out)["cases"], 500)

    def test_campaign_refusals(self):
        self.campaign("mine", candidate="builtin:reference", cases=3)
        self.assertUsage(self.campaign("mine", candidate="builtin:reference",
                                       cases=4), "another campaign")
        self.assertUsage(run("fuzz", "--out", self.path("x"), "--budget",
                             "3s"), "--budget")
        self.assertUsage(run("campaign", "merge", self.folder + "/none"),
                         "none")
        self.assertUsage(run("campaign", "merge", program.SOURCE + "/cmake"),
                         "no shard-")
        self.assertUsage(run("fuzz", "--shard", "auto"), "SLURM_ARRAY_TASK_ID")
        self.assertUsage(run("fuzz", "--shard", "2/2"), "i/N")
        broken = self.path("shard-0-of-1.ndjson", "{}\n")
        self.assertUsage(run("campaign", "merge", broken), ":1:")

    def test_a_finding_that_does_not_show_again(self):
        self.campaign("lie", candidate="builtin:reference", cases=2)
        path = os.path.join(self.path("lie"), "shard-0-of-1.ndjson")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        record = json.loads(lines[2])
        record.update(verdict="fail", signature="bits:o", case="x")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines[:2], json.dumps(record)]) + "\n")
        done = run("campaign", "merge", path)
        self.assertEqual(done.code, 6)
        self.assertIn("NOT CONFIRMED bits:o by case 1", done.out)

    def test_corpus(self):
        out = "data/corpus/attention_forward.cases"
        done = run("fuzz", "--corpus", out, "--budget", "1cases", "--json",
                   "-")
        self.assertEqual(done.code, 0, done.err)
        self.assertGreater(summary(done.out)["cases"], 1)
        # Lines of other ops are named, where people and where programs read.
        for more in ((), ("--json", "-")):
            done = run("fuzz", "mamba3_scan", "--corpus", "data/corpus",
                       "--corpus", "data/cases/block_plan.cases", "--budget",
                       "1cases", *more)
            self.assertEqual(done.code, 0, done.err)
            self.assertRegex(done.err if more else done.out,
                             r"corpus    \d+ lines; left aside: \d+ of other ops")

    def test_shrink(self):
        done = run("shrink",
                   "attention_forward hq=2 sq=17 skv=21 d=8 mask=causal "
                   "cap=5 seed=9", "--candidate", "mutant:attn.causal_strict")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("shrunk: attention_forward sq=1 skv=1 d=1 mask=causal",
                      done.out)
        done = run("shrink", "attention_forward sq=3 skv=3 d=4")
        self.assertEqual(done.code, 5)
        self.assertIn("nothing to shrink", done.err)

    def test_refusals(self):
        self.assertUsage(run("fuzz", "attention"), "attention_forward")
        self.assertUsage(run("fuzz", "--budget", "ten"), "budget")
        self.assertUsage(run("fuzz", "--seed", "-1"), "--seed")
        self.assertUsage(run("fuzz", "--candidate", "files:."), "fixed cases")
        self.assertUsage(run("fuzz", "--candidate", "mutant:attn.no"),
                         "nearest")
        self.assertUsage(run("fuzz", "--profile", "none"), "none")
        self.assertUsage(run("fuzz", "--json", "/no/such/x"), "/no/such")
        self.assertUsage(run("fuzz", "--cases", "3"), "--cases")
        self.assertUsage(run("shrink", "attention_forward sq=1"), "skv")

    def test_help(self):
        for verb in ("fuzz", "shrink", "campaign"):
            done = run(verb, "--help")
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("Example", done.out)
        self.assertIn("fuzz", run("--help").out)


if __name__ == "__main__":
    unittest.main()
