#!/usr/bin/env python3
"""The gate: lockstep.toml, known failures, remarks on lines of a pull request, and
what a run leaves for machines whatever becomes of it."""

import json
import os
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

import program
from program import SMALL, run

# Of causal attention it lets every row see one key more.
WRONG = "mutant:attn.causal_plus_one"
CASES = f"""# two of one op
{SMALL}

attention_forward hq=2 sq=6 skv=9 d=8 mask=causal seed=4
"""
FAR = "2999-12-31"
PAST = "2001-01-31"
GITHUB = {"GITHUB_ACTIONS": "true"}


def known(signature='["bits:o", "bits:lse"]', expires=FAR, op="attention_forward"):
    return (f'[[known_failure]]\nop = "{op}"\nsignature = {signature}\n'
            f'expires = {expires}\nreason = "the ticket"\n')


class Gate(program.TestCase):
    """Runs in its folder, which has a case file and a configuration."""

    def setUp(self):
        super().setUp()
        self.path("k.cases", CASES)

    def configure(self, text):
        self.path("lockstep.toml", text)

    def gate(self, *arguments, env=None):
        return run("verify", *arguments, cwd=self.folder, env=env)

    def annotations(self, done):
        return [line for line in done.out.splitlines() if line.startswith("::")]

    def junit(self, name="j.xml"):
        return xml.etree.ElementTree.parse(self.path(name)).getroot()[0]


class ConfigTest(Gate):
    def test_verify_without_arguments(self):
        self.configure('cases = "k.cases"\nfresh_seed = 0\n')
        done = self.gate("--receipt", "r.json")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("2 cases: 2 pass", done.out)
        with open(self.path("r.json"), encoding="utf-8") as file:
            request = json.load(file)["request"]
        self.assertEqual(request["config"], "lockstep.toml")

    def test_what_is_typed_stands(self):
        self.configure(f'cases = ["k.cases"]\ncandidate = "{WRONG}"\n')
        self.assertEqual(self.gate().code, 1)
        self.assertEqual(self.gate("--candidate", "builtin:reference").code, 0)
        # Typed cases leave a file that is not named aside.
        self.assertEqual(self.gate(SMALL).code, 0)
        self.assertEqual(self.gate(SMALL, "--config", "lockstep.toml").code, 1)

    def test_profile_and_its_source(self):
        self.configure('cases = "k.cases"\ncandidate = "variant:cpu"\n'
                       'profile = "cpu-f32"\n')
        done = self.gate("--receipt", "r.json")
        self.assertEqual(done.code, 0, done.out + done.err)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["request"]["profile_source"], "config")

    def test_every_key_is_read(self):
        self.configure('cases = "k.cases"\ncandidate = "builtin:reference"\n'
                       'budget = "1cases"\nmax_memory = "1G"\ncall_timeout = 0.5\n'
                       'candidate_memory = 1000000\nfail_on = "suspicious"\n'
                       'threads = 1\nall_rows = true\nrequire_executed = true\n'
                       'max_skipped = 1\nfresh_seed = 0\n')
        done = self.gate()
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("1 case not run", done.out)

    def test_no_configuration_and_no_cases(self):
        self.assertUsage(self.gate(), "no cases", "lockstep.toml")

    def test_mistakes_are_named_with_their_line(self):
        for text, line, words in (
                ("a = ", 1, ()),
                ('\nprofle = "x"\n', 2, ("'profle'", "nearest is 'profile'")),
                ("cases = 3\n", 1, ("cases: want a string or an array",)),
                ("cases = []\n", 1, ("empty",)),
                ('cases = ["k.cases", 3]\n', 1, ("want a string", "an integer")),
                ('cases = "-"\n', 1, ("stdin",)),
                ('cases = ""\n', 1, ("empty",)),
                ("threads = 0\n", 1, ("1 ... 1024",)),
                ('threads = "2"\n', 1, ("want an integer", "a string")),
                ("all_rows = 1\n", 1, ("true or false",)),
                ("max_skipped = -1\n", 1, ("max_skipped",)),
                ('cases = "k.cases"\nfresh_seed = "often"\n', 0, ("'random'",)),
                ('fail_on = "fail"\n', 1, ("suspicious",)),
                ('junit = "/tmp/x"\n', 1, ("unknown key 'junit'",)),
                ("known_failure = 1\n", 1, ("[[known_failure]]",)),
                (known().replace("reason", "reson"), 5, ("nearest is 'reason'",)),
                (known().replace('reason = "the ticket"\n', ""), 1, ("lacks 'reason'",)),
                (known(op="attention"), 2, ("attention_forward",)),
                (known(expires='"2027-01-31"'), 4, ("date without quotes",)),
                (known(expires="2027-02-31"), 4, ())):
            with self.subTest(text=text):
                self.configure(text)
                done = self.gate()
                where = f"lockstep.toml:{line}: " if line else "lockstep: "
                self.assertUsage(done, where, *words)

    def test_a_torn_or_hostile_file_is_one_message(self):
        for text in (b"\x00\xff\xfe", b"[" * 100000, b"a=" + b"[" * 5000,
                     b"x" * (2 << 20), b'"\\ud800" = 1', b"cases = '''",
                     b"a" + b".a" * 100000 + b" = 1",
                     b'"a"' + b" . 'a'" * 100000 + b" = 1",
                     b"[a" + b".a" * 100000 + b"]",
                     b"x = [\n{a" + b".a" * 100000 + b" = 1}]",
                     b'x = """a""""\na' + b".a" * 100000 + b"=1",
                     b"x = '\n" + b"a" + b".a" * 100000 + b" = 1"):
            with self.subTest(text=text[:10]):
                self.configure(text)
                done = self.gate()
                self.assertEqual(done.code, 2, done.err)
                self.assertEqual(done.err.count("\n"), 1, done.err)

    def test_a_deep_key_is_named_and_points_in_strings_are_none(self):
        deep = ".".join("a" * 9)
        self.configure(f"# {deep}\ncases = 'k.cases' # {deep}\n{deep} = 1\n")
        self.assertUsage(self.gate(), "lockstep.toml:3: a key has more than 8 parts")
        self.configure(f"cases = 'k.cases'\n{known()}\n"
                       + f'reason = """{deep}\n{deep}"""""\n'.join(
                           known(signature=f"'{deep}'").split('reason = "the ticket"\n')))
        done = self.gate("--candidate", "builtin:reference")
        self.assertEqual(done.code, 0, done.out + done.err)


