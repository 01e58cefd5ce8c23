#!/usr/bin/env python3
"""docs/power.md is what tests/power/power.py makes of data/power.json, and nobody typed it."""
import copy
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("power", ROOT / "tests" / "power" / "power.py")
power = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(power)


def zoo(seed, digest="a" * 32, alarms=0):
    return {"kind": "selftest", "kills": [], "seed": seed, "zoo_seconds": 60.0,
            "alarms": [{"variant": "v", "case": "line"}] * alarms,
            "program": {"digest": digest, "cpu": "some CPU"},
            "zoo": [{"op": "attention_forward", "variants": 67, "cases": 1000,
                     "proof_false_alarms": alarms}]}


def naming(bugs, digest="a" * 32):
    places = [(keys, lse, asked) for keys in (128, 4096) for lse in (True, False)
              for asked in (True, False)]
    return {"kind": "selftest_naming", "program": {"digest": digest, "cpu": "some CPU"},
            "bugs": [{"bug": name, "keys": keys, "lse": lse, "asked": asked, "rank": rank,
                      "first": name if rank else "", "proved": rank == 1, "seconds": 0.5,
                      "case": "line" if rank is not None else "", "kernel": "spec"}
                     for name, rank in bugs.items() for keys, lse, asked in places]}


def identify(op, keys, kept=4, digest="a" * 32):
    row = {"op": op, "family": "numeric", "convention": False, "keys": keys, "own": 4,
           "kept": kept, "lost": ["mutant:a"] * (4 - kept)}
    mask = {**row, "family": "mask", "convention": True, "own": 3, "kept": 3, "lost": []}
    return {"kind": "selftest_identify", "program": {"digest": digest, "cpu": "some CPU"},
            "zoo": [{"op": op, "kernels": 9, "seen": 20, "equal": 19, "stricter": ["k: p = f32"],
                     "longest_seconds": 0.5,
                     "fields": [{"field": "acc_qk", "seen": 9, "equal": 8, "reported": 1,
                                 "cannot_tell": 0}]}],
            "bugs": [row, mask]}


class Page(unittest.TestCase):

    def test_it_is_what_the_data_gives(self):
        self.assertEqual(power.PAGE.read_text(encoding="utf-8"),
                         power.page_of(power.stored()),
                         "run tests/power/power.py page")

    def test_it_names_what_it_rests_on(self):
        page = power.PAGE.read_text(encoding="utf-8")
        for heading in ("## Known bugs", "## Other rules", "## How severe", "## False alarms",
                        "## A profile that the judge learns", "## Causes", "## Causes of two bugs at once", "stated as certain"):
            self.assertIn(heading, page)

    def test_a_row_for_each_bug_keeps_all_that_was_measured(self):
        text = power.DATA.read_text(encoding="utf-8")
        self.assertEqual(text, power.text_of(power.stored()))
        bugs = power.read(power.DATA)["bugs"]
        self.assertEqual(len(bugs), len({bug["bug"] for bug in bugs}))

    # A page that would read alike whatever was measured could not be wrong.
    def test_every_part_of_the_data_shows(self):
        data = power.stored()
        page = power.page_of(data)
        for part in data:
            other = copy.deepcopy(data)
            del other[part]
            self.assertNotEqual(power.page_of(other), page, part)
        other = copy.deepcopy(data)
        other["runs"][0]["program"]["cpu"] = "another CPU"
        self.assertIn("another CPU", power.page_of(other))
        other["kills"]["rows"][0]["tiers"] = []
        self.assertIn(f"Survivors: {other['kills']['rows'][0]['mutant']}.",
                      power.page_of(other))


class Collected(unittest.TestCase):

    def test_bugs_of_one_program_add_up(self):
        data = power.collect({}, [naming({"a": 1, "b": 0}), naming({"b": 1, "c": 0})])
        page = power.page_of(data)
        self.assertIn("| 128 | o, lse | asked | 3 | 2 | ", page)
        self.assertIn("| 4096 | o | answers from files | 3 | 2 | ", page)
        self.assertIn("| c | 128 | o, lse | asked | none |", page)
        self.assertNotIn("| b | 128 ", page)
        other = power.collect(data, [naming({"d": 1}, digest="b" * 32)])
        self.assertIn("| 128 | o, lse | asked | 1 | 1 | ", power.page_of(other))

    def test_what_identify_loses(self):
        data = power.collect({}, [identify("attention_forward", 0),
                                  identify("attention_forward", 1024, kept=3),
                                  identify("attention_backward", 0)])
        page = power.page_of(data)
        self.assertIn("| attention_backward | 9 | 20 | 19 | ", page)
        self.assertIn("Stricter: k: p = f32.", page)
        self.assertIn("| attention_forward | `acc_qk` | 9 | 8 | 1 | 0 |", page)
        self.assertIn("| attention_forward | arithmetic | numeric | 1024 | 4 | 3 | ", page)
        self.assertIn("| attention_forward | their own | a convention | 1 | 3 | 3 | ", page)
        self.assertIn("| attention_forward | 1024 | arithmetic | 1 | 4 | 3 | ", page)
        self.assertIn("Lost: mutant:a (1024).", page)
        # A row names the program that measured it.
        other = power.collect(data, [identify("attention_backward", 0, digest="b" * 32)])
        page = power.page_of(other)
        self.assertIn("| attention_backward | their own | arithmetic | 1 | 4 | 4 | 51 to 100 % "
                      "| `bbbbbbbbbbbb` |", page)
        self.assertIn("| attention_forward | their own | arithmetic | 1 | 4 | 4 | 51 to 100 % "
                      "| `aaaaaaaaaaaa` |", page)

    def test_runs_of_one_program_add_up(self):
        data = power.collect({}, [zoo(0), zoo(1, alarms=2)])
        self.assertIn("| `aaaaaaaaaaaa` | 2 | 1,000 | 2,000 | 2 |", power.page_of(data))
        self.assertIn("- program `aaaaaaaaaaaa`: v on `line`", power.page_of(data))

    def test_runs_of_another_program_do_not(self):
        data = power.collect({}, [zoo(0), zoo(0, digest="b" * 32)])
        page = power.page_of(data)
        self.assertIn("| `aaaaaaaaaaaa` | 1 | 1,000 | 1,000 | 0 |", page)
        self.assertIn("| `bbbbbbbbbbbb` | 1 | 1,000 | 1,000 | 0 |", page)

    def test_a_seed_counts_once(self):
        with self.assertRaisesRegex(ValueError, "seed 0"):
            power.collect({}, [zoo(0), zoo(0)])

    def test_calibration_counts_what_was_right(self):
        found = [{"score": 0.99, "rank": 1}, {"score": 1.0, "rank": 0},
                 {"score": 0.95, "rank": 1}]
        self.assertIn("reproduced | 2 | 1 |", power.calibration(found))
        self.assertIn("| 90 to 98 % | 1 | 1 |", power.calibration(found))

    # Values of the formula, by hand: no failure in ten, 5 of 10.
    def test_wilsons_interval(self):
        self.assertAlmostEqual(power.wilson(0, 10)[1], 0.27754, places=4)
        low, high = power.wilson(5, 10)
        self.assertAlmostEqual(low, 0.23659, places=4)
        self.assertAlmostEqual(high, 0.76341, places=4)
        self.assertEqual(power.wilson(10, 10)[1], 1.0)


if __name__ == "__main__":
    unittest.main()
