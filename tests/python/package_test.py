"""The package as pip installed it: cases, operators, the program, types."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import lockstep

SOURCE = pathlib.Path(os.environ["LOCKSTEP_SOURCE"])
ATTENTION = [
    "attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 cap=50 mask=causal",
    "attention_forward b=2 hq=4 hkv=2 sq=7 skv=9 d=16 dv=8 lane=bf16 p=bf16 mask=window:3,1 "
    "align=br valid_q=7,5 valid_kv=9,6",
    "attention_forward hq=2 sq=6 skv=8 d=8 mask=causal&window:4,0|sink:1 q_seg=runs:2,4 "
    "kv_seg=runs:3,5 sinklogit=normal:1",
    "attention_forward hq=2 sq=6 skv=8 d=8 mask=full mask.h1=causal&random:0.5",
    "attention_forward hq=2 sq=7 skv=9 d=16 dv=8 lane=f16 p=f16 mask=window:3,1 align=br",
]
SCANS = [
    "mamba3_scan t=19 h=4 g=2 n=16 p=8",
    "mamba3_scan b=2 t=9 h=2 n=8 p=4 lane=bf16 rot=bf16 gate=yes carry=yes seg=runs:4,5",
    "mamba3_scan t=9 h=2 n=8 p=4 s=0 bias=no skip=no norm=1e-5 cu=0,4,4,9",
    "mamba3_scan t=9 h=2 n=8 p=4 r=4 variant=mimo gate=yes reduce=yes",
    "mamba3_scan t=9 h=2 n=8 p=4 lane=f16 rot=f16 gate=yes carry=yes seg=runs:4,5",
]

SSD = [
    "ssd_scan t=65 h=6 g=2 n=16 p=17",
    "ssd_scan b=2 t=9 h=2 n=8 p=16 lane=bf16 gate=yes carry=yes seg=runs:5,4",
    "ssd_scan t=9 h=6 g=2 n=16 p=17 skip=no carry=yes cu=0,0,4,4,9,9",
    "ssd_scan t=9 h=2 n=8 p=16 lane=f16 gate=yes carry=yes seg=runs:5,4",
]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8).tobytes()


def attend(case, **more):
    """The operator on the case's own tensors."""
    call = case.call(wants=["mask.dense"])
    words = {"dense_mask": call.mask_dense, "scale": call.scale, "softcap": call.softcap,
             "sink": call.inputs.get("sink"), "p": call.p}
    return lockstep.attention_forward(call.q, call.k, call.v, **{**words, **more})


def scan(case):
    call = case.call()
    names = ("a dt tau vartheta bq bk d z psi zeta phi norm_weight segments "
             "cu_seqlens").split()
    words = {name: call.inputs[name] for name in names if name in call.inputs}
    carry = [call.inputs.get("init_" + n) for n in ("theta", "h", "k", "v")]
    return lockstep.mamba3_scan(
        call.q, call.k, call.v, **words, carry=carry if call.carry_in else None,
        variant=call.variant, reduce=call.reduce, norm_epsilon=call.norm_epsilon,
        rotated=call.rotated)


def test_version():
    assert importlib.metadata.version("lockstep-verify") == lockstep.__version__
    assert (SOURCE / "CMakeLists.txt").read_text().count(f"VERSION {lockstep.__version__}") == 1


@pytest.mark.parametrize("line", ATTENTION)
def test_attention_has_the_exact_bits(line):
    case = lockstep.Case(line)
    expected = case.expected()
    o, lse = attend(case)
    assert bits(o) == bits(expected["o"])
    assert bits(lse) == bits(expected["lse"])
    assert o.dtype == case.inputs()["q"].dtype


def test_masks_as_text_are_the_dense_ones():
    call = lockstep.Case(ATTENTION[0]).call()
    text = lockstep.attention_forward(call.q, call.k, call.v, softcap=50, mask="causal")
    assert bits(text[0]) == bits(attend(lockstep.Case(ATTENTION[0]))[0])
    none = lockstep.attention_forward(call.q, call.k, call.v, softcap=50)
    assert bits(text[0]) != bits(none[0])


def test_keys_in_parts_are_the_cases():
    case = lockstep.Case("attention_forward hq=2 sq=3 skv=70 d=8 split=3")
    expected = case.expected()
    parts = attend(case, split=3)
    assert [bits(x) for x in parts] == [bits(expected[name]) for name in ("o", "lse")]
    assert bits(attend(case)[0]) != bits(parts[0])


