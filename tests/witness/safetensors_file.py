"""A plain reader of safetensors files: stdlib and numpy.

Read(path) -> (tensors, metadata).  A tensor is a Tensor: `values` (float32
for F32, BF16, F16 and fp8, int32, uint8), `bits` (the raw little-endian words) and
`dtype`.  Raises FormatError, with one sentence, on anything irregular.
"""

import collections
import json
import struct

import numpy as np

Tensor = collections.namedtuple("Tensor", "values bits dtype")

WORD = {"F32": "<u4", "BF16": "<u2", "F16": "<u2", "I32": "<i4", "U8": "u1", "BOOL": "u1",
        "F64": "<u8", "I64": "<i8", "F8_E4M3": "u1", "F8_E5M2": "u1"}
MAX_HEADER = 1 << 20


class FormatError(Exception):
    pass


def require(condition, sentence):
    if not condition:
        raise FormatError(sentence)


def fp8_number(byte, digits):
    """The number of a byte of the Open Compute Project's fp8: `digits` of fraction, 3 in
    e4m3, which has no infinity and NaN in its last code alone, or 2 in e5m2."""
    bias = 2 ** (6 - digits) - 1
    exponent, fraction = (byte & 0x7F) >> digits, byte & (2 ** digits - 1)
    sign = -1.0 if byte & 0x80 else 1.0
    if digits == 3 and byte & 0x7F == 0x7F:
        return np.nan
    if digits == 2 and exponent == 31:
        return sign * np.inf if fraction == 0 else np.nan
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - digits)
    return sign * (1.0 + fraction * 2.0 ** -digits) * 2.0 ** (exponent - bias)


FP8_DIGITS = {"F8_E4M3": 3, "F8_E5M2": 2}


def values_of(bits, dtype):
    if dtype in FP8_DIGITS:
        table = [fp8_number(byte, FP8_DIGITS[dtype]) for byte in range(256)]
        return np.array(table, dtype=np.float32)[bits]
    if dtype == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if dtype == "F16":
        return bits.view("<f2").astype(np.float32)
    if dtype == "F32":
        return bits.view("<f4").astype(np.float32, copy=False)
    if dtype == "F64":
        return bits.view("<f8")
    return bits


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return parse(data)


def parse(data):
    require(len(data) >= 8, "file shorter than its length field")
    size, = struct.unpack_from("<Q", data)
    require(2 <= size <= MAX_HEADER and 8 + size <= len(data),
            f"header size {size} does not fit the file")
    try:
        header = json.loads(data[8:8 + size].decode("utf-8"))
    except ValueError as error:
        raise FormatError(f"header is not JSON: {error}") from None
    require(isinstance(header, dict), "header is not an object")
    metadata = header.pop("__metadata__", {})
    body = data[8 + size:]
    tensors, spans = {}, []
    for name, entry in header.items():
        dtype, shape = entry["dtype"], entry["shape"]
        begin, end = entry["data_offsets"]
        require(dtype in WORD, f"{name}: unknown type {dtype}")
        require(all(isinstance(n, int) and n >= 0 for n in shape),
                f"{name}: bad shape {shape}")
        count = 1
        for n in shape:
            count *= n
        word = np.dtype(WORD[dtype])
        require(0 <= begin <= end <= len(body)
                and end - begin == count * word.itemsize,
                f"{name}: offsets {begin}..{end} do not match shape {shape}")
        spans.append((begin, end))
        bits = np.frombuffer(body[begin:end], dtype=word).reshape(shape)
        tensors[name] = Tensor(values_of(bits, dtype), bits, dtype)
    spans.sort()
    covered = 0
    for begin, end in spans:
        require(begin == covered, "tensors leave a hole or overlap")
        covered = end
    require(covered == len(body), "bytes behind the last tensor")
    return tensors, metadata
