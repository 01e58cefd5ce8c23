#!/usr/bin/env python3
"""The tables of FlexAttention and of splash attention, as the libraries make them,
before the judge of plans; and wrong ones. Runs in the Python of LOCKSTEP_PUBLIC_VENV,
where torch and JAX are; exits with 77, and says so, where that is not set."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")


def restart():
    """This script in the Python that has the libraries."""
    folder = os.environ.get("LOCKSTEP_PUBLIC_VENV")
    if not folder:
        print("skipped: LOCKSTEP_PUBLIC_VENV names no environment with torch and JAX")
        sys.exit(77)
    python = os.path.join(folder, "bin", "python")
    os.execve(python, [python, os.path.abspath(__file__), *sys.argv[1:]],
              {**os.environ, "LOCKSTEP_IN_PUBLIC_VENV": "1", "JAX_PLATFORMS": "cpu",
               "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"})


if not os.environ.get("LOCKSTEP_IN_PUBLIC_VENV"):
    restart()

os.environ["LOCKSTEP_PROGRAM"] = os.environ["LOCKSTEP"]
sys.path.insert(0, os.path.join(PACKAGE, "examples"))

import numpy as np  # noqa: E402
import jax_mask_info as splash  # noqa: E402
import jax_mask_info_ways as ways  # noqa: E402
import lockstep  # noqa: E402
import torch_block_mask as flex  # noqa: E402
try:
    import tokamax_flat_list as flat  # noqa: E402
except ModuleNotFoundError:
    flat = None  # an environment without tokamax

MASKS = ["full", "causal", "window:9,3", "window:inf,0", "causal&window:20,0", "chunked:16",
         "prefix:11", "causal&(window:8,0|sink:5)", "random:0.02", "random:0.9",
         "blocks:8x8:0.4", "causal&chunked:24|sink:2"]
HEADS = ["hq=1", "hq=3", "hq=2 mask.h1=causal&window:4,0", "hq=4 mask.h1=full mask.h2=sink:9"]
# Lengths and tiles: square, oblong, more keys, more queries, and what is cut off.
WHOLE = ["sq=64 skv=64 bq=8 bk=8", "sq=32 skv=96 bq=16 bk=8", "sq=96 skv=32 bq=8 bk=16",
         "sq=48 skv=48 bq=48 bk=16"]
RAGGED = ["sq=37 skv=61 bq=8 bk=8", "sq=64 skv=64 bq=8 bk=8 q_seg=runs:40,24 kv_seg=runs:30,34",
          "sq=50 skv=70 bq=16 bk=16 align=br valid_q=41 valid_kv=60"]


def lines(shapes, *rest, masks=MASKS, heads=HEADS):
    return [" ".join(["block_plan", shape, f"mask={mask}", head, *rest])
            for shape in shapes for mask in masks for head in heads]


class Judged(unittest.TestCase):
    def right(self, kernel, cases, at_least):
        """All cases pass but those that the library cannot say."""
        report = lockstep.verify(kernel, cases, isolate=False)
        wrong = {c.verdict for c in report.cases} - {"pass", "skipped"}
        self.assertFalse(wrong, str(report)[:4000])
        passed = sum(c.verdict == "pass" for c in report.cases)
        self.assertGreaterEqual(passed, at_least, str(report)[-2000:])

    def wrong(self, kernel, cases, words):
        report = lockstep.verify(kernel, cases, isolate=False)
        self.assertIn(report.exit, (1, 3), str(report)[-2000:])
        self.assertIn(words, str(report))
        return report


class TablesTest(Judged):
    def test_block_mask(self):
        cases = lines(WHOLE + RAGGED, "dialect=block_mask")
        self.right(flex.plan, cases, 300)
        self.right(flex.plan, lines(["sq=300 skv=500 bq=128 bk=128"], "dialect=block_mask"), 48)

    def test_block_mask_with_one_list(self):
        # Full tiles among partial ones are right: their mask is computed.
        self.right(flex.plan_without_full, lines(WHOLE, "dialect=block_mask"), 180)

    def test_mask_info(self):
        self.right(splash.plan, lines(WHOLE, "dialect=splash"), 190)

    def test_mask_info_in_shards_of_queries(self):
        # Shards without a tile, and masks without a partial one: below.
        masks = [m for m in MASKS if m not in ("full", "blocks:8x8:0.4")]
        cases = lines(WHOLE[:2], "dialect=splash q_shards=2", masks=masks)
        cases += lines(WHOLE[:1], "dialect=splash q_shards=4", masks=masks)
        self.right(splash.plan, cases, 120)

    def test_mask_info_of_the_whole_grid(self):
        self.right(ways.plan_whole, lines(WHOLE, "dialect=splash"), 190)

    def test_mask_info_in_shards_of_heads(self):
        self.right(ways.plan_head_shards, lines(WHOLE, "dialect=splash"), 190)

    def test_mask_info_of_dynamic_masks(self):
        self.right(ways.plan_dynamic, lines(WHOLE[:2], "dialect=splash"), 90)

    def test_mask_info_without_blocks(self):
        cases = lines(WHOLE, "dialect=splash blocks=no", heads=HEADS[:2],
                      masks=["full", "causal", "window:9,3", "window:inf,0", "chunked:16"])
        cases += lines(WHOLE, "dialect=splash blocks=no align=br", heads=HEADS[:2],
                       masks=["causal", "window:7,0"])
        self.right(splash.plan, cases, 50)

    @unittest.skipUnless(flat, "tokamax is not there")
    def test_flat_lists(self):
        # Of masks by which every tile of queries sees a key: the others are below.
        masks = [m for m in MASKS if m not in ("random:0.02", "blocks:8x8:0.4")]
        cases = lines(WHOLE[:2] + WHOLE[3:], "dialect=flat_list", masks=masks, heads=HEADS[:2])
        cases += lines(WHOLE[:2], "dialect=flat_list q_shards=2", masks=masks, heads=HEADS[:2])
        self.right(flat.plan, cases, 90)


class WrongTablesTest(Judged):
    CASE = "block_plan sq=64 skv=64 bq=8 bk=8 mask=causal&window:20,0 "

    def test_a_count_too_small(self):
        @lockstep.kernel(op="block_plan", framework="torch")
        def kernel(mask, *, call):
            tables = flex.plan(mask, call=call)
            tables["kv_num_blocks"][..., 3] -= 1
            return tables

        self.wrong(kernel, self.CASE + "dialect=block_mask", "(I3)")

    def test_an_index_swapped(self):
        @lockstep.kernel(op="block_plan", framework="torch")
        def kernel(mask, *, call):
            tables = flex.plan(mask, call=call)
            count = tables["kv_num_blocks"][0, 0, 3]
            row = tables["kv_indices"][0, 0, 3]
            row[count - 1], row[count] = row[count].clone(), row[count - 1].clone()
            return tables

        self.wrong(kernel, self.CASE + "dialect=block_mask", "(I3)")

    def test_both_directions_count(self):
        @lockstep.kernel(op="block_plan", framework="torch")
        def kernel(mask, *, call):
            tables = flex.plan(mask, call=call)
            tables["q_num_blocks"][..., 0] -= 1
            return tables

        self.wrong(kernel, self.CASE + "dialect=block_mask", "transposed")

    def test_the_head_beside(self):
        @lockstep.kernel(op="block_plan")
        def kernel(mask, *, call):
            return {name: table[::-1] if len(table) == call.hq else table
                    for name, table in splash.plan(mask, call=call).items()}

        self.wrong(kernel, self.CASE + "dialect=splash hq=2 mask.h1=causal", "(I")

    def test_mask_info_cropped(self):
        for name in ("", "_t"):
            @lockstep.kernel(op="block_plan")
            def kernel(mask, *, call):
                tables = splash.plan(mask, call=call)
                for table in ("data_next", "block_mask", "mask_next"):
                    cut = tables[table + name]
                    tables[table + name] = cut[:, 1:] if name else cut[:, :, :-1]
                return tables

            self.wrong(kernel, self.CASE + "dialect=splash", "(I3)")

    def test_blocks_not_turned(self):
        @lockstep.kernel(op="block_plan")
        def kernel(mask, *, call):
            tables = splash.plan(mask, call=call)
            return {**tables, "partial_mask_blocks_t": tables["partial_mask_blocks"]}

        self.wrong(kernel, self.CASE + "dialect=splash", "(I5)")

    def test_shards_count_from_their_own_start(self):
        @lockstep.kernel(op="block_plan")
        def kernel(mask, *, call):
            tables = splash.plan(mask, call=call)
            half = tables["data_next_t"].shape[1] // 2
            tables["data_next_t"] = tables["data_next_t"].copy()
            tables["data_next_t"][:, half:] += call.sq // call.bq // 2
            return tables

        self.wrong(kernel, self.CASE + "dialect=splash q_shards=2", "(I")


class DefectsOfTheLibrariesTest(Judged):
    """What the versions at hand get wrong; a version that does not fails here."""

    def test_adjust_compares_indices_with_counts(self):
        case = "block_plan sq=64 skv=64 bq=8 bk=8 dialect=block_mask mask="
        self.wrong(flex.plan_adjusted, case + "window:9,3", "(I6)")
        self.wrong(flex.plan_adjusted, case + "window:0,20", "IndexError")
        self.right(flex.plan_adjusted, case + "causal", 1)

    def test_shards_without_partial_tiles(self):
        self.wrong(splash.plan, "block_plan sq=64 skv=64 bq=8 bk=8 mask=full "
                   "dialect=splash q_shards=2", "concatenate")

    @unittest.skipUnless(flat, "tokamax is not there")
    def test_flat_lists_leave_out_tiles_of_queries(self):
        self.wrong(flat.plan, "block_plan sq=96 skv=32 bq=8 bk=16 mask=window:9,3 "
                   "dialect=flat_list", "(I9)")

    def test_a_shard_without_tiles(self):
        self.wrong(splash.plan, "block_plan sq=96 skv=32 bq=8 bk=16 mask=window:9,3 "
                   "dialect=splash q_shards=2", "AssertionError")


if __name__ == "__main__":
    unittest.main()