@pytest.mark.parametrize("line", SCANS)
def test_scans_have_the_exact_bits(line):
    case = lockstep.Case(line)
    expected = case.expected()
    y, carry = scan(case)
    assert bits(y) == bits(expected["y"])
    for name, array in zip(("theta", "h", "k", "v"), carry):
        if "carry_" + name in expected:
            assert bits(array) == bits(expected["carry_" + name]), name


@pytest.mark.parametrize("line", SSD)
def test_scans_of_mamba2_have_the_exact_bits(line):
    case = lockstep.Case(line)
    call, expected = case.call(), case.expected()
    words = {name: call.inputs[name] for name in ("d", "z", "segments", "cu_seqlens")
             if name in call.inputs}
    y, state = lockstep.ssd_scan(call.q, call.k, call.v, a=call.a, dt=call.dt,
                                 carry=call.inputs.get("init_h"), **words)
    assert bits(y) == bits(expected["y"])
    assert bits(state) == bits(expected["carry_h"])


def test_scans_of_mamba2_refuse_what_has_no_meaning():
    call = lockstep.Case(SSD[0]).call()
    with pytest.raises(lockstep.UsageError, match="k"):
        lockstep.ssd_scan(call.q, call.k[..., :-1], call.v, a=call.a, dt=call.dt)


@pytest.mark.parametrize("line", [
    "attention_merge s=5 h=3 n=7 dv=9 empty=0.3 blank=0.2 fill=normal:1+poison:masked",
    "attention_merge s=3 n=4 dv=20 base=2 lane=bf16 out=f32 letters=-inf,3,700",
    "attention_merge s=64 h=2 n=3 dv=8 nan=0.01 layout=nshd"])
def test_merges_have_the_exact_bits(line):
    case = lockstep.Case(line)
    call, expected = case.call(), case.expected()
    o, lse = lockstep.attention_merge(call.o_parts, call.lse_parts, base=call.base, out=call.out)
    assert bits(o) == bits(expected["o"])
    assert bits(lse) == bits(expected["lse"])


def test_merges_refuse_what_has_no_meaning():
    call = lockstep.Case("attention_merge s=2 n=3 dv=4").call()
    with pytest.raises(lockstep.UsageError, match="lse_parts has shape"):
        lockstep.attention_merge(call.o_parts, call.lse_parts[:1])
    with pytest.raises(lockstep.UsageError, match="base"):
        lockstep.attention_merge(call.o_parts, call.lse_parts, base="10")


def test_steps_are_one_scan():
    call = lockstep.Case("mamba3_scan t=5 h=2 n=8 p=4").call()
    y, carry = lockstep.mamba3_scan(call.q, call.k, call.v, a=call.a, dt=call.dt, tau=call.tau,
                                    vartheta=call.vartheta, bq=call.bq, bk=call.bk,
                                    d=call.inputs["d"])
    state = tuple(np.zeros_like(x) for x in carry)
    for t in range(5):
        one, at = slice(t, t + 1), (slice(None), slice(None), slice(t, t + 1))
        step, state = lockstep.mamba3_step(
            call.q[:, one], call.k[:, one], call.v[:, one], a=call.a[at], dt=call.dt[at],
            tau=call.tau[at], vartheta=call.vartheta[:, one], bq=call.bq, bk=call.bk,
            d=call.inputs["d"], carry=state)
        assert bits(step) == bits(y[:, one])
    assert [bits(x) for x in state] == [bits(x) for x in carry]


def test_views_of_other_strides():
    call = lockstep.Case(ATTENTION[0]).call()
    turned = [np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
              for x in (call.q, call.k, call.v)]
    assert not turned[0].flags.c_contiguous
    same = lockstep.attention_forward(*turned, softcap=50, mask="causal")
    assert bits(same[0]) == bits(attend(lockstep.Case(ATTENTION[0]))[0])


def test_anything_with_dlpack():
    class Foreign:
        def __init__(self, array):
            self.array, self.shape = array, array.shape

        def __dlpack__(self, **words):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    call = lockstep.Case("attention_forward sq=3 skv=4 d=8").call()
    arrays = [np.array(x) for x in (call.q, call.k, call.v)]
    assert bits(lockstep.attention_forward(*map(Foreign, arrays))[0]) == bits(
        lockstep.attention_forward(*arrays)[0])


