"""Kernels of gradients for those who have a forward pass and autograd."""
import functools

from lockstep.errors import Unsupported, UsageError
from lockstep.kernels import kernel


def autograd_kernel(function=None, *, framework, **facts):
    """Turns a forward pass into a kernel of attention_backward, by the autograd of
    torch or JAX. As a decorator:

        @lockstep.autograd_kernel(framework="torch", profile="base = flash-bf16\\n"
                                  "name = mine\\ngrad.from = own\\nlse = none")
        def attend(q, k, v, *, call):
            return scaled_dot_product_attention(q, k, v, scale=call.scale)

    The function returns o, or (o, lse) with a natural lse: then the profile has
    lse = f32, and cases with a cotangent of lse are computed, too. Other facts are
    those of lockstep.kernel. Cases with a learned sink, and with gradients in
    another type than q, are not computed. torch works on copies of the inputs, so
    its bits may depend on their addresses."""
    if framework not in ("torch", "jax"):
        raise UsageError(f"there is no autograd in {framework!r}; it is torch or jax")
    pull = _torch if framework == "torch" else _jax

    def mark(forward):
        @functools.wraps(forward)
        def gradients(q, k, v, o, lse, do, *, call):
            if "sink" in call.inputs:
                raise Unsupported("a learned sink")
            if call.grad != call.lane:
                raise Unsupported("gradients in another type than q")
            cotangents = [do, *([call.dlse] if "dlse" in call.inputs else [])]
            made, (dq, dk, dv) = pull(lambda *x: _made(forward(*x, call=call)), (q, k, v),
                                      cotangents)
            own = dict(zip(("own_o", "own_lse"), made))
            made = {"dq": dq, "dk": dk, "dv": dv, **own}
            return [made[name] for name in call.outputs if name in made]
        return kernel(op="attention_backward", framework=framework, **facts)(gradients)

    return mark(function) if function is not None else mark


def _made(answer):
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)


def _without(cotangents, made):
    if len(made) < len(cotangents):
        raise Unsupported("a cotangent of lse")
    return len(made) - len(cotangents)


def _torch(forward, inputs, cotangents):
    import torch
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    made = forward(*leaves)
    _without(cotangents, made)
    if not made[len(cotangents) - 1].requires_grad:
        raise Unsupported("a cotangent of an lse that has no gradient")
    return made, torch.autograd.grad(made[:len(cotangents)], leaves,
                                     [x.clone() for x in cotangents])


def _jax(forward, inputs, cotangents):
    import jax
    made, pull = jax.vjp(forward, *inputs)
    missing = _without(cotangents, made)
    zeros = [jax.numpy.zeros_like(x) for x in made[len(made) - missing:]]
    return made, pull((*cotangents, *zeros))
