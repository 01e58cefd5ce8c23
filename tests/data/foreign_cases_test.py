#!/usr/bin/env python3
"""data/cases/foreign-attention-*.cases: real kernels take every line, correct variants
of common arithmetic pass and are trusted on every line, and wrong ones fail. Our own
kernel is tried by tests/record/.

usage: foreign_cases_test.py LOCKSTEP FILE fit|variants|mutants
FILE is f32, bf16, f16, backward-f32 or backward-bf16.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

VARIANTS = {"f32": [("variant:cpu", "cpu-f32")],
            "bf16": [("variant:flash", "flash-bf16")],
            "f16": [("variant:flash-f16", "flash-f16")],
            "backward-f32": [("variant:grad-cpu", "cpu-f32")],
            "backward-bf16": [("variant:grad-flash", "flash-bf16")]}
# What ignores strides, by the file.
STRIDED = {"f32": "cpu", "bf16": "flash", "f16": "flash-f16", "backward-f32": "flash",
           "backward-bf16": "flash"}
# Defects of public kernels, in tiles of real size: candidate and the share of
# the lines that it has to fail on.
MUTANTS = {
    "f32": [("attn.tail_tile_unmasked,base=cpu-tile128", 0.4),
            ("attn.mask_before_cap,base=cpu-tile128", 0.05),
            ("attn.max_init_zero,base=cpu-tile128", 0.02)],
    "bf16": [("attn.tail_tile_unmasked,base=flash-descending", 0.4),
             ("attn.mask_before_cap,base=flash-descending", 0.05)],
    "f16": [("attn.tail_tile_unmasked,base=flash-f16-descending", 0.4),
            ("attn.mask_before_cap,base=flash-f16-descending", 0.05),
            ("attn.f16_through_bf16", 0.5)],
    "backward-f32": [("grad.scale_missing_dk", 0.9),
                     ("grad.last_head_only", 0.4),
                     ("grad.last_keys_dropped,tile=64x64", 0.4),
                     ("grad.slope_missing", 0.1)],
    "backward-bf16": [("grad.scale_missing_dk,base=grad-flash", 0.9),
                      ("grad.last_head_only,base=grad-flash", 0.4),
                      ("grad.slope_missing,base=grad-flash", 0.1)],
}


def cases(lane):
    return f"data/cases/foreign-attention-{lane}.cases"


def lines(lane):
    text = (ROOT / cases(lane)).read_text().splitlines()
    return [line for line in text if line and not line.startswith("#")]


def unfit(line):
    """Why a real kernel would refuse the line; empty if it would not."""
    keys = dict(word.split("=", 1) for word in line.split()[1:])
    if line.startswith("attention_backward"):
        widths = [int(keys[key]) for key in ("d", "dv") if key in keys]
        wrong = any(n % 16 or n > 256 for n in widths) or "expect" in keys
        return "head dimensions are multiples of 16 up to 256" if wrong else ""
    if int(keys["d"]) % 16 or int(keys.get("dv", 0)) % 16:
        return "head dimensions are multiples of 16, of v as of q"
    if int(keys.get("hq", 1)) // int(keys.get("hkv", 1)) not in (1, 2, 4, 8):
        return "groups are of 1, 2, 4 or 8 heads"
    if "expect" in keys:
        return "no refusals"
    return ""


def strided(line):
    """Whether tensors of the line are not dense [b, h, s, d]."""
    return " layout=" in line or " strides=" in line


def ignored(lockstep, lane):
    """A kernel that ignores strides fails wherever there are some, and only there."""
    code, verdicts, text = verify(
        lockstep, cases(lane), "--no-probes", "--no-invariance", "--candidate",
        "mutant:attn.strides_ignored,base=" + STRIDED[lane])
    wrong = [line for line, verdict in zip(lines(lane), verdicts)
             if (verdict == "fail") != strided(line)]
    asked = sum(map(strided, lines(lane)))
    return [] if code == 1 and asked >= 15 and not wrong else [text, *wrong]


def verify(lockstep, path, *options):
    """Exit code, verdict per case, what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out.json"
        done = subprocess.run(
            [lockstep, "verify", "--cases", path, "--json", out, *options],
            capture_output=True, text=True, cwd=ROOT, check=False)
        events = [json.loads(line) for line in open(out, encoding="utf8")]
    verdicts = [e["verdict"] for e in events if e["kind"] == "case"]
    return done.returncode, verdicts, done.stdout + done.stderr


def fit(lane):
    assert unfit("attention_forward sq=1 skv=1 d=17"), "planted line not seen"
    assert unfit("attention_forward hq=3 hkv=1 sq=1 skv=1 d=16")
    wrong = [f"{line}: {unfit(line)}" for line in lines(lane) if unfit(line)]
    if len(lines(lane)) < 120:
        wrong.append(f"{len(lines(lane))} lines, want 120")
    return wrong


def passes(lockstep, lane, *options):
    code, verdicts, text = verify(lockstep, cases(lane), *options)
    good = code == 0 and set(verdicts) == {"pass"}
    return [] if good and len(verdicts) == len(lines(lane)) else [text]


def main():
    lockstep, lane, part = sys.argv[1:]
    faults = []
    if part == "fit":
        faults = fit(lane)
    elif part == "variants":
        for candidate, profile in VARIANTS[lane]:
            faults += passes(lockstep, lane, "--candidate", candidate,
                             "--profile", profile)
    else:
        faults += ignored(lockstep, lane)
        for mutant, share in MUTANTS[lane]:
            code, verdicts, text = verify(
                lockstep, cases(lane), "--no-probes", "--no-invariance",
                "--candidate", f"mutant:{mutant}")
            failed = verdicts.count("fail")
            print(f"{mutant}: {failed} of {len(verdicts)} lines fail")
            if code != 1 or failed < share * len(verdicts):
                faults.append(f"{mutant}: exit {code}\n{text[-2000:]}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