def test_other_threads_run_meanwhile():
    q = np.ones((1, 4, 768, 64), np.float32)
    running, ticks = threading.Event(), [0]

    def tick():
        while not running.is_set():
            ticks[0] += 1
            time.sleep(0)

    # Nobody else gets the interpreter's lock but from who gives it away.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=tick)
    thread.start()
    during = 0
    while during == 0:  # again, where the machine had no time for the other thread
        before = ticks[0]
        lockstep.attention_forward(q, q, q, threads=1)
        during = ticks[0] - before
    running.set()
    thread.join()
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("call, words", [
    (lambda q: lockstep.attention_forward(q[0], q, q), "q has 3 axes, want 4"),
    (lambda q: lockstep.attention_forward(q.astype("f8"), q, q), "float64"),
    (lambda q: lockstep.attention_forward(q, q.astype(ml_dtypes.bfloat16), q),
     "k has bf16 elements, want f32"),
    (lambda q: lockstep.attention_forward(q.astype("f2"), q, q), "k has f32 elements, want f16"),
    (lambda q: lockstep.attention_forward(q, q[:, :, :, :3], q), "k"),
    (lambda q: lockstep.attention_forward(q, q, q, mask="casual"), "causal"),
    (lambda q: lockstep.attention_forward(q, q, q, softcap=-1), "cap"),
    (lambda q: lockstep.attention_forward(q, q, q, split=0), "split=0 is out of range"),
    (lambda q: lockstep.attention_forward(q, q, q, q_segments=np.zeros((1, 4), "i4")),
     "kv_seg"),
    (lambda q: lockstep.Case("attention_forward sq=3"), "skv"),
    (lambda q: lockstep.cases("gone.cases"), "gone.cases"),
    (lambda q: lockstep.block_plan("causal", sq=0, skv=4), "sq"),
    (lambda q: lockstep.block_plan("causal", sq=2, skv=2, q_seg="runs:2", pad=0), "as an array"),
    (lambda q: lockstep.block_plan("causal", sq=2, skv=2, q_seg=[0, 0, 0]), "q_seg"),
    (lambda q: lockstep.block_plan("causal", sq=2, skv=2).to_block_mask(), "block_mask"),
    (lambda q: lockstep.block_plan("causal", sq=2, skv=2).to_mask_info(), "splash"),
    (lambda q: lockstep.block_plan("causal", sq=8, skv=8, bq=8, bk=8, dialect="splash",
                                   blocks="no").to_mask_info(), "has its blocks"),
])
def test_refusals_are_one_line(call, words):
    with pytest.raises(lockstep.UsageError) as caught:
        call(np.zeros((1, 1, 4, 8), np.float32))
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_case():
    case = lockstep.Case(ATTENTION[1])
    inputs = case.inputs()
    assert inputs["q"].dtype == ml_dtypes.bfloat16 and inputs["q"].shape == (2, 4, 7, 16)
    with pytest.raises(ValueError):
        inputs["q"][...] = 0
    mask = case.mask()
    assert mask.dtype == bool and mask.shape[-2:] == (7, 9)
    assert not mask[1 % mask.shape[0], 0, 5:].any()
    q_seg, kv_seg = case.segments()
    assert (q_seg[1, 5:] == -1).all() and (kv_seg[1, 6:] == -2).all()
    assert lockstep.Case(case.canonical) == case != lockstep.Case(ATTENTION[0])


def test_case_files():
    found = lockstep.cases(SOURCE / "data/cases/smoke.cases")
    assert len(found) > 20 and all(c.op in ("attention_forward", "attention_backward", "attention_merge", "mamba3_scan", "mamba3_scan_backward", "mamba3_step", "ssd_scan", "block_plan") for c in found)


def test_block_plan():
    tables = lockstep.block_plan("causal", sq=512, skv=512, bq=128, bk=128, blocks="no",
                                 dialect="block_mask", padded="yes")
    assert tables["full_kv_num_blocks"].ravel().tolist() == [0, 1, 2, 3]
    assert tables["kv_num_blocks"].ravel().tolist() == [1, 1, 1, 1]


MINE = [[7] * 20 + [8] * 36 + [-1] * 8, [1] * 64]


def test_ids_are_arrays():
    ids = np.array(MINE)
    case = lockstep.Case("attention_forward b=2 sq=64 skv=64 d=8 " + lockstep.ids(MINE, pad=-1))
    seen = (ids[:, :, None] == ids[:, None]) & (ids != -1)[:, :, None]
    assert (case.mask()[:, 0] == seen).all()
    asked = {"sq": 64, "skv": 64, "bq": 8, "bk": 8, "blocks": "no"}
    rows = lockstep.block_plan("causal", q_seg=ids, pad=-1, dtype="int32", **asked)
    assert {t.dtype.name for row in rows for t in row.values()} == {"int32"}
    for n, row in enumerate(MINE):
        one = lockstep.block_plan("causal", q_seg=row, pad=-1, **asked)
        assert all((one[name] == rows[n][name]).all() for name in one)
    text = lockstep.block_plan("causal", q_seg="ids:1*64", **asked)
    assert all((text[name] == rows[1][name]).all() for name in text)


