"""Checks that the tests of kernels for an encoding of keys, values or rows share. Right kernels
pass, each of their known bugs fails, and an export has the encoding's tensors."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

# Before the program is started: the package of this checkout, and the examples.
PACKAGE = os.path.join(HERE, "..", "..", "python")
EXAMPLES = os.path.join(PACKAGE, "examples")
os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, EXAMPLES])

import kernel_builds  # noqa: E402
import program  # noqa: E402
from program import events, run  # noqa: E402


def example(name):
    """The text of a kernel of python/examples."""
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


class TestCase(program.TestCase):
    def judged(self, kernel, *lines):
        return run("verify", *lines, "--candidate", kernel, "--profile", "from-candidate",
                   "--json", "-")

    def built(self, source, text=None, name=None):
        """A kernel of examples/, or `text` in its place."""
        text = kernel_builds.example(source) if text is None else text
        return "so:" + kernel_builds.build(self.folder, source, text=text, name=name)

    def check(self, verdict, kernel, *lines):
        """Expects the verdict for each line; returns what the program left."""
        done = self.judged(kernel, *lines)
        cases = [e for e in events(done.out) if e["kind"] == "case"]
        self.assertEqual([e["verdict"] for e in cases], [verdict] * len(lines),
                         done.out + done.err)
        return done

    def passes(self, kernel, *lines):
        done = self.check("pass", kernel, *lines)
        self.assertEqual(done.code, 0, done.out + done.err)

    def bugs_fail(self, text, bugs, kernel_of, codes=(1,)):
        """Expects one of the exit codes of each bug: {name: (part of the text, what is in its
        place, a line that shows it)}. kernel_of(name, text) makes the kernel."""
        for number, (bug, (right, wrong, line)) in enumerate(bugs.items()):
            with self.subTest(bug):
                self.assertEqual(text.count(right), 1, right)
                kernel = kernel_of(f"bug{number}", text.replace(right, wrong))
                done = self.judged(kernel, line)
                self.assertIn(done.code, codes, done.out + done.err)

    def written(self, name, text):
        """A kernel in Python with that text; its function is `attend`."""
        return "py:" + self.path(name + ".py", text) + ":attend"

    def head_of_export(self, line, *options):
        """The first bytes of the inputs that `lockstep export` writes."""
        folder = self.path("export")
        done = run("export", line, "--out", folder, *options)
        self.assertEqual(done.code, 0, done.err)
        with open(os.path.join(folder, "calls", "1", "inputs.safetensors"), "rb") as file:
            return file.read(4096)
