"""The sentence model of capture.py, and the gradient of a training loss, in binary64.

What maps forth returns, beside its result, the function that maps a gradient back.
"""

import math

import numpy as np

NUM_LAYERS = 6
NUM_HEADS = 12
HEAD_DIM = 32
HIDDEN = NUM_HEADS * HEAD_DIM
LAYER_NORM_EPS = 1e-12

# Inverse temperature of the loss, as sentence models are trained with.
LOSS_SCALE = 20


def linear(weights, name, x):
    matrix = weights[name + ".weight"]
    return x @ matrix.T + weights[name + ".bias"], lambda g: g @ matrix


def layer_norm(weights, name, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    root = np.sqrt(variance + LAYER_NORM_EPS)
    normal = centred / root
    gain = weights[name + ".weight"]

    def back(g):
        g = g * gain
        along = (g * normal).mean(axis=-1, keepdims=True)
        return (g - g.mean(axis=-1, keepdims=True) - normal * along) / root

    return normal * gain + weights[name + ".bias"], back


def gelu(x):
    erf = np.frompyfunc(math.erf, 1, 1)
    below = 0.5 * (1.0 + erf(x / math.sqrt(2.0)).astype(np.float64))
    slope = below + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return x * below, lambda g: g * slope


def split_heads(x):
    """[S, heads * 32] -> [heads, S, 32]."""
    return x.reshape(len(x), NUM_HEADS, HEAD_DIM).transpose(1, 0, 2)


def merge_heads(x):
    """[heads, S, 32] -> [S, heads * 32]."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], HIDDEN)


def attention(q, k, v, segments):
    """Bidirectional attention inside each document, without softcap."""
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(HEAD_DIM)
    same = segments[:, None] == segments[None, :]
    scores = np.where(same, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)

    def back(g):
        """Gradients by q, k and v from the one by the result."""
        by_weight = g @ v.transpose(0, 2, 1)
        mean = (weights * by_weight).sum(axis=-1, keepdims=True)
        by_score = weights * (by_weight - mean) / math.sqrt(HEAD_DIM)
        return (by_score @ k, by_score.transpose(0, 2, 1) @ q,
                weights.transpose(0, 2, 1) @ g)

    return weights @ v, back


def run_layer(weights, base, x, segments):
    """The layer's result; {q, k, v}, each [heads, S, 32]; and the function from the
    gradient by the result to those by attention's result [heads, S, 32] and by x."""
    projections = [linear(weights, f"{base}attention.self.{n}", x)
                   for n in ("query", "key", "value")]
    q, k, v = (split_heads(value) for value, _ in projections)
    mixed, back_attention = attention(q, k, v, segments)
    dense, back_dense = linear(weights, base + "attention.output.dense",
                               merge_heads(mixed))
    middle, back_middle = layer_norm(
        weights, base + "attention.output.LayerNorm", x + dense)
    wide, back_wide = linear(weights, base + "intermediate.dense", middle)
    inner, back_inner = gelu(wide)
    outer, back_outer = linear(weights, base + "output.dense", inner)
    result, back_result = layer_norm(weights, base + "output.LayerNorm",
                                     middle + outer)

    def back(g):
        g = back_result(g)
        g = back_middle(g + back_wide(back_inner(back_outer(g))))
        by_mixed = split_heads(back_dense(g))
        for gradient, (_, back_one) in zip(back_attention(by_mixed), projections):
            g = g + back_one(merge_heads(gradient))
        return by_mixed, g

    return result, {"q": q, "k": k, "v": v}, back


def contrast(x, segments):
    """The loss that tells documents apart, and its gradient by x: each document's mean
    vector, of length one, times each other's is a logit; the right one is its own."""
    pool = (segments[None, :] == np.arange(segments[-1] + 1)[:, None])
    pool = pool / pool.sum(axis=1, keepdims=True)
    mean = pool @ x
    length = np.sqrt((mean * mean).sum(axis=1, keepdims=True))
    unit = mean / length
    logits = LOSS_SCALE * unit @ unit.T
    highest = logits.max(axis=1, keepdims=True)
    logits = logits - highest
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    loss = -np.log(np.diag(chance)).mean()
    by_logit = (chance - np.eye(len(unit))) / len(unit)
    by_unit = LOSS_SCALE * (by_logit + by_logit.T) @ unit
    along = (by_unit * unit).sum(axis=1, keepdims=True)
    return loss, pool.T @ ((by_unit - unit * along) / length)


def run_encoder(weights, ids, positions, segments):
    """Per layer {q, k, v, do}, each [heads, S, 32]; do is the gradient of the loss by
    what attention gives."""
    x = (weights["embeddings.word_embeddings.weight"][ids]
         + weights["embeddings.position_embeddings.weight"][positions]
         + weights["embeddings.token_type_embeddings.weight"][0])
    x, _ = layer_norm(weights, "embeddings.LayerNorm", x)
    captured, backs = [], []
    for layer in range(NUM_LAYERS):
        x, tensors, back = run_layer(weights, f"encoder.layer.{layer}.", x, segments)
        captured.append(tensors)
        backs.append(back)
    _, gradient = contrast(x, segments)
    for tensors, back in zip(reversed(captured), reversed(backs)):
        tensors["do"], gradient = back(gradient)
    return captured
