"""Judges the kernels of python/examples/gpu and writes docs/gpu-kernels.md. Started by
scripts/judge-gpu-kernels.sh."""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

from gpu_kernels_page import write_page

OUT = pathlib.Path("build/gpu")
PROGRAM = "build/release/bin/lockstep"
FOLDER = "python/examples/gpu"
ATTENTION = {lane: f"data/cases/foreign-attention-{lane}.cases" for lane in ("bf16", "f16", "f32")}
BACKWARD = {lane: f"data/cases/foreign-attention-backward-{lane}.cases"
            for lane in ("bf16", "f32")}
SCAN = "data/cases/foreign-scan.cases"
TIMED = "attention_forward sq=4096 skv=4096 d=128 lane=bf16 p=bf16 mask=causal seed={}"
# FILE:FUNCTION, its cases, and the module that it needs.
KERNELS = [
    ("triton_flash.py:right_bf16", ATTENTION["bf16"], "triton"),
    ("triton_flash.py:right_f16", ATTENTION["f16"], "triton"),
    ("triton_flash.py:right_f32", ATTENTION["f32"], "triton"),
    ("sdpa.py:flash", ATTENTION["bf16"], "torch"),
    ("sdpa.py:flash_f16", ATTENTION["f16"], "torch"),
    ("sdpa.py:efficient_bf16", ATTENTION["bf16"], "torch"),
    ("sdpa.py:efficient_f16", ATTENTION["f16"], "torch"),
    ("sdpa.py:efficient_f32", ATTENTION["f32"], "torch"),
    ("sdpa.py:cudnn_bf16", ATTENTION["bf16"], "torch"),
    ("sdpa.py:cudnn_f16", ATTENTION["f16"], "torch"),
    ("sdpa.py:math_bf16", ATTENTION["bf16"], "torch"),
    ("sdpa.py:math_f32", ATTENTION["f32"], "torch"),
    ("flex.py:bf16", ATTENTION["bf16"], "torch"),
    ("flex.py:f32", ATTENTION["f32"], "torch"),
    ("flex.py:backward_bf16", BACKWARD["bf16"], "torch"),
    ("backward.py:flash_det", BACKWARD["bf16"], "torch"),
    ("backward.py:efficient_faithful", BACKWARD["bf16"], "torch"),
    ("backward.py:efficient_f32", BACKWARD["f32"], "torch"),
    ("backward.py:cudnn_det", BACKWARD["bf16"], "torch"),
    ("jax_gpu.py:xla_bf16", ATTENTION["bf16"], "jax"),
    ("jax_gpu.py:xla_f32_highest", ATTENTION["f32"], "jax"),
    ("jax_gpu.py:cudnn_bf16", ATTENTION["bf16"], "jax"),
    ("jax_gpu.py:triton_bf16", ATTENTION["bf16"], "jax"),
    ("jax_gpu.py:mosaic_bf16", ATTENTION["bf16"], "jax"),
    ("mamba.py:siso_bf16", SCAN, "mamba"),
    ("mamba.py:siso_f32", SCAN, "mamba"),
    ("mamba.py:ssd_bf16", SCAN, "mamba"),
]
# A bug of triton_flash.py, and a case that it shows on.
PLANTED = {
    "causal_plus_one": "hq=4 hkv=2 sq=128 skv=128 d=64 mask=causal",
    "window_plus_one": "hq=4 hkv=2 sq=128 skv=128 d=64 mask=causal&window:31,0",
    "head_modulo": "hq=4 hkv=2 sq=128 skv=128 d=64 mask=causal",
    "mask_before_cap": "hq=4 hkv=2 sq=128 skv=128 d=64 cap=20 mask=causal",
    "not_rescaled": "hq=4 hkv=2 sq=128 skv=128 d=64 scale=1 mask=full",
    "lse_in_base_2": "hq=4 hkv=2 sq=128 skv=128 d=64 mask=causal",
    "tail_dropped": "hq=4 hkv=2 sq=128 skv=150 d=64 mask=full",
}
# Under the interpreter: a smaller share.
INTERPRETED = [f"triton_flash.py:right_{lane}" for lane in ATTENTION]


