#!/usr/bin/env python3
"""The workflow that docs/ci.md tells users to copy, and the actions: each of their run:
steps, with bash, in a throwaway git repository with a kernel of its own. A good commit
is green, a bad one red on the line of its case, and bisect names it.

With LOCKSTEP_WHEEL, the path of a wheel, the action installs that; otherwise it finds
the program on the PATH."""

import os
import re
import shutil
import subprocess
import unittest

import yaml

import program

SOURCE = os.path.abspath(program.SOURCE)
WORKFLOW = os.path.join(SOURCE, "docs/ci/lockstep.yml")
OURS = re.compile(r"OWNER/lockstep/?(|\.github/actions/[a-z-]+)@v\d")
FOREIGN = {"actions/checkout@v4", "actions/cache@v4", "actions/upload-artifact@v4"}
WHEEL = os.environ.get("LOCKSTEP_WHEEL")
# The action of a wheel, and that which builds from source.
ACTIONS = ("",) if WHEEL else ("", ".github/actions/lockstep")

CASES = """# What the model calls it with, made small.
attention_forward hq=2 hkv=1 sq=4 skv=6 d=4 mask=full seed=1

attention_forward hq=2 hkv=1 sq=5 skv=9 d=4 cap=30 mask=causal align=br seed=3
attention_forward sq=5 skv=8 d=4 mask=causal align=br seed=4
"""
CONFIG = """cases = "kernels/attention.cases"
candidate = "cmd:python3 kernels/host.py"
profile = "kernels/python.profile"
fresh_seed = 7
"""
PROFILE = "base = cpu-f32\nname = python\nnan = unspecified\n"
# What a row of the kernel sees; the planted bug cuts it short.
SEEN = 'if load(memory, mask, b, h % mask["shape"][1], i, j)]'


