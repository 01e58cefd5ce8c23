"""Completions and the man page, which cmake/pages.py makes from the parser."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import program
from program import SMALL, run


class PagesTest(program.TestCase):

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        own = os.path.abspath(program.PROGRAM)
        subprocess.run([sys.executable, "-B",
                        os.path.join(program.SOURCE, "cmake", "pages.py"), holder.name,
                        own, *filter(os.path.exists, (own + "-fuzz", own + "-bench"))],
                       check=True)
        cls.pages = {name: os.path.join(holder.name, path) for name, path in (
            ("bash", "bash-completion/completions/lockstep"),
            ("zsh", "zsh/site-functions/_lockstep"),
            ("fish", "fish/vendor_completions.d/lockstep.fish"),
            ("man", "man/man1/lockstep.1"))}

    def page(self, name):
        with open(self.pages[name], encoding="utf-8") as file:
            return file.read()

    def complete(self, line):
        """What bash offers behind `line`, readline's cut at ':' and '=' undone."""
        words = line.split(" ")
        words[0] = os.path.abspath(program.PROGRAM)
        script = self.pages["bash"]
        driver = (f"source {script}\n"
                  'COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:2}") '
                  "COMP_CWORD=$(($# - 2))\n"
                  "_lockstep\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "-c", driver, "bash", " ".join(words), *words],
                              capture_output=True, text=True, check=False,
                              cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        script = self.pages["bash"]
        subprocess.run(["bash", "-n", script], check=True)
        registered = subprocess.run(
            ["bash", "-c", f"source {script}; complete -p lockstep"],
            capture_output=True, text=True, check=True).stdout
        self.assertIn("-F _lockstep lockstep", registered)
        self.assertIn("verify", self.complete("lockstep ver"))
        self.assertEqual(self.complete("lockstep cam"), ["campaign"])
        self.assertIn("--candidate", self.complete("lockstep verify --ca"))
        # Verbs of the program beside it, too.
        self.assertEqual(self.complete("lockstep fuzz --find"), ["--findings"])
        self.assertEqual(self.complete("lockstep verify --fail-on s"), ["suspicious"])
        self.assertEqual(self.complete("lockstep verify --color n"), ["never"])
        self.assertEqual(self.complete("lockstep list prof"), ["profiles"])
        self.assertEqual(self.complete("lockstep fuzz mamba3_st"), ["mamba3_step"])
        self.assertIn("flash-bf16", self.complete("lockstep verify --profile flash"))
        self.assertIn("attn.causal_plus_one",
                      self.complete("lockstep fuzz --candidate mutant:attn.causal"))
        self.assertIn("scan-turns",
                      self.complete("lockstep verify --candidate variant:scan-t"))
        self.assertIn("flash", self.complete(
            "lockstep verify --candidate mutant:attn.causal_strict,base=fla"))
        self.path("my.cases", SMALL)
        self.assertEqual(self.complete("lockstep verify --cases my"), ["my.cases"])
        self.assertIn("--corpus", self.complete("lockstep fuzz --tile 4 4 --cor"))

    def test_every_verb_and_option_is_in_every_page(self):
        pages = [self.page(shell) for shell in ("bash", "zsh", "fish")]
        man = self.page("man")
        verbs = [v.strip() for v in
                 run().err.split("verbs:")[1].split(" (")[0].split()]
        self.assertGreater(len(verbs), 12)
        for verb in verbs:
            for page in pages + [man]:
                self.assertIn(verb, page)
            options = set()
            for line in run(verb, "--help").out.splitlines():
                if line.lstrip().startswith("-"):
                    options.update(w.rstrip(",") for w in line.replace(",", " ").split()
                                   if w.startswith("--"))
            for option in options - {"--help"}:
                for page in (pages[0], pages[1]):
                    self.assertIn(option, page, verb)
                self.assertIn(" -l " + option[2:], pages[2], verb)
                self.assertIn(option.replace("-", "\\-"), man, verb)

    def test_shells_read_them(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell) is None:
                continue  # the words above are all that can be looked at
            done = subprocess.run([shell, "-n", self.pages[shell]], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_man_page(self):
        page = self.page("man")
        self.assertTrue(page.startswith('.\\" '), page[:80])
        for macro in (".TH LOCKSTEP 1 ", ".SH NAME\n", ".SH SYNOPSIS\n",
                      ".SS lockstep fuzz\n", ".SH ENVIRONMENT\n"):
            self.assertIn(macro, page)
        if shutil.which("groff") is None:
            return
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww", self.pages["man"]],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # Bold is struck twice, or escaped, by the version of groff.
        plain = re.sub("\x1b\\[[0-9;]*m|.\x08", "", done.stdout)
        self.assertIn("--require-executed", plain)

    def test_the_verbs_that_printed_them_say_where_they_are(self):
        for words in (["completion", "bash"], ["man"]):
            self.assertUsage(run(*words), "files of an installation", "pages/")


if __name__ == "__main__":
    unittest.main()
