"""Gradients: the exact operator, and the adapters that give it to torch and JAX."""
import os
import pathlib
import sys

import numpy as np
import pytest

import lockstep
from lockstep import _native, operators

SOURCE = pathlib.Path(os.environ["LOCKSTEP_SOURCE"])
sys.path.insert(0, str(SOURCE / "python/examples"))

CASES = [
    ("attention_forward hq=4 hkv=2 sq=37 skv=67 d=24 dv=16 cap=5 mask=causal align=br", {}),
    ("attention_forward b=2 hq=4 hkv=2 sq=7 skv=9 d=16 dv=8 lane=bf16 p=bf16 mask=window:3,1 "
     "align=br valid_q=7,5 valid_kv=9,6", {}),
    ("attention_forward b=2 hq=4 hkv=2 sq=7 skv=9 d=16 lane=bf16 mask=window:3,1", {"grad": "f32"}),
    ("attention_forward hq=2 sq=6 skv=8 d=8 mask=causal&window:4,0|sink:1 q_seg=runs:2,4 "
     "kv_seg=runs:3,5 sinklogit=normal:1", {"dlse": True}),
    ("attention_forward hq=2 sq=5 skv=8 d=8 mask=full mask.h1=causal&random:0.5", {}),
    ("attention_forward hq=2 sq=7 skv=9 d=16 lane=f16 p=f16 mask=window:3,1", {}),
]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8).tobytes()


def cotangent(array, seed):
    drawn = np.random.default_rng(seed).standard_normal(array.shape, np.float32)
    return drawn.astype(array.dtype)


def arguments(line, grad=None, dlse=False):
    """The operator's arguments for a case: arrays by place, and words."""
    case = lockstep.Case(line)
    call, answer = case.call(wants=["mask.dense"]), case.expected()
    arrays = (call.q, call.k, call.v, answer["o"], answer["lse"],
              cotangent(answer["o"], 1))
    words = {"dense_mask": call.mask_dense, "scale": call.scale, "softcap": call.softcap,
             "sink": call.inputs.get("sink"), "p": call.p, "grad": grad,
             "dlse": cotangent(answer["lse"], 2) if dlse else None}
    return arrays, words


def by_definition(function):
    """The same call, computed by the scalar reference."""
    def run(native, *rest):
        return native(*rest, True) if native is _native.attention_backward else native(*rest)
    kept, operators._run = operators._run, run
    try:
        return function()
    finally:
        operators._run = kept


@pytest.mark.parametrize("line, more", CASES)
def test_bits_are_the_references(line, more):
    arrays, words = arguments(line, **more)
    for threads in (1, 3):
        fast = lockstep.attention_backward(*arrays, **words, threads=threads)
        slow = by_definition(lambda: lockstep.attention_backward(*arrays, **words))
        for name, one, other in zip(("dq", "dk", "dv", "dsink"), fast, slow):
            assert (one is None) == (other is None), name
            if one is not None:
                assert one.dtype == other.dtype and bits(one) == bits(other), name
    shapes = [x.shape for x in fast[:3]]
    assert shapes == [x.shape for x in arrays[:3]]
    assert (fast[3] is None) == (words["sink"] is None)


def test_another_cotangent_shows():
    arrays, words = arguments(CASES[0][0])
    before = lockstep.attention_backward(*arrays, **words)
    turned = lockstep.attention_backward(*arrays[:5], -arrays[5], **words)
    for one, other in zip(before[:3], turned[:3]):
        assert bits(one) == bits(-other) != bits(other)


