#!/usr/bin/env python3
"""Where the time of a call goes, stage by stage: samples of `perf record` while `lockstep
bench` times a case, each put down to the function that it is in.

    python3 -B bench/profile_shares.py [--candidate SPEC] [--seconds N] CASE...

Of the kernel alone, in user mode, by cycles or, on a machine that counts none, by
processor time: what the judge, the peaks and the system take is left out."""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# What a function belongs to. What is inlined counts for the function it is in: tanh and
# exp2 are in those of the weights.
STAGES = {
    "scores": ("BlockScores", "DirectScores", "PairedScores", "EmulatedScores", "TileScores",
               "MatrixScores"),
    "weights": ("BlockWeights", "MatrixWeights", "RowScores", "RowWeights",
                "OnlineScoresT", "OnlineScores", "OnlineWeights", "NearWeights",
                "FixedScores", "ScaleDown", "PackWeightPairs", "NearWeightPairs",
                "RowGradients", "BlockGradients"),
    "values": ("BlockValues", "DirectValues", "EmulatedValues", "MatrixValues"),
    "products of the matrix unit": ("MultiplyTiles", "Multiply"),
    "packing": ("PackKeys", "PackFourRows", "PackValues", "PackValueRow",
                "PackWholePanels", "PackTile", "PackKeyTile", "PackKeyPairs", "PackFourKeyPairs", "PackValuePairs",
                "PackValuePairRow", "PackQueries", "PackQueryPairs", "PackQueryRows",
                "PackQueryLanes", "PackRows", "PackColumns", "PackPanels", "PackBackward",
                "SeenIn", "SeeQueries", "PrepareRows", "PrepareRowsT", "CopyRows",
                "ValueExponent"),
    "masks": ("FillBits", "StartMasks", "BlocksThatSee", "RowsThatSee"),
    "finish and store": ("FinishRow", "StoreRow", "StoreGradient", "StoreQueries",
                         "WriteToken", "WritePlain", "Gate", "Normalise"),
    "rows again": ("ExactRow", "ExactScores", "ExactValues", "ExactBlocks", "ExactChains",
                   "ForWeightsOfRow", "RedoOverflowed"),
    "gradients of scores, and what they add to": ("RunQueryTile",),
    "state": ("AdvanceTile", "AdvanceTiles", "AdvanceRanks", "AdvanceVectors",
              "AdvanceState", "AdvanceBlock"),
    "products of a chunk": ("ScoreRow", "MixToken"),
    "angles and rotation": ("AdvanceAngles", "SpreadTurns", "Rotate", "RotateRank"),
    "preparation": ("WeighTokens", "PrefetchInputs", "UpProject", "LoadChannels",
                    "PrepareToken", "LoadRow", "CopyVectors"),
}
STAGE_OF = {name: stage for stage, names in STAGES.items() for name in names}


def samples(program, case, candidate, seconds, folder):
    """Functions of the kernel, with how often each was seen."""
    data = os.path.join(folder, "perf.data")
    done = subprocess.run(
        ["perf", "record", "-q", "-e", "cycles:u", "-F", "1999", "-o", data, "--", program,
         "bench", case, "--candidate", candidate, "--budget", f"{seconds:g}s"],
        capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"profile_shares: perf record said {done.stderr.strip()}")
    text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], capture_output=True,
                          text=True, check=True).stdout
    return collections.Counter(
        plain(line.split(maxsplit=1)[1]) for line in text.splitlines()
        if "lockstep::optimized::" in line)


def plain(function):
    """N::Name<T>(X)::{lambda...} -> Name."""
    name = ""
    for letter in function.replace("(anonymous namespace)::", ""):
        if letter in "<(":
            break
        name += letter
    return name.split("::")[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--candidate", default="builtin:optimized,threads=1")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--program",
                        default=os.path.join(SOURCE, "build/release/bin/lockstep-bench"))
    arguments = parser.parse_args()
    for case in arguments.cases:
        with tempfile.TemporaryDirectory(prefix="lockstep-perf-") as folder:
            functions = samples(arguments.program, case, arguments.candidate,
                                arguments.seconds, folder)
        total = sum(functions.values())
        print(f"{case}\n  {total} samples")
        stages = collections.Counter()
        for name, count in functions.items():
            stages[STAGE_OF.get(name, "other")] += count
        for stage, count in stages.most_common():
            print(f"  {100 * count / total:5.1f} %  {stage}")
        others = collections.Counter({name: count for name, count in functions.items()
                                      if name not in STAGE_OF})
        for name, count in others.most_common(3):
            print(f"           of it {100 * count / total:.1f} % {name}")


if __name__ == "__main__":
    main()