class TrustTest(Gate):
    """A configuration that came with a checkout starts nothing."""

    def test_programs_need_the_users_word(self):
        for kind in ("cmd:", "cmd-files:"):
            with self.subTest(kind=kind):
                witness = self.path("started")
                self.configure('cases = "k.cases"\nprofile = "cpu-f32"\n'
                               f"candidate = \"{kind}touch '{witness}'\"\n")
                self.assertUsage(self.gate(), "lockstep.toml names", "--trust-file")
                self.assertFalse(os.path.exists(witness))
                self.assertEqual(self.gate("--candidate", "builtin:reference").code, 0)
                self.assertFalse(os.path.exists(witness))
                self.gate("--trust-file")
                self.assertTrue(os.path.exists(witness))
                os.remove(witness)

    def test_a_shared_object_is_a_program(self):
        self.configure('cases = "k.cases"\nprofile = "cpu-f32"\n'
                       'candidate = "so:./kernel.so"\n')
        self.assertUsage(self.gate(), "lockstep.toml names", "so:./kernel.so")

    def test_no_file_is_written_where_it_says(self):
        for key in ("json", "junit", "receipt", "out"):
            self.configure(f'cases = "k.cases"\n{key} = "{self.path("x")}"\n')
            self.assertUsage(self.gate(), f"unknown key '{key}'")
            self.assertFalse(os.path.exists(self.path("x")))


