"""What the program writes: JSON against its schemas, JUnit, lists, replay."""

import json
import os
import pty
import shlex
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import program
import schema
from program import SMALL, SOURCE, events, run, summary

ODD = ("attention_forward hq=2 sq=3 skv=20 d=8 "
       "mask=causal&(window:4,0|sink:2) align=br seed=9")


def load_schema(name):
    with open(os.path.join(SOURCE, "docs", "schemas", name),
              encoding="utf-8") as file:
        return json.load(file)


class Json(program.TestCase):

    def everything(self):
        """Arguments of a run with every kind of result in it."""
        folder, tensors = self.export(SMALL)
        tensors["o"][2][0] ^= 1
        self.write_outputs(folder, tensors)
        cases = self.path("all.cases", "\n".join([
            SMALL, ODD, "attention_forward sq=4 skv=4 d=8 fill=const:0",
            "attention_forward sq=4 skv=4 d=0 expect=refuse"]) + "\n")
        return ["--cases", cases, "--candidate", "builtin:optimized",
                "--profile", "exact-f32"], folder

    def test_events_follow_the_schema(self):
        arguments, folder = self.everything()
        rules = load_schema("events.schema.json")
        kinds = set()
        for done in [run("verify", *arguments, "--json", "-"),
                     self.judge_files(folder, SMALL, "--json", "-")]:
            for event in events(done.out):
                self.assertEqual(schema.problems(event, rules), [], event)
                kinds.add(event["kind"])
            self.assertEqual(summary(done.out)["exit"], done.code)
        self.assertEqual(kinds, {"start", "case", "finding", "summary"})

    def test_receipts_follow_the_schema(self):
        arguments, folder = self.everything()
        rules = load_schema("receipt.schema.json")
        path = self.path("receipt.json")
        run("verify", *arguments, "--receipt", path)
        with open(path, encoding="utf-8") as file:
            receipt = json.load(file)
        self.assertEqual(schema.problems(receipt, rules), [])
        self.assertEqual(len(receipt["cases"]), 4)
        resolution = receipt["cases"][0]["resolution"]
        self.assertEqual(resolution["requested_backend"], "optimized")
        self.assertEqual(resolution["executed_as_requested"],
                         resolution["fallback_reason"] == "")
        self.assertIn("--receipt", receipt["request"]["arguments"])
        done = self.judge_files(folder, SMALL, "--receipt", "-")
        receipt = json.loads(done.out)
        self.assertEqual(schema.problems(receipt, rules), [])
        self.assertEqual(receipt["cases"][0]["outcome"]["status"], "fail")

    def test_the_validator_sees_planted_defects(self):
        rules = load_schema("receipt.schema.json")
        done = run("verify", SMALL, "--receipt", "-")
        for defect in [
            lambda r: r.pop("identity"),
            lambda r: r["identity"].update(timestamp="yesterday"),
            lambda r: r["outcome"].update(cases="1"),
            lambda r: r["outcome"].update(exit=2),
            lambda r: r["cases"][0].pop("resolution"),
            lambda r: r["cases"][0]["outcome"].update(status="fine"),
            lambda r: r["cases"][0]["errors"][0].update(over=-1),
        ]:
            receipt = json.loads(done.out)
            defect(receipt)
            self.assertNotEqual(schema.problems(receipt, rules), [])

    def test_a_file_is_written_whole(self):
        path = self.path("out.ndjson", "old contents\n")
        done = run("verify", SMALL, "--json", path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(summary(file.read())["exit"], done.code)
        self.assertEqual(os.listdir(self.folder), ["out.ndjson"])

    def test_junit(self):
        arguments, folder = self.everything()
        path = self.path("junit.xml")
        run("verify", *arguments, "--junit", path)
        suite = xml.etree.ElementTree.parse(path).getroot()[0]
        self.assertEqual(suite.get("tests"), "4")
        self.assertEqual(suite.get("failures"), "1")
        self.assertEqual(len(suite), 4)
        done = self.judge_files(folder, SMALL, "--junit", "-")
        root = xml.etree.ElementTree.fromstring(done.out)
        failure = root[0][0][0]
        self.assertEqual(failure.tag, "failure")
        self.assertIn("replay: lockstep verify", failure.text)

    def test_env(self):
        done = run("env", "--json", "-")
        self.assertEqual(done.code, 0)
        environment = json.loads(done.out)
        for key in ("targets", "compiler", "highway", "threads", "rounding",
                    "ftz", "daz", "contract_version"):
            self.assertIn(key, environment)
        for key in ("compiled", "supported", "not_run", "used"):
            self.assertIn(key, environment["targets"])
        oracle = environment["oracle"]
        self.assertIn("scalar", oracle["supported"])
        self.assertEqual(oracle["used"], oracle["supported"][-1])
        self.assertEqual(environment["rounding"], "nearest")
        self.assertEqual(json.loads(run("env", "--json").out), environment)
        self.assertIn("rounding  nearest", run("env").out)


class Words(program.TestCase):

    def test_lists(self):
        for what in ("ops", "targets", "profiles", "families"):
            with self.subTest(what=what):
                done = run("list", what)
                self.assertEqual(done.code, 0)
                names = [line.split("  ")[0]
                         for line in done.out.splitlines()]
                self.assertTrue(names)
                records = json.loads(run("list", what, "--json").out)
                self.assertEqual([r["name"] for r in records], names)
        self.assertIn("attention_forward  ", run("list", "ops").out)

    def test_list_cases(self):
        cases = self.path("some.cases", f"# comment\n{SMALL}\n\n{ODD}\n")
        records = json.loads(run("list", "cases", cases, "--json").out)
        self.assertEqual([r["line"] for r in records], [2, 4])
        for record in records:
            again = run("verify", record["canonical"], "--json", "-")
            self.assertEqual(events(again.out)[1]["case"], record["name"])

    def test_every_verb_has_help_with_an_example(self):
        for verb in ([], ["verify"], ["replay"], ["list"], ["env"],
                     ["export"]):
            done = run(*verb, "--help")
            self.assertEqual(done.code, 0)
            self.assertIn("Example", done.out)
            self.assertIn(" ".join(["Usage: lockstep", *verb]), done.out)

    def test_no_colour_and_no_progress_in_a_pipe(self):
        folder, tensors = self.export(SMALL)
        tensors["o"][2][0] ^= 1
        self.write_outputs(folder, tensors)
        done = self.judge_files(folder)
        self.assertNotIn("\x1b", done.out + done.err)
        self.assertNotIn("\r", done.out + done.err)

    def on_a_terminal(self, *arguments, env=None):
        """Everything `lockstep ARGUMENTS` writes to a terminal."""
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        environment.update(env or {})
        primary, secondary = pty.openpty()
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), *arguments], cwd=SOURCE,
            stdin=subprocess.DEVNULL, stdout=secondary, stderr=secondary,
            env=environment)
        os.close(secondary)
        text = b""
        while True:
            try:
                part = os.read(primary, 65536)
            except OSError:  # the terminal is gone: so is the program
                break
            if not part:
                break
            text += part
        os.close(primary)
        child.wait()
        return text.decode()

    def test_colour_and_progress_on_a_terminal(self):
        cases = self.path("some.cases", "".join(
            f"attention_forward hq=2 sq=32 skv=256 d=64 seed={n}\n"
            for n in range(30)))
        text = self.on_a_terminal("verify", "--cases", cases)
        self.assertIn("\x1b[32m30 pass\x1b[0m", text)
        self.assertRegex(text, r"\r\x1b\[K\d+ of 30 cases, [\d.]+/s, "
                               r"[\d.]+ s left, 0 findings")
        plain = self.on_a_terminal("verify", "--cases", cases,
                                   env={"NO_COLOR": "1"})
        self.assertNotIn("\x1b[32m", plain)
        self.assertIn("30 pass", plain)

    def test_replay_of_what_was_found(self):
        folder, tensors = self.export(SMALL)
        tensors["o"][2][0] ^= 1
        self.write_outputs(folder, tensors)
        stream = self.path("found.ndjson")
        receipt = self.path("found.json")
        self.judge_files(folder, SMALL, "--json", stream, "--receipt",
                         receipt)
        for what in (stream, receipt):
            done = run("replay", what)
            self.assertEqual(done.code, 1, done.out + done.err)
            self.assertIn("FAIL", done.out)
        # Repaired since.
        tensors["o"][2][0] ^= 1
        self.write_outputs(folder, tensors)
        self.assertEqual(run("replay", stream).code, 0)
        self.assertEqual(run("replay", SMALL).code, 0)
        cases = self.path("some.cases", SMALL + "\n")
        self.assertEqual(run("replay", cases).code, 0)
        self.assertUsage(run("replay", self.path("bad", '{"kind": 1}\nxx')))

    def test_replay_lines_can_be_pasted(self):
        # The second of two cases, in folders and a profile with spaces.
        out = self.path("two cases")
        cases = self.path("two.cases", f"{SMALL}\n{ODD}\n")
        done = run("export", "--cases", cases, "--minimal", "--with-expected",
                   "--out", out)
        self.assertEqual(done.code, 0, done.err)
        for n in ("1", "2"):
            tensors, metadata = program.read_safetensors(
                os.path.join(out, n, "expected.safetensors"))
            if n == "2":
                tensors["o"][2][0] ^= 1
            self.write_outputs(os.path.join(out, n), tensors, metadata)
        profile = self.path("my profile", "base = exact-f32\nname = mine\n")
        stream = self.path("found.ndjson")
        done = run("verify", "--cases", cases, "--candidate", "files:" + out,
                   "--profile", profile, "--all-rows", "--json", stream)
        self.assertEqual(done.code, 1, done.err)
        with open(stream, encoding="utf-8") as file:
            found = [e for e in events(file.read()) if e["kind"] == "finding"]
        self.assertEqual(len(found), 1)
        words = shlex.split(found[0]["replay"])
        self.assertEqual(words[:3], ["lockstep", "verify", found[0]["case"]])
        self.assertIn("files:" + os.path.join(out, "2"), words)
        self.assertIn(profile, words)
        self.assertIn("--all-rows", words)
        again = run(*words[1:], "--json", "-")
        self.assertEqual(again.code, 1, again.err)
        repeated = [e for e in events(again.out) if e["kind"] == "finding"]
        self.assertEqual(repeated[0]["comparison"], found[0]["comparison"])
        self.assertEqual(repeated[0]["replay"], found[0]["replay"])
        done = run("replay", stream)
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("1 case: 1 fail", done.out)

    def test_export_of_probes(self):
        folder = self.path("probed")
        case = "attention_forward sq=3 skv=9 d=8 lane=bf16"
        done = run("export", case, "--minimal", "--probes", "--with-expected",
                   "--out", folder)
        self.assertEqual(done.code, 0, done.err)
        with open(os.path.join(folder, "probes", "index.txt"),
                  encoding="utf-8") as file:
            index = [line.rstrip("\n").split("\t") for line in file]
        self.assertGreater(len(index), 5)
        for name, line in index:
            place = os.path.join(folder, "probes", name)
            _, metadata = program.read_safetensors(
                os.path.join(place, "inputs.safetensors"))
            self.assertIn("fill=probe:", line)
            self.assertIn("fill=probe:", metadata["case"])
            shutil.copy(os.path.join(place, "expected.safetensors"),
                        os.path.join(place, "outputs.safetensors"))
        shutil.copy(os.path.join(folder, "expected.safetensors"),
                    os.path.join(folder, "outputs.safetensors"))
        done = run("verify", case, "--candidate", "files:" + folder,
                   "--profile", "flash-bf16", "--json", "-")
        met = [e for e in events(done.out)
               if e["kind"] == "case"][0]["evidence"]
        self.assertGreater(len(met["probes_met"]), 5)
        self.assertEqual(met["probes_missed"], [])

    def test_seed_and_shard(self):
        done = run("verify", SMALL, "--seed", "123", "--json", "-")
        self.assertIn("seed=123", events(done.out)[1]["case"])
        seen = []
        for i in range(2):
            done = run("verify", SMALL, ODD, "--shard", f"{i}/2", "--json",
                       "-")
            seen += [e["case"] for e in events(done.out)
                     if e["kind"] == "case"]
        self.assertEqual(len(seen), 2)
        self.assertNotEqual(seen[0], seen[1])

    def test_budget(self):
        done = run("verify", SMALL, ODD, "--budget", "1cases", "--json", "-")
        self.assertEqual(done.code, 0)
        self.assertEqual(summary(done.out)["cases"], 1)
        self.assertEqual(summary(done.out)["not_run"], 1)


if __name__ == "__main__":
    unittest.main()