def read_yaml(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


class Runner:
    """A job of GitHub Actions, as far as run: steps see it."""

    def __init__(self, repository, home, action=None):
        self.repository = repository
        self.action = action  # in place of the workflow's
        self.home = home
        self.outputs = {}
        self.said = ""
        self.foreign = []
        programs = os.path.join(home, "programs")
        os.makedirs(programs)
        if not WHEEL:
            os.symlink(os.path.abspath(program.PROGRAM),
                       os.path.join(programs, "lockstep"))
        # The packages are there: nothing is installed by a test.
        with open(os.path.join(programs, "apt-get"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(file.name, 0o755)
        self.environment = {
            **os.environ, "HOME": home, "RUNNER_TEMP": os.path.join(home, "temp"),
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": repository,
            "GITHUB_OUTPUT": self.file("output"),
            "GITHUB_PATH": self.file("path"),
            "PATH": programs + os.pathsep + os.environ["PATH"]}
        os.makedirs(self.environment["RUNNER_TEMP"])

    def file(self, name):
        """An empty file of the job."""
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8"):
            return path

    def lines(self, name):
        with open(os.path.join(self.home, name), encoding="utf-8") as file:
            return file.read().splitlines()

    def filled(self, text, inputs):
        """Without ${{ }}: inputs, outputs of steps, and nothing else in a shell."""
        def value(match):
            name = match[1]
            if name.startswith("inputs."):
                return str(inputs[name.removeprefix("inputs.")])
            step = re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", name)
            return self.outputs[step[1]][step[2]]
        return re.sub(r"\$\{\{ *(.+?) *\}\}", value, str(text))

    def run_step(self, step, inputs):
        """The exit code of a run: step."""
        assert "${{" not in step["run"], "an expression in a script is an injection"
        environment = dict(self.environment)
        for name, value in step.get("env", {}).items():
            environment[name] = self.filled(value, inputs)
        folder = self.filled(step.get("working-directory", "."), inputs)
        self.file("output")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=os.path.join(self.repository, folder), env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        self.said += done.stdout
        if "id" in step:
            self.outputs[step["id"]] = dict(
                line.split("=", 1) for line in self.lines("output"))
        for folder in self.lines("path"):
            self.environment["PATH"] = folder + os.pathsep + self.environment["PATH"]
        self.file("path")
        return done.returncode

    def run(self, steps, inputs):
        """The exit code of the first step that failed, or 0."""
        code = 0
        for step in steps:
            if code != 0 and step.get("if") != "always()":
                continue
            if "run" in step:
                code = code or self.run_step(step, inputs)
                continue
            ours = OURS.match(step["uses"])
            if not ours:
                self.foreign.append(step["uses"])
                continue
            folder = os.path.join(SOURCE, ours[1] if self.action is None else self.action)
            action = read_yaml(os.path.join(folder, "action.yml"))
            values = {name: one["default"] for name, one in action["inputs"].items()}
            values.update(step.get("with", {}))
            if WHEEL:
                values["package"] = WHEEL
            self.environment["GITHUB_ACTION_PATH"] = folder
            code = code or self.run(action["runs"]["steps"], values)
        return code


class Workflow(program.TestCase):
    def setUp(self):
        super().setUp()
        self.repository = self.path("repository")
        os.makedirs(os.path.join(self.repository, "kernels"))
        self.git("init", "-q", "-b", "main")
        self.write("lockstep.toml", CONFIG)
        self.write("kernels/attention.cases", CASES)
        self.write("kernels/python.profile", PROFILE)
        with open(os.path.join(SOURCE, "tests/host/attention_host.py"),
                  encoding="utf-8") as file:
            self.host = file.read()
        self.assertIn(SEEN, self.host)
        self.write("kernels/host.py", self.host)
        self.jobs = 0
        self.good = self.commit("a kernel")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
            cwd=self.repository, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.strip()

    def write(self, name, text):
        with open(os.path.join(self.repository, name), "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def break_kernel(self):
        self.write("kernels/host.py", self.host.replace(
            SEEN, SEEN + '[:-1 if call["scalars"]["sq"] == 5 else None]'))

    def job(self, action=None):
        self.jobs += 1
        home = self.path(f"home{self.jobs}")
        os.makedirs(home)
        runner = Runner(self.repository, home, action)
        workflow = read_yaml(WORKFLOW)
        code = runner.run(workflow["jobs"]["gate"]["steps"], {})
        self.left = os.path.join(home, "temp", "lockstep")
        self.assertLessEqual(set(runner.foreign), FOREIGN)
        return code, runner.said

    def test_what_the_workflow_may_do(self):
        workflow = read_yaml(WORKFLOW)
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        events = workflow[True]  # YAML reads the key `on` so
        self.assertIn("pull_request", events)
        self.assertNotIn("pull_request_target", events)
        (gate,) = workflow["jobs"].values()
        self.assertNotIn("permissions", gate)
        checkout = [s for s in gate["steps"] if "checkout" in s.get("uses", "")]
        self.assertFalse(checkout[0]["with"]["persist-credentials"])

    def test_good_is_green(self):
        for action in ACTIONS:
            code, said = self.job(action)
            self.assertEqual(code, 0, said)
            self.assertNotIn("::error", said)
            self.assertEqual(sorted(os.listdir(self.left)),
                             ["junit.xml", "receipt.json"])

    def test_bad_is_red_on_the_line(self):
        self.break_kernel()
        self.commit("faster")
        code, said = self.job()
        self.assertEqual(code, 1, said)
        errors = [line for line in said.splitlines() if line.startswith("::error")]
        self.assertEqual(len(errors), 1, said)
        self.assertTrue(errors[0].startswith(
            "::error file=kernels/attention.cases,line=4,"), errors)
        self.assertTrue(os.path.exists(os.path.join(self.left, "junit.xml")))

    def test_a_kernel_that_does_not_start_is_red(self):
        self.write("kernels/host.py", "def broken(:\n")
        code, said = self.job()
        self.assertEqual(code, 2, said)
        self.assertIn("::error", said)
        self.assertTrue(os.path.exists(os.path.join(self.left, "junit.xml")))

    @unittest.skipIf(WHEEL, "the program of the tree is asked")
    def test_bisect_names_the_commit(self):
        self.write("kernels/host.py", "def broken(:\n")
        self.commit("does not start")
        self.write("kernels/host.py", self.host)
        self.commit("starts again")
        self.commit("something else")
        self.break_kernel()
        bad = self.commit("faster")
        self.write("README", "more\n")
        self.commit("words")
        config = self.path("lockstep.toml", CONFIG)
        self.git("bisect", "start", "HEAD", self.good)
        said = self.git("bisect", "run", os.path.abspath(program.PROGRAM), "verify",
                        "--bisect", "--config", config, "--trust-file")
        self.assertIn(f"{bad} is the first bad commit", said)

    def test_install_says_what_it_wants(self):
        script = os.path.join(SOURCE, "scripts/install.sh")
        for arguments, code in (([], 2), (["--help"], 0), (["--prefix"], 2)):
            done = subprocess.run([script, *arguments], text=True, check=False,
                                  capture_output=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("install" if code else "PREFIX", done.stdout + done.stderr)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is missing: scripts/install-deps.sh installs it")
    unittest.main()