class KnownTest(Gate):
    HEAD = f'cases = "k.cases"\ncandidate = "{WRONG}"\nfresh_seed = 0\n'

    def test_excused_until_its_day(self):
        self.configure(self.HEAD + known())
        done = self.gate("--junit", "j.xml", "--json", "e.ndjson")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("2 cases: 2 known", done.out)
        self.assertIn(f"known until {FAR}: the ticket", done.out)
        self.assertEqual(self.junit().get("failures"), "0")
        self.assertEqual(self.junit().get("skipped"), "2")
        with open(self.path("e.ndjson"), encoding="utf-8") as file:
            told = program.events(file.read())
        self.assertEqual(told[-1]["known"], 2)
        self.assertTrue(all(e["excused"] for e in told if e["kind"] == "finding"))

    def test_not_a_day_longer(self):
        self.configure(self.HEAD + known(expires=PAST))
        done = self.gate(env=GITHUB)
        self.assertEqual(done.code, 1, done.out)
        self.assertIn("which has passed", done.out)
        self.assertTrue(any(line.startswith("::warning file=lockstep.toml,line=4,")
                            for line in self.annotations(done)), done.out)

    def test_today_still_counts(self):
        today = code = None
        while today != time.strftime("%Y-%m-%d", time.gmtime()):  # once, but at midnight
            today = time.strftime("%Y-%m-%d", time.gmtime())
            self.configure(self.HEAD + known(expires=today))
            code = self.gate().code
        self.assertEqual(code, 0)

    def test_another_fault_is_not_excused(self):
        for entry in (known('"bits:lse"'), known('"invariance:repeat"'),
                      known('"bits:o"'), known(op="mamba3_scan")):
            with self.subTest(entry=entry):
                self.configure(self.HEAD + entry)
                self.assertEqual(self.gate().code, 1)
        # Two entries together explain all findings of a case.
        self.configure(self.HEAD + known('"bits:o"') + known('"bits:lse"'))
        self.assertEqual(self.gate().code, 0)

    def test_an_entry_that_is_half_of_it_is_not_needless(self):
        self.configure(self.HEAD + known('"bits:o"'))
        done = self.gate()
        self.assertIn("fail with it and with bits:lse, which no entry has", done.out)
        self.assertNotIn("no case needs it", done.out)
        self.configure(self.HEAD + known('"bits:o"') + known('"bits:lse"'))
        self.assertNotIn("no case needs it", self.gate().out)

    def test_a_needless_entry_is_told(self):
        self.configure('cases = "k.cases"\n' + known())
        done = self.gate(env=GITHUB)
        self.assertEqual(done.code, 0)
        self.assertIn("no case needs it", done.out)
        self.assertEqual(len(self.annotations(done)), 1)


class SkippedTest(Gate):
    def test_a_gate_counts_what_was_not_judged(self):
        self.path("k.cases", CASES + "mamba3_scan t=4 n=4 p=2\n")
        head = ('cases = "k.cases"\ncandidate = "variant:cpu"\n'
                'profile = "cpu-f32"\nfresh_seed = 0\n')
        self.configure(head)
        done = self.gate(env=GITHUB)
        self.assertEqual(done.code, 5, done.out)
        self.assertTrue(self.annotations(done)[0].startswith(
            "::error file=k.cases,line=5,"), done.out)
        self.configure(head + "max_skipped = 1\n")
        self.assertEqual(self.gate().code, 0)
        self.assertEqual(self.gate("--max-skipped", "0").code, 5)

    def test_what_a_budget_leaves_over_counts(self):
        self.configure('cases = "k.cases"\nbudget = "1cases"\n')
        self.assertEqual(self.gate().code, 5)

    def test_elsewhere_skipping_is_free(self):
        done = self.gate(SMALL, "mamba3_scan t=4 n=4 p=2", "--candidate", "variant:cpu",
                         "--profile", "cpu-f32")
        self.assertEqual(done.code, 0, done.out)


