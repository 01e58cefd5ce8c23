#!/usr/bin/env python3
"""Pages that a person reads: whole, by themselves, and true."""

import itertools
import json
import math
import os
import struct
import unittest

import page
import program
from page import Page, named
from program import run

# 150 rows are three to a cell, 80 channels two.
CASE = ("attention_forward hq=2 sq=150 skv=40 d=80 q_seg=runs:100,50 "
        "kv_seg=runs:30,10")


class Pages(program.TestCase):

    def judge(self, *words, code=0):
        path = self.path("page.html")
        done = run("verify", *words, "--html", path)
        self.assertEqual(done.code, code, done.out + done.err)
        with open(path, encoding="utf-8") as file:
            return file.read(), done

    def with_elements(self, wrong):
        """A page of CASE whose answer is right but for o at {(h, i, c): value}; it
        keeps its sign, so that more is further off in ulp, too."""
        folder, tensors = self.export(CASE, f"case{next(self.numbers)}")
        kind, shape, data = tensors["o"]
        self.assertEqual(shape, [1, 2, 150, 80])
        for (h, i, c), value in wrong.items():
            at = 4 * ((h * 150 + i) * 80 + c)
            (right,) = struct.unpack_from("<f", data, at)
            struct.pack_into("<f", data, at, math.copysign(value, right))
            (bits,) = struct.unpack("<i", struct.pack("<f", abs(right)))
            (made,) = struct.unpack("<i", struct.pack("<f", abs(value)))
            self.ulp[h, i, c] = abs(made - bits)
        self.write_outputs(folder, tensors)
        text, _ = self.judge(CASE, "--candidate", "files:" + folder, "--profile",
                             "exact-f32", "--all-rows", code=1)
        return Page(text)

    def setUp(self):
        super().setUp()
        self.numbers = itertools.count()
        self.ulp = {}

    def test_a_cell_shows_its_maximum(self):
        # One of the six elements of a cell each, the last row and channel too.
        drawn = self.with_elements({(1, 100, 41): 1e30, (1, 149, 79): 2e30,
                                    (1, 7, 0): float("nan")})
        wrong = {(33, 20): "4", (49, 39): "4", (2, 0): "N"}
        (drawn_map,) = drawn.maps()
        self.assertEqual(sorted(drawn_map), list(range(0, 150, 3)))
        for row, letters in drawn_map.items():
            self.assertEqual(len(letters), 40)
            for column, letter in enumerate(letters):
                self.assertEqual(letter, wrong.get((row // 3, column), "."),
                                 (row, column))
        self.assertIn("b 0, h 1: 3 of 12000 elements wrong", drawn.text)
        self.assertIn("A cell is 3 x 2 elements and shows the largest error among "
                      "them.", drawn.text)
        # As a picture: one cell a path and level.
        (svg,) = drawn.pictures("errors")
        for level, cells in (("e e6", 2), ("e e7", 1)):
            (path,) = named(svg, "path", level)
            self.assertEqual(path.get("d").count("M"), cells)
        # The border of the segments at row 100 of 150.
        (border,) = named(svg, "line", "seg")
        (frame,) = named(svg, "rect", "frame")
        share = (float(border.get("y1")) - float(frame.get("y"))) / float(
            frame.get("height"))
        self.assertAlmostEqual(share, 100 / 150, 3)

    def test_the_table_has_the_worst_elements(self):
        values = {(0, i, i % 80): float(2**i) for i in range(100, 115)}
        drawn = self.with_elements(values)
        (table,) = [t for t in drawn.tables() if t[0][0] == "o"]
        worst = sorted(values, key=self.ulp.get, reverse=True)[:10]
        self.assertEqual([(row[0], row[3]) for row in table[1:]],
                         [(f"b 0, h {h}, i {i}, c {c}", f"{self.ulp[h, i, c]} ulp")
                          for h, i, c in worst])
        self.assertIn("10 of 15", drawn.text)

    def test_tiles_with_wrong_rows_are_marked(self):
        drawn = self.with_elements({(0, 101, 3): 1e9, (0, 102, 3): 1e9,
                                    (0, 10, 3): 1e9})
        (svg,) = drawn.pictures("plan")
        empty = [e for e in svg.iter(page.SVG + "rect")
                 if e.get("class") == "empty"][0]
        top, height = float(empty.get("y")), float(empty.get("height"))
        bands = [((float(e.get("y")) - top) / height * 150,
                  float(e.get("height")) / height * 150)
                 for e in named(svg, "rect", "band")]
        # Files say no tiles: the page's own are five rows high.
        self.assertEqual([(round(y), round(h)) for y, h in bands],
                         [(10, 5), (100, 5)])

    def test_the_key_that_a_row_lacks(self):
        case = "attention_forward sq=2 skv=48 d=32 mask=causal align=br"
        text, _ = self.judge(case, "--candidate", "mutant:attn.drop_last_key", code=1)
        drawn = Page(text)
        self.assertRegex(drawn.text, r"Error of row b 0, h 0, i [01] by key")
        self.assertRegex(drawn.text, r"Key 4[67] alone explains (100\.0|99\.\d) %")
        self.assertRegex(drawn.text, r"Crossed out: where query [01] meets key 4[67]")
        (svg,) = drawn.pictures("plan")
        self.assertEqual(len(named(svg, "rect", "tile")), 1)

    def test_what_is_not_known_is_said(self):
        scan = "mamba3_scan t=12 h=2 n=8 p=4"
        text, _ = self.judge(scan, "--candidate", "mutant:scan.diag_missing", code=1)
        drawn = Page(text)
        self.assertIn("The worst row's error by key: not known for", drawn.text)
        self.assertEqual(drawn.pictures("plan"), [])
        self.assertEqual(len(drawn.pictures("keys")), 0)
        self.assertGreaterEqual(len(drawn.pictures("errors")), 1)

    def test_facts_are_those_of_the_report(self):
        cases = [f"attention_forward sq={n} skv=24 d=8 mask=causal seed={n}"
                 for n in range(8, 18)]
        kernel = "mutant:attn.causal_plus_one"
        text, done = self.judge(*cases, "--candidate", kernel, code=1)
        drawn = Page(text)
        self.assertIn("10 cases, 10 failed", drawn.text)
        replays = [line.split("replay: ")[1] for line in done.out.splitlines()
                   if "replay: " in line]
        self.assertEqual(len(replays), 10)
        for line in replays:
            self.assertIn(line, drawn.text)
        causes = [line.split("cause: ")[1] for line in done.out.splitlines()
                  if "cause: " in line]
        self.assertTrue(causes)
        for line in causes:
            self.assertIn(line, drawn.text)
        # One cause, one section, one set of pictures; the other cases are there in short.
        (section,) = drawn.tree.iter("section")
        self.assertIn("Likewise on 9 more cases", " ".join(section.itertext()))
        (table,) = drawn.tables("cases")
        self.assertEqual(len(table), 11)
        self.assertEqual(table[1][2:4], ["bits", "o"])

    def test_the_cause_comes_first_and_the_machine_last(self):
        cases = [f"attention_forward sq={n} skv=24 d=8 mask=causal" for n in (8, 9)]
        text, _ = self.judge(*cases, "--candidate", "mutant:attn.causal_plus_one",
                             "--candidate", "mutant:attn.scale_missing", code=1)
        drawn = Page(text)
        order = ["4 cases, 4 failed", "one key ahead of the query is visible", "Where",
                 "Found", "See it again", "Facts", "the scale left out",
                 "The run", "Cases", "What was asked, and of what machine"]
        at = 0
        for words in order:
            found = drawn.text.find(words, at)
            self.assertGreaterEqual(found, at, words)
            at = found
        (causes,) = drawn.tree.iter("ol")
        self.assertEqual([" ".join(one.itertext()).rsplit(", ", 1)[1].strip()
                          for one in causes], ["2 cases", "2 cases"])

    def test_an_error_of_no_numbers_is_not_drawn(self):
        text, _ = self.judge("block_plan sq=60 skv=60 bq=8 bk=8 mask=causal",
                             "--candidate", "mutant:plan.floor_division", code=1)
        drawn = Page(text)
        self.assertIn("Not drawn: the finding is not a numerical error.", drawn.text)
        self.assertEqual(drawn.pictures("errors"), [])

    def test_a_passing_run_is_short(self):
        text, _ = self.judge(program.SMALL)
        drawn = Page(text)
        self.assertIn("1 case, all passed", drawn.text)
        self.assertEqual(list(drawn.tree.iter("section")), [])

    def test_hostile_names_are_text(self):
        # No slash can be in a name; all else that markup is made of is there.
        name = "m<script>alert<_script>\"';--><style>"
        hostile = self.path(name)
        program.write_safetensors(
            hostile, {"dense_mask": ("U8", [1, 1, 8, 8], bytes([1] * 64))})
        case = f"attention_forward sq=8 skv=8 d=4 mask=causal&dense:{hostile}"
        text, _ = self.judge(case, "--candidate", "mutant:attn.drop_last_key", code=1)
        drawn = Page(text)
        self.assertIn(name, drawn.text)
        self.assertIn("causal&dense", drawn.text)
        self.assertEqual(len(list(drawn.tree.iter("style"))), 1)
        done = run("plan", case, "--html", "-")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(name, Page(done.out).text)
        # And in the name of a kernel, which is in its line and in the replay line.
        folder, tensors = self.export(program.SMALL, "<b>&'\"]]>")
        struct.pack_into("<f", tensors["o"][2], 0, 1e9)
        self.write_outputs(folder, tensors)
        text, _ = self.judge(program.SMALL, "--candidate", "files:" + folder,
                             "--profile", "exact-f32", code=1)
        self.assertIn("<b>&'\"]]>", Page(text).text)

    def test_a_page_without_a_part_is_found(self):
        """The judge of pages on trial by what it is there for."""
        whole = "<html><body><p>x</p></body></html>"
        self.assertEqual(page.faults(whole), [])
        for broken in ("<br>", "<script>x</script>", "<img alt='x'/>",
                       "<a href='http://example.org/'>x</a>", "<a href='#no'>x</a>",
                       "<style>p { background: url(x.png) }</style>",
                       "<style>@import 'x'</style>", "<p onclick='x'/>", "a & b",
                       "<svg xmlns='http://www.w3.org/2000/svg'/>",
                       "<p id='a'/><p id='a'/>"):
            self.assertTrue(page.faults(whole.replace("x</p>", "x</p>" + broken)),
                            broken)

    def test_files_that_cannot_be(self):
        for verb in (("verify", program.SMALL), ("plan", CASE),
                     ("selftest", "--budget", "1cases")):
            self.assertUsage(run(*verb, "--html", self.folder), "it is no file name")
            path = self.path("both")
            self.assertUsage(run(*verb, "--html", path, "--json", path),
                             "would replace")
            self.assertUsage(run(*verb, "--html", "-", "--json", "-"),
                             "--html", "can go to stdout")
            self.assertFalse(os.path.exists(path))
        cases = self.path("a.cases", program.SMALL + "\n")
        self.assertUsage(run("verify", "--cases", cases, "--html", cases),
                         "would replace")
        self.assertUsage(run("plan", "--cases", cases, "--html", cases),
                         "would replace")
        self.assertUsage(run("plan", CASE, CASE, "--html", "-"), "draws one case")

    def test_a_page_on_stdout_is_alone_there(self):
        done = run("verify", program.SMALL, "--html", "-")
        self.assertEqual(done.code, 0, done.err)
        Page(done.out)
        self.assertIn("1 case: 1 pass", done.err)

    def test_a_plan_as_a_page(self):
        mask = "mask=causal&window:20,0 q_seg=runs:40,24 kv_seg=runs:40,24"
        case = f"attention_forward sq=64 skv=64 d=8 {mask}"
        done = run("plan", case, "--tile", "8x8", "--html", "-")
        self.assertEqual(done.code, 0, done.err)
        drawn = Page(done.out)
        self.assertIn("6 full, 14 partial, 44 empty (31.25 % active)", drawn.text)
        self.assertIn("causal&window:20,0", drawn.text)
        zooms = [e for e in drawn.tree.iter("input") if e.get("name") == "zoom"]
        self.assertEqual(len(zooms), 5)
        # Each has its label and its rule: nothing but these makes the zoom.
        labels = {e.get("for") for e in drawn.tree.iter("label")}
        for zoom in zooms:
            self.assertIn(zoom.get("id"), labels)
            self.assertIn(f"#{zoom.get('id')}:checked ~ div svg", drawn.style)
        plan = json.loads(run("plan", case, "--tile", "8x8", "--json", "-").out)
        self.assertIn(plan["digest"], drawn.text)
        self.assertIn("++#+....", done.out)

    def test_the_selftest_as_a_page(self):
        path = self.path("self.json")
        done = run("selftest", "--op", "ssd_scan", "--budget", "200cases", "--html", "-",
                   "--json", path)
        self.assertEqual(done.code, 0, done.err)
        drawn = Page(done.out)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        (kills,) = drawn.tables("kills")
        head = kills[0]
        self.assertEqual([row[0] for row in kills[1:]],
                         [kill["mutant"] for kill in result["kills"]])
        for row, kill in zip(kills[1:], result["kills"]):
            found = {head[n] for n, cell in enumerate(row) if cell == "kill"}
            self.assertEqual(found, set(kill["tiers"]) | set(kill["rules"]))
        self.assertIn(f"0 of {result['zoo_cases']}", drawn.text)
        # Wilson's upper limit of none in n: z^2 / (n + z^2).
        limit = 1.96**2 / (result["zoo_cases"] + 1.96**2)
        self.assertIn(f"at most {limit:.2g}", drawn.text)


if __name__ == "__main__":
    unittest.main()
