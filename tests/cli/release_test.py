#!/usr/bin/env python3
"""What a release is made of: each file that names the version names the same, the
changelog has its date, and workflows, forms and the container's recipe are well formed.
"""
import os
import re
import unittest

import yaml

import program

ROOT = os.path.abspath(program.SOURCE)


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def yaml_of(name):
    return yaml.safe_load(text_of(name))


def version():
    return re.search(r"^ *VERSION (\d+\.\d+\.\d+)$", text_of("CMakeLists.txt"), re.M)[1]


class Release(unittest.TestCase):
    def test_every_file_names_the_version(self):
        places = {
            "CITATION.cff": r"^version: (.*)$",
            "CHANGELOG.md": r"^## (.*), \d{4}-\d\d-\d\d$",
            "action.yml": r"lockstep-verify==(.*)$",
            "Containerfile": r"lockstep-verify==(\S*)",
            "docs/ci.md": r"OWNER/lockstep@v(\S*)",
            "docs/ci/lockstep.yml": r"OWNER/lockstep@v(\S*)",
            "RELEASING.md": r"The first tag is `v(.*)`",
        }
        for name, pattern in places.items():
            found = re.search(pattern, text_of(name), re.M)
            self.assertIsNotNone(found, f"{name} has no {pattern}")
            self.assertEqual(found[1], version(), name)

    def test_the_citation_has_the_date_of_the_changelog(self):
        date = re.search(r"^## [\d.]+, (\S+)$", text_of("CHANGELOG.md"), re.M)[1]
        self.assertEqual(yaml_of("CITATION.cff")["date-released"], date)

    def test_the_workflow_publishes_what_others_tried(self):
        workflow = yaml_of(".github/workflows/release.yml")
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        jobs = workflow["jobs"]
        self.assertEqual(set(jobs["publish"]["needs"]), {"wheels", "arm"})
        writers = [name for name, job in jobs.items()
                   if "write" in str(job.get("permissions", {}))]
        self.assertEqual(writers, ["publish"])
        for job in jobs.values():
            for step in job["steps"]:
                self.assertNotIn("${{", step.get("run", ""), "an injection")

    def test_scripts_of_workflows_exist(self):
        for name in (".github/workflows/release.yml", "RELEASING.md"):
            for script in re.findall(r"\b(?:scripts|tests)/[\w/.-]+\.(?:sh|py)", text_of(name)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, script)), script)

    def test_forms_ask_for_the_command(self):
        folder = os.path.join(ROOT, ".github/ISSUE_TEMPLATE")
        forms = [name for name in sorted(os.listdir(folder)) if name != "config.yml"]
        self.assertEqual(len(forms), 3)
        for name in forms:
            form = yaml_of(f".github/ISSUE_TEMPLATE/{name}")
            self.assertLessEqual({"name", "description", "body"}, set(form))
            ids = [field["id"] for field in form["body"]]
            self.assertEqual(len(ids), len(set(ids)), name)
            for field in form["body"]:
                self.assertIn(field["type"], {"input", "textarea", "dropdown"})
                self.assertIn("label", field["attributes"])

    def test_the_container_runs_without_rights(self):
        lines = [line for line in text_of("Containerfile").splitlines()
                 if re.match(r"[A-Z]+ ", line)]
        self.assertTrue(lines[0].startswith("FROM debian:12-slim"))
        self.assertIn("USER kernel", lines)
        self.assertIn('ENTRYPOINT ["lockstep"]', lines)

    def test_assistants_are_told_of_verbs_that_exist(self):
        verbs = set(re.findall(r"^  (\w+) ", program.run("--help").out, re.M))
        for name in ("AGENTS.md", "docs/skill/SKILL.md"):
            told = set(re.findall(r"\blockstep (\w+)\b", text_of(name)))
            self.assertLessEqual(told & {"verify", "fuzz", "explain", "list", "env"}, verbs)
            self.assertLessEqual({"verify", "fuzz", "explain"}, told, name)


if __name__ == "__main__":
    unittest.main()
