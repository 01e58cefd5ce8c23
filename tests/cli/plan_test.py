"""`lockstep plan`: numbers, map, picture, refusals."""

import collections
import json
import os
import unittest
import xml.etree.ElementTree

import program
from program import run

CASE = ("attention_forward sq=64 skv=64 d=128 mask=causal&window:20,0 "
        "q_seg=runs:40,24 kv_seg=runs:40,24")


def numbers(*arguments):
    done = run("plan", *arguments, "--json", "-")
    assert done.code == 0, done.err
    return json.loads(done.out)


class Plan(program.TestCase):

    def test_numbers(self):
        plan = numbers(CASE, "--tile", "8x8")
        self.assertEqual(plan["tiles"], 64)
        self.assertEqual(plan["active"], plan["full"] + plan["partial"])
        # Rows of 8 x 8 tiles: 1 2 3 4 4 and, from the border, 1 2 3.
        self.assertEqual(plan["active"], 20)
        self.assertEqual(plan["density"], 20 / 64)
        self.assertEqual((plan["grid_width"], plan["grid_width_t"]), (4, 4))
        self.assertEqual((plan["steps"], plan["steps_t"]), (32, 32))
        self.assertEqual(plan["coo_bytes"], 8 * 20)
        self.assertGreater(plan["metadata_bytes"], 0)
        self.assertGreater(plan["planning_ms"], 0)
        self.assertEqual(plan["blocks"], 0)
        stored = numbers(CASE, "--tile", "8x8", "--blocks")
        # The diagonal, and the window's edge: 20 keys back lie 2 or 3 tiles
        # of 8 behind.
        self.assertEqual(stored["blocks"], 3)
        self.assertGreater(stored["metadata_bytes"],
                           plan["metadata_bytes"] + 3 * 64 - 1)

    def test_stages(self):
        """Each stage counts what the one before it left, query by query and tile by tile."""
        ids = [0] * 40 + [1] * 24
        for queries, keys in ((64, 64), (50, 45)):
            plan = numbers(f"{CASE} valid_q={queries} valid_kv={keys}", "--tile", "8x8")
            pairs = [(i, j) for i in range(queries) for j in range(keys)
                     if 0 <= i - j <= 20 and ids[i] == ids[j]]
            tiles = collections.Counter((i // 8, j // 8) for i, j in pairs)
            full = sum(count == 64 for count in tiles.values())
            self.assertEqual(
                [plan[name] for name in ("segments_q", "segments_k", "queries", "pairs", "full",
                                         "partial", "empty", "active")],
                [2, 2, len({i for i, _ in pairs}), len(pairs), full, len(tiles) - full,
                 64 - len(tiles), len(tiles)])
        two = numbers("attention_forward hq=4 hkv=2 sq=16 skv=32 d=8 mask.h0=causal mask.h1=full "
                      "mask.h2=causal mask.h3=causal b=2", "--tile", "8x8")
        self.assertEqual((two["patterns"], two["queries"], two["steps"], two["steps_t"]),
                         (4, 64, 4 * 2 * 4, 4 * 4 * 2))
        self.assertEqual(two["pairs"], 2 * (16 * 17 // 2 + 16 * 32))
        done = run("plan", CASE, "--tile", "8x8")
        for stage in ("segments  2 of queries, 2 of keys\n",
                      f"selection {numbers(CASE)['pairs']} of 4096 pairs, by 64 of 64 queries\n",
                      "classes   6 full, 14 partial, 44 empty (31.25 % active)\n",
                      "worklists 20 entries in 32 steps forward (4 wide), "
                      "in 32 transposed (4 wide)\n"):
            self.assertIn(stage, done.out)

    def test_coordinates_of_long_contexts(self):
        # Two 32-bit integers a tile of 256 x 256, 10 % of the tiles active.
        for length, size in ((32768, 13107), (65536, 52429), (131072, 209715)):
            case = (f"attention_forward sq={length} skv={length} d=1 "
                    "mask=causal&window:4096,0")
            plan = numbers(case, "--tile", "256x256")
            self.assertEqual(plan["coo_bytes_at_tenth"], size)
            self.assertEqual(plan["coo_bytes"], 8 * plan["active"])
            self.assertEqual(plan["tiles"], (length // 256) ** 2)

    def test_key_and_digest(self):
        plan = numbers(CASE, "--tile", "8x8")
        again = numbers(CASE, "--tile", "8x8")
        self.assertEqual(plan["digest"], again["digest"])
        self.assertEqual(plan["key"], again["key"])
        moved = numbers(CASE.replace("40,24", "24,40"), "--tile", "8x8",
                        "--width", "4")
        self.assertEqual(plan["key"], moved["key"])  # ids are payload
        self.assertNotEqual(plan["digest"], moved["digest"])
        for other in (numbers(CASE.replace("20,0", "19,0"), "--tile", "8x8"),
                      numbers(CASE + " cap=30", "--tile", "8x8"),
                      numbers(CASE, "--tile", "8x16"),
                      numbers(CASE, "--tile", "8x8", "--width", "5"),
                      numbers(CASE, "--tile", "8x8", "--width-t", "5"),
                      numbers(CASE + " valid_kv=60", "--tile", "8x8")):
            self.assertNotEqual(plan["key"], other["key"])
        self.assertEqual(
            plan["key"],
            numbers(CASE.replace("20,0", "20,7"), "--tile", "8x8")["key"])

    def test_map(self):
        done = run("plan", CASE, "--tile", "8x8")
        self.assertEqual(done.code, 0, done.err)
        rows = [line for line in done.out.splitlines()
                if line and not line.strip("#+. <^")]
        self.assertEqual(rows, ["+.......", "#+......", "+#+.....", "++#+....",
                                ".++#+...", ".....+.. <", ".....#+.",
                                ".....+#+", "     ^"])
        self.assertIn("keys 0..64, 8 a character; queries 0..64, 8 a line", done.out)
        large = run("plan", "attention_forward sq=4096 skv=8192 d=1 "
                    "mask=causal", "--tile", "16x16")
        rows = [line for line in large.out.splitlines()
                if line and not line.strip("#+.")]
        self.assertEqual({len(row) for row in rows}, {64})
        self.assertEqual(len(rows), 32)
        self.assertEqual(rows[31].rstrip("."), "#" * 31 + "+")

    def test_picture(self):
        path = self.path("plan.svg", "")
        self.assertEqual(run("plan", CASE, "--tile", "8x8", "--svg",
                             path).code, 0)
        tree = xml.etree.ElementTree.parse(path)
        svg = "{http://www.w3.org/2000/svg}"
        groups = {e.get("class"): e for e in tree.iter(svg + "g")}
        self.assertEqual(len(groups["segments"]), 2)  # a border on each axis
        self.assertGreaterEqual(len(groups["tiles"]), 13)
        # In pixels: whatever the length, a border is one wide.
        self.assertFalse(any(e.get("transform") for e in groups.values()))
        self.assertEqual(groups["segments"].get("stroke-width"), "1")
        text = [e.text for e in tree.iter(svg + "text")]
        for tick in ("0", "8", "32", "64"):
            self.assertEqual(text.count(tick), 2, text)  # keys and queries
        self.assertTrue(any("mask=causal&window:20,0" in t for t in text))
        self.assertTrue(any(t.startswith("row 0, head 0: 8 x 8 tiles of 8 x 8, 20 "
                                         "active (density 31.25 %)") for t in text))

    def test_picture_of_a_long_case(self):
        path = self.path("long.svg", "")
        case = ("attention_forward sq=131072 skv=131072 d=1 mask=causal&window:4096,0 "
                "q_seg=runs:100000,31072 kv_seg=runs:100000,31072")
        self.assertEqual(run("plan", case, "--svg", path).code, 0)
        svg = "{http://www.w3.org/2000/svg}"
        for line in xml.etree.ElementTree.parse(path).iter(svg + "line"):
            for end in ("x1", "x2", "y1", "y2"):
                self.assertLess(float(line.get(end)), 1000)

    def test_picture_of_a_name_that_is_no_text(self):
        name = os.fsencode(self.path("m")) + b"\xff<.safetensors"
        program.write_safetensors(name, {"dense_mask": ("U8", [1, 1, 8, 8], bytes(64))})
        path = self.path("odd.svg", "")
        case = b"attention_forward sq=8 skv=8 d=1 mask=dense:" + name
        done = run("plan", case, "--svg", path, "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        xml.etree.ElementTree.parse(path)

    def test_tables_asked_for_by_a_case(self):
        """block_plan has the keys that are options elsewhere."""
        mask = "mask=causal&window:20,0 q_seg=runs:40,24 kv_seg=runs:40,24"
        case = f"block_plan sq=64 skv=64 bq=8 bk=8 {mask}"
        like = f"attention_forward sq=64 skv=64 d=1 scale=1 {mask}"
        for keys, options in (
                ("", ("--blocks",)), ("blocks=no", ()),
                ("padded=yes width=5 width_t=8",
                 ("--blocks", "--padded", "--width", "5", "--width-t", "8"))):
            plan = numbers(f"{case} {keys}")
            same = numbers(like, "--tile", "8x8", *options)
            for name in set(plan) - {"case", "planning_ms"}:
                self.assertEqual(plan[name], same[name], name)
        self.assertEqual(numbers(case.replace("bq=8", "bq=16"))["tiles"], 32)
        # Without its segments the planner sees one long band.
        self.assertGreater(numbers(case + " segments=no")["active"], 20)
        done = run("plan", case)
        self.assertIn("classes   6 full, 14 partial with 3 different masks, 44 empty "
                      "(31.25 % active)\n", done.out)
        self.assertIn("++#+....", done.out.splitlines())
        path = self.path("tables.svg", "")
        self.assertEqual(run("plan", case, "--svg", path).code, 0)
        tree = xml.etree.ElementTree.parse(path)
        self.assertGreaterEqual(sum(1 for e in tree.iter()
                                    if e.tag.endswith("rect")), 13)
        for option in (("--tile", "8x8"), ("--blocks",), ("--padded",),
                       ("--width", "5"), ("--width-t", "5")):
            self.assertUsage(run("plan", case, *option), option[0])
        self.assertUsage(run("plan", case + " width=3"), "too small")
        self.assertUsage(run("plan", "mamba3_step t=1 n=1 p=1"), "block_plan")

    def test_refusals(self):
        self.assertUsage(run("plan"))
        self.assertUsage(run("plan", CASE, "--tile", "8"))
        self.assertUsage(run("plan", CASE, "--tile", "8x"))
        self.assertUsage(run("plan", CASE, "--tile", "0x8"))
        self.assertUsage(run("plan", CASE, "--tile", "8x8", "--width", "3"))
        self.assertUsage(run("plan", CASE, "--tile", "8x8", "--width", "9"))
        self.assertUsage(run("plan", CASE, "--row", "1"))
        self.assertUsage(run("plan", CASE, "--head", "1"))
        self.assertUsage(run("plan", CASE.replace("d=128", "d=0")))


if __name__ == "__main__":
    unittest.main()