def test_gradients_are_slopes():
    """Against differences of the forward operator, along a drawn direction."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 2, 6, 8), np.float32) for _ in range(3))
    words = {"softcap": 3.0, "mask": "causal&window:3,0", "sink": np.float32([0.5, -1])}
    o, lse = lockstep.attention_forward(q, k, v, **words)
    do, dlse = cotangent(o, 4), cotangent(lse, 5)
    dq, dk, dv, dsink = lockstep.attention_backward(q, k, v, o, lse, do, dlse=dlse, **words)

    def loss(q, k, v, sink):
        o, lse = lockstep.attention_forward(q, k, v, **{**words, "sink": sink})
        return float((o.astype(float) * do).sum() + (lse.astype(float) * dlse).sum())

    at = [q, k, v, words["sink"]]
    for n, gradient in enumerate((dq, dk, dv, dsink)):
        way = rng.standard_normal(at[n].shape).astype(np.float32)
        up, down = list(at), list(at)
        up[n], down[n] = at[n] + np.float32(1e-2) * way, at[n] - np.float32(1e-2) * way
        slope = (loss(*up) - loss(*down)) / 2e-2
        told = float((gradient.astype(float) * way).sum())
        assert abs(slope - told) <= 1e-2 * max(1, abs(slope)), n


@pytest.mark.parametrize("change, words", [
    ({"grad": "f16"}, "grad is 'f16'"),
    ({"grad": "bf16"}, "grad is 'bf16'"),
    ({"lse": lambda x: x[..., :-1]}, "lse"),
    ({"do": lambda x: x.astype(np.float64)}, "do has"),
    ({"o": lambda x: x[..., :-1]}, "o"),
    ({"dlse": np.zeros((1, 1), np.float32)}, "dlse has 2 axes, want 3"),
    ({"mask": "casual"}, "causal"),
])
def test_refusals_are_one_line(change, words):
    arrays, given = arguments("attention_forward sq=3 skv=4 d=8")
    named = dict(zip(("q", "k", "v", "o", "lse", "do"), arrays))
    for name, value in change.items():
        if callable(value):
            named[name] = value(named[name])
        else:
            given[name] = value
    with pytest.raises(lockstep.UsageError) as caught:
        lockstep.attention_backward(**named, **given)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


SCANS = [
    "mamba3_scan_backward b=2 t=15 h=4 g=2 n=10 p=5 s=3 variant=mimo r=2 gate=yes reduce=yes "
    "seg=[runs:6,9;runs:15] carry=yes dcarry=yes",
    "mamba3_scan_backward t=12 h=2 n=8 p=6 s=0 cu=0,5,5,12 carry=yes norm=1e-3 skip=no",
    "mamba3_scan_backward t=9 h=2 n=8 p=6 bias=no dcarry=yes lane=bf16 rot=bf16",
    "mamba3_scan_backward t=9 h=2 g=2 n=8 p=6 lane=bf16 grad=f32",
]
CARRY = ("theta", "h", "k", "v")
TENSORS = ("a dt tau vartheta bq bk d z psi zeta phi norm_weight").split()


def scan_arguments(line):
    """Of mamba3_scan: arrays by name, the carry among them, and words; dy and dcarry."""
    call = lockstep.Case(line).call()
    arrays = {name: call.inputs[name] for name in ["q", "k", "v", *TENSORS]
              if name in call.inputs}
    runs, h, s = call.run_count, call.h, call.s

    def carry(prefix):
        return tuple(call.inputs.get(prefix + name, np.zeros((runs, h, s), np.float32))
                     for name in CARRY)

    if call.carry_in:
        arrays["carry"] = carry("init_")
    words = {name: call.inputs[name] for name in ("segments", "cu_seqlens")
             if name in call.inputs}
    words.update({name: getattr(call, name)
                  for name in ("variant", "reduce", "norm_epsilon", "rotated")})
    dcarry = carry("dcarry_") if call.carry_grad else None
    return arrays, words, call.dy, dcarry, call.scalars["grad"]


@pytest.mark.parametrize("line", SCANS)
def test_gradients_of_scans_have_the_exact_bits(line):
    arrays, words, dy, dcarry, grad = scan_arguments(line)
    expected = lockstep.Case(line).expected()
    for threads in (1, 3):
        told = lockstep.mamba3_scan_backward(**arrays, dy=dy, dcarry=dcarry, grad=grad,
                                             threads=threads, **words)
        assert set(told) == set(arrays)
        made = {"dinit_" + name: x for name, x in zip(CARRY, told.pop("carry", ()))}
        made.update({"d" + name: x for name, x in told.items()})
        for name, array in expected.items():
            assert made[name].dtype == array.dtype, name
            assert bits(made[name].reshape(array.shape)) == bits(array), name
        assert {name for name in made if made[name].size} == set(expected)


@pytest.mark.parametrize("change, words", [
    ({"grad": "bf16"}, "grad is 'bf16'"),
    ({"dy": lambda x: x[..., :-1]}, "dy"),
    ({"dy": lambda x: x.astype(np.float64)}, "dy has"),
    ({"dcarry": (np.zeros((1, 1), np.float32),) * 4}, "axes, want"),
    ({"a": lambda x: -x}, "a"),
    ({"variant": "mino"}, "mino"),
])
def test_refusals_of_scans_are_one_line(change, words):
    arrays, given, dy, _, _ = scan_arguments("mamba3_scan_backward t=3 h=2 n=4 p=2")
    given.update(arrays, dy=dy)
    for name, value in change.items():
        given[name] = value(given[name]) if callable(value) else value
    with pytest.raises(lockstep.UsageError) as caught:
        lockstep.mamba3_scan_backward(**given)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def drawn_qkv():
    rng = np.random.default_rng(6)
    return [rng.standard_normal(shape).astype(np.float32)
            for shape in ((1, 4, 7, 8), (1, 2, 9, 8), (1, 2, 9, 8))]


WORDS = {"softcap": 4.0, "mask": "causal", "align": "br"}


def exact(q, k, v, do):
    o, lse = lockstep.attention_forward(q, k, v, **WORDS)
    return o, lockstep.attention_backward(q, k, v, o, lse, do, **WORDS)[:3]


def test_torch_autograd():
    torch = pytest.importorskip("torch")
    import torch_autograd
    arrays = drawn_qkv()
    q, k, v = (torch.tensor(x, requires_grad=True) for x in arrays)
    o = torch_autograd.attention(q, k, v, **WORDS)
    do = cotangent(o.detach().numpy(), 7)
    o.backward(torch.from_numpy(do))
    wanted_o, wanted = exact(*arrays, do)
    assert bits(o.detach().numpy()) == bits(wanted_o)
    for tensor, gradient in zip((q, k, v), wanted):
        assert bits(tensor.grad.numpy()) == bits(gradient)
    # In the middle of a graph of torch's own, a cotangent of lse as well.
    loss = torch_autograd.attention(2 * q, k, v, with_lse=True, **WORDS)[1].sum()
    again, = torch.autograd.grad(loss, q)
    doubled = [2 * arrays[0], *arrays[1:]]
    o, lse = lockstep.attention_forward(*doubled, **WORDS)
    told = lockstep.attention_backward(*doubled, o, lse, np.zeros_like(o),
                                       dlse=np.ones_like(lse), **WORDS)[0]
    assert bits(again.numpy()) == bits(2 * told)


def test_jax_custom_vjp():
    jax = pytest.importorskip("jax")
    import jax_vjp
    arrays = drawn_qkv()
    attention = jax_vjp.attention(**WORDS)
    for function in (attention, jax.jit(attention)):
        (o, lse), pull = jax.vjp(function, *map(jax.numpy.asarray, arrays))
        do = cotangent(np.asarray(o), 7)
        wanted_o, wanted = exact(*arrays, do)
        assert bits(np.asarray(o)) == bits(wanted_o)
        for made, gradient in zip(pull((do, jax.numpy.zeros_like(lse))), wanted):
            assert bits(np.asarray(made)) == bits(gradient)


def carries(left):
    return tuple(cotangent(x, 8 + n) for n, x in enumerate(left))


@pytest.mark.parametrize("line", SCANS[:3])
def test_torch_autograd_of_scans(line):
    torch = pytest.importorskip("torch")
    import torch_autograd
    arrays, words, _, _, _ = scan_arguments(line)

    def leaf(x):
        return operators.to_framework(np.array(x), "torch").requires_grad_()

    leaves = {name: tuple(map(leaf, x)) if name == "carry" else leaf(x)
              for name, x in arrays.items()}
    y, left = torch_autograd.scan(**leaves, **words)
    wanted_y, wanted_left = lockstep.mamba3_scan(**arrays, **words)
    assert bits(operators.to_numpy(y.detach())) == bits(wanted_y)
    dy, dcarry = cotangent(wanted_y, 7), carries(wanted_left)
    torch.autograd.backward([y, *left], [operators.to_framework(x, "torch")
                                         for x in (dy, *dcarry)])
    wanted = lockstep.mamba3_scan_backward(**arrays, dy=dy, dcarry=dcarry, **words)
    for name, gradient in wanted.items():
        pairs = zip(leaves[name], gradient) if name == "carry" else [(leaves[name], gradient)]
        for tensor, array in pairs:
            assert bits(operators.to_numpy(tensor.grad)) == bits(array), name


@pytest.mark.parametrize("line", SCANS[:3])
def test_jax_custom_vjp_of_scans(line):
    jax = pytest.importorskip("jax")
    import jax_vjp
    arrays, words, _, _, _ = scan_arguments(line)
    runs = lockstep.Case(line).call().run_count
    scan = jax_vjp.scan(runs, **words)
    wanted_y, wanted_left = lockstep.mamba3_scan(**arrays, **words)
    dy, dcarry = cotangent(wanted_y, 7), carries(wanted_left)
    wanted = lockstep.mamba3_scan_backward(**arrays, dy=dy, dcarry=dcarry, **words)
    for function in (scan, jax.jit(scan)):
        (y, _), pull = jax.vjp(function, jax.tree.map(jax.numpy.asarray, arrays))
        assert bits(np.asarray(y)) == bits(wanted_y)
        made, = pull(jax.tree.map(jax.numpy.asarray, (dy, dcarry)))
        assert set(made) == set(wanted)
        for name, gradient in wanted.items():
            for one, other in zip(jax.tree.leaves(made[name]), jax.tree.leaves(gradient)):
                assert bits(np.asarray(one)) == bits(other), name
