#!/usr/bin/env python3
"""Every test belongs to one ring: rings_test.py CTEST BUILD PRESETS.

A test whose labels no preset of CMakePresets.json names would be run by nobody. The
newcomer's ring and the one of .ci/run share no test, and the night leaves none out. No
test has a limit of its own (CMakeLists.txt has the one of all).
"""

import json
import re
import subprocess
import sys


def ring_of(labels, presets):
    """The rings that run a test with these labels."""
    def matches(preset, side):
        label = preset.get("filter", {}).get(side, {}).get("label")
        return label and any(re.search(label, own) for own in labels)
    return [name for name in ("quick", "beyond-quick")
            if matches(presets[name], "include")
            and not matches(presets[name], "exclude")]


def problems(tests, presets):
    found = []
    for name, labels, limit in tests:
        if limit:
            found.append(f"{name} has a limit of its own: {limit} s")
        rings = ring_of(labels, presets)
        wanted = 0 if "nightly" in labels else 1
        if len(rings) != wanted:
            found.append(f"{name} {labels}: in the rings {rings}")
    if "filter" in presets["nightly"]:
        found.append("the preset nightly leaves tests out")
    return found


def main(ctest, build, file):
    with open(file, encoding="utf-8") as text:
        presets = {p["name"]: p for p in json.load(text)["testPresets"]}
    shown = json.loads(subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"], check=True,
        capture_output=True, text=True).stdout)
    tests = []
    for test in shown["tests"]:
        have = {p["name"]: p["value"] for p in test.get("properties", ())}
        if not test["name"].endswith("_NOT_BUILT"):
            tests.append((test["name"], have.get("LABELS", []), have.get("TIMEOUT")))
    found = problems(tests, presets)
    planted = problems([("lost", [], None), ("twice", ["unit", "sweep"], None),
                        ("limited", ["unit"], 300.0)], presets)
    if len(planted) != 3:
        found.append(f"planted: {planted}")
    print(*found, f"{len(tests)} tests, {len(found)} problems", sep="\n")
    return 1 if found or not tests else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