class AnnotationTest(Gate):
    def test_one_remark_a_cause_on_its_line(self):
        done = self.gate("--cases", "k.cases", "--candidate", WRONG, env=GITHUB)
        self.assertEqual(done.code, 1)
        (line,) = self.annotations(done)
        self.assertRegex(line, r"^::error file=k\.cases,line=2,title=attention_forward "
                               r"fail \(bits%3Ao\)::one key ahead of the query is visible: "
                               r"behaves like attn\.causal_plus_one, the same bits%0A")
        self.assertIn("likewise 1 more case", line)
        self.assertIn("%0Areplay: lockstep verify '", line)

    def test_two_causes_are_two_remarks(self):
        self.path("k.cases", CASES + "mamba3_scan t=9 n=8 p=2 carry=yes seed=2\n")
        done = self.gate("--cases", "k.cases", "--candidate", WRONG, "--candidate",
                         "mutant:scan.diag_missing", env=GITHUB)
        lines = [re.search(r"line=(\d+)", line)[1]
                 for line in self.annotations(done) if line.startswith("::error")]
        self.assertEqual(lines, ["2", "5"], done.out)

    def test_the_path_is_the_repositorys(self):
        os.mkdir(self.path("sub"))
        os.rename(self.path("k.cases"), self.path("sub/k.cases"))
        done = run("verify", "--cases", "k.cases", "--candidate", WRONG,
                   cwd=self.path("sub"), env={**GITHUB, "GITHUB_WORKSPACE": self.folder})
        self.assertIn("file=sub/k.cases,line=2,", done.out)

    def test_bad_lines_are_remarked(self):
        self.path("k.cases", "# x\nattention_forward sq=0\nattention_fourward\n")
        done = self.gate("--cases", "k.cases", env=GITHUB)
        self.assertEqual(done.code, 2)
        self.assertEqual([re.search(r"file=k\.cases,line=(\d)", line)[1]
                          for line in self.annotations(done)], ["2", "3"])

    def test_names_cannot_write_commands(self):
        name = "a,b:c%.cases"
        self.path(name, CASES)
        done = self.gate("--cases", name, "--candidate", WRONG, env=GITHUB)
        self.assertIn("file=a%2Cb%3Ac%25.cases,line=2,", done.out)

    def test_only_where_asked(self):
        done = self.gate("--cases", "k.cases", "--candidate", WRONG)
        self.assertEqual(self.annotations(done), [])
        done = self.gate("--cases", "k.cases", "--candidate", WRONG, "--annotations",
                         "none", env=GITHUB)
        self.assertEqual(self.annotations(done), [])
        done = self.gate("--cases", "k.cases", "--candidate", WRONG, "--annotations",
                         "github")
        self.assertEqual(len(self.annotations(done)), 1)


class JUnitTest(Gate):
    """A file is there after every run that began."""

    def problem(self):
        suite = self.junit()
        self.assertEqual((suite.get("tests"), suite.get("errors")), ("1", "1"))
        return suite[0][0]

    def test_cases_name_their_line(self):
        self.gate("--cases", "k.cases", "--junit", "j.xml", "--candidate", WRONG)
        self.assertEqual([(c.get("file"), c.get("line")) for c in self.junit()],
                         [("k.cases", "2"), ("k.cases", "4")])

    def test_refused_before_anything_was_judged(self):
        self.configure("cases = 1")
        for arguments in ((), ("--cases", "nowhere"), ("attention_forward sq=0",),
                          (SMALL, "--candidate", "cmd:/nowhere", "--profile", "cpu-f32"),
                          (SMALL, "--profile", "nowhere"), (SMALL, "--budget", "x"),
                          (SMALL, "--seed", "x"), (SMALL, "--call-timeout", "x")):
            with self.subTest(arguments=arguments):
                self.path("j.xml", "yesterday's")
                done = self.gate(*arguments, "--junit", "j.xml")
                self.assertEqual(done.code, 2)
                error = self.problem()
                self.assertEqual(error.get("type"), "refused")
                self.assertIn(error.get("message").splitlines()[0], done.err)

    def test_an_input_is_never_replaced(self):
        self.configure('cases = "k.cases"\n')
        for name in ("k.cases", "lockstep.toml"):
            self.assertUsage(self.gate("--junit", name), "would replace")
        with open(self.path("k.cases"), encoding="utf-8") as file:
            self.assertEqual(file.read(), CASES)

    def test_killed(self):
        self.path("j.xml", "yesterday's")
        huge = "attention_forward sq=16384 skv=16384 d=128"
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "verify", huge, "--junit", "j.xml"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                with open(self.path("j.xml"), encoding="utf-8") as file:
                    if file.read() != "yesterday's":
                        break
                time.sleep(0.01)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        self.assertEqual(self.problem().get("type"), "unfinished")
        self.assertEqual(sorted(os.listdir(self.folder)), ["j.xml", "k.cases"])


if __name__ == "__main__":
    unittest.main()