def judged(words, name):
    """The events of a run of the program."""
    events = OUT / f"{name}.ndjson"
    with open(OUT / f"{name}.log", "w", encoding="utf-8") as log:
        code = subprocess.run([PROGRAM, *words, "--json", events], stdout=log,
                              stderr=subprocess.STDOUT, check=False).returncode
    if code not in (0, 1, 3, 4, 5, 77, 130):
        said = (OUT / f"{name}.log").read_text(encoding="utf-8").strip().splitlines()
        return None, said[-1] if said else f"exit {code}"
    return [json.loads(line) for line in events.read_text().splitlines()], ""


def candidate(function):
    return ["--candidate", f"py:{FOLDER}/{function}", "--profile", "from-candidate"]


def name_of(function):
    return function.replace(".py:", "-")


def judge(function, cases, budget):
    start = time.time()
    events, why = judged(["verify", "--cases", cases, *candidate(function), "--budget",
                          f"{budget}s", "--explain-budget", "0"], name_of(function))
    row = {"kernel": function, "seconds": time.time() - start, "not_run": why}
    if events is None:
        return row
    found = next(e for e in events if e["kind"] == "summary")
    wrong = [{"case": e["case"], "message": e["message"], "replay": e["replay"]}
             for e in events if e["kind"] == "finding" and e["verdict"] in ("fail", "error")]
    return {**row, "counts": {k: found.get(k, 0) for k in ("pass", "fail", "suspicious",
                                                           "untrusted", "skipped", "error")},
            "wrong": wrong[:5]}


def planted(bug, case):
    events, why = judged(["verify", f"attention_forward {case} lane=bf16 p=bf16", "--draws", "0",
                          *candidate(f"triton_flash.py:{bug}_bf16")], f"planted-{bug}")
    if events is None:
        return {"bug": bug, "case": case, "verdict": "not run", "named": why}
    found = [e for e in events if e["kind"] == "finding"]
    named = next((e["attribution"][0]["sentence"] for e in found if e.get("attribution")), "")
    return {"bug": bug, "case": case, "verdict": found[0]["verdict"] if found else "pass",
            "named": named}


def timed(function):
    """Seconds of the judge for one case of 4096 tokens, once the kernel is compiled, and
    cases that fuzz computes in a second."""
    lines = [TIMED.format(n) for n in range(4)]
    events, why = judged(["verify", *lines, "--draws", "0", *candidate(function)],
                         f"timed-{name_of(function)}")
    cases = [e["seconds"] for e in events or [] if e["kind"] == "case"]
    drawn, _ = judged(["fuzz", "attention_forward", "--budget", "10s", *candidate(function)],
                      f"drawn-{name_of(function)}")
    ended = next((e for e in drawn or [] if e["kind"] == "summary"), {})
    computed = ended.get("cases", 0) - ended.get("skipped", 0)
    return {"kernel": function, "not_run": why, "warm": min(cases[1:], default=None),
            "drawn_per_second": computed / 10}


def device():
    if importlib.util.find_spec("torch"):
        import torch
        if torch.cuda.is_available():
            return torch.cuda.get_device_name()
    return ""


def versions():
    import importlib.metadata
    found = {}
    for library in ("torch", "triton", "jax", "numpy"):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def missing(need):
    if need == "mamba":
        return "" if os.environ.get("TORCH_MAMBA") else "TORCH_MAMBA names no sources"
    return "" if importlib.util.find_spec(need) else f"{need} is not installed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--interpreted", action="store_true")
    parser.add_argument("--budget", type=int, default=12)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if given.page:
        return write_page(json.loads((OUT / "results.json").read_text()))
    gpu = device()
    if not gpu and not given.interpreted:
        print("judge_gpu_kernels: not run: torch sees no GPU here; --interpreted judges the Triton "
              "kernel on the CPU")
        return 77
    if not gpu:
        os.environ["TRITON_INTERPRET"] = "1"
    rows = []
    for function, cases, need in KERNELS:
        why = missing(need)
        if not gpu and function not in INTERPRETED:
            why = "no GPU"
        rows.append({"kernel": function, "not_run": why} if why
                    else judge(function, cases, given.budget))
        print(rows[-1]["kernel"], rows[-1].get("counts", rows[-1]["not_run"]), flush=True)
    bugs = [planted(bug, case) for bug, case in PLANTED.items()]
    for bug in bugs:
        print(bug["bug"], bug["verdict"], bug["named"], flush=True)
    times = [timed(KERNELS[0][0]), timed("sdpa.py:flash")] if gpu else []
    results = {"device": gpu, "versions": versions(), "kernels": rows, "planted": bugs,
               "times": times}
    (OUT / "results.json").write_text(json.dumps(results, indent=1))
    write_page(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