def test_block_mask():
    torch = pytest.importorskip("torch")
    from torch.nn.attention import flex_attention as library
    tables = lockstep.block_plan("causal&window:20,0", sq=64, skv=64, hq=2, bq=16, bk=16,
                                 dialect="block_mask", q_seg=MINE, pad=-1)
    made = lockstep.to_block_mask(tables)
    own = library.create_block_mask(made.mask_mod, 2, 2, 64, 64, "cpu", (16, 16))
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        assert (getattr(made, name) == getattr(own, name)).all(), name
    case = lockstep.Case("attention_forward b=2 hq=2 sq=64 skv=64 d=32 "
                         "mask=causal&window:20,0 " + lockstep.ids(MINE, pad=-1))
    q, k, v = (torch.tensor(case.inputs()[name]) for name in "qkv")
    o = library.flex_attention(q, k, v, block_mask=made)
    np.testing.assert_allclose(o, case.expected()["o"], atol=1e-5)
    one = lockstep.block_plan("causal", sq=64, skv=64, bq=16, bk=16, dialect="block_mask")
    assert one.to_block_mask().shape == (1, 1, 64, 64)


def test_mask_info():
    masks = pytest.importorskip(
        "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask")
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_mask_info as infos)
    tables = lockstep.block_plan("causal&window:9,0", sq=32, skv=32, hq=2, bq=8, bk=8,
                                 dialect="splash", **{"mask.h1": "causal"})
    heads = [masks.NumpyMask(head) for head in lockstep.Case(tables.line).mask()]
    for made, process in zip(tables.to_mask_info(),
                             (infos.process_mask, infos.process_mask_dkv)):
        own = process(masks.MultiHeadMask(heads), (8, 8), head_shards=1, q_seq_shards=1)[0]
        for name in ("data_next", "mask_next", "block_mask", "partial_mask_blocks"):
            np.testing.assert_array_equal(getattr(made, name), getattr(own, name), name)


def test_bench_times_right_answers_only(monkeypatch):
    sys.path.insert(0, str(SOURCE / "python/examples"))
    from numpy_attention import attend as kernel
    row, = lockstep.bench(kernel, "attention_forward sq=5 skv=9 d=8", repetitions=3)
    assert row["verdict"] == "pass" and len(row["samples"]) == 3 and row["seconds"] > 0

    def wrong(q, k, v, *, call):
        o, lse = kernel(q, k, v, call=call)
        return o + 1, lse

    row, = lockstep.bench(lockstep.kernel(profile="cpu-f32", wants=["mask.dense"])(wrong),
                          "attention_forward sq=5 skv=9 d=8")
    assert row["verdict"] == "fail" and row["seconds"] is None


def test_programs_came_along():
    folder = pathlib.Path(lockstep.__file__).parent / "bin"
    assert {"lockstep", "lockstep-bench", "lockstep-fuzz", "lockstep-host"} <= {p.name for p in folder.iterdir()}
    done = subprocess.run([sys.executable, "-m", "lockstep", "verify",
                           str(ATTENTION[0])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 pass" in done.stdout


def test_no_openmp_runtime_comes_along():
    """In a process of its own: torch, where it is, brings a runtime into this one."""
    script = f"""
import os, lockstep
lockstep.Case({str(ATTENTION[0])!r}).expected()
with open("/proc/self/maps", encoding="ascii") as maps:
    loaded = {{os.path.basename(line.split()[-1]) for line in maps if ".so" in line}}
print(*sorted(name for name in loaded if "omp" in name or "lockstep" in name or "_native" in name))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    extension, = done.stdout.split()
    assert extension.startswith("_native.")


def test_types_came_along():
    folder = pathlib.Path(lockstep.__file__).parent
    for name in ("py.typed", "__init__.pyi", "_native.pyi"):
        assert (folder / name).exists(), name
    stub = (folder / "__init__.pyi").read_text()
    for name in lockstep.__all__:
        assert f"def {name}(" in stub or f"class {name}" in stub or f"as {name}" in stub, name
