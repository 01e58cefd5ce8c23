"""Files of recorded inner products of a matrix unit: data/units/NAME-TYPE-INSTRUCTION.units.

The first line is JSON, the rest a zlib stream. The stream holds one tile after another;
a tile is 64 rows of A and 8 columns of B, with every one of their 512 inner products:

    a [64][K]   operands' bits
    b [8][K]    operands' bits
    c [64][8]   the accumulator's bits before the chain
    d [64][8]   the accumulator's bits after it

Each array stands as planes, all lowest bytes first, because planes are smaller when
compressed. An operand has 1 byte (e4m3, e5m2), 2 (bf16, f16) or 4 (tf32); an
accumulator 2 (f16) or 4 (f32). K is a multiple of the instruction's k; instructions
follow in ascending order of k, and each starts with what the last left.

The header names the instruction in full, the types, the GPU and how it was recorded;
`tiles` has family and K of each tile, and `sha256` covers the header without itself, as
JSON with sorted keys, and the uncompressed stream.
"""

import dataclasses
import hashlib
import json
import zlib

import numpy as np

FORMAT = "lockstep matrix unit 1"
ROWS, COLUMNS = 64, 8
OPERAND_BYTES = {"bf16": 2, "f16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
ACCUMULATOR_BYTES = {"f32": 4, "f16": 2}
FIELDS = ("instruction", "operand", "accumulator", "k", "gpu", "compute_capability",
          "tiles")


class BadFile(ValueError):
    """A file that is not what it says, with a sentence."""


@dataclasses.dataclass
class Tile:
    """Inner products of 64 rows and 8 columns: bits, as unsigned integers."""
    family: str
    a: np.ndarray         # [64][K]
    b: np.ndarray         # [8][K]
    c: np.ndarray         # [64][8]
    d: np.ndarray = None  # [64][8]

    @property
    def length(self):
        return self.a.shape[1]


@dataclasses.dataclass
class Record:
    header: dict
    tiles: list

    @property
    def sums(self):
        return len(self.tiles) * ROWS * COLUMNS


def planes(words):
    return words.astype("<u%d" % words.itemsize).reshape(-1, 1).view(np.uint8).T.tobytes()


def from_planes(raw, size, shape):
    flat = np.frombuffer(raw, np.uint8).reshape(size, -1).T
    return np.ascontiguousarray(flat).view("<u%d" % size).reshape(shape)


def digest(header, stream):
    plain = {key: value for key, value in header.items() if key != "sha256"}
    text = json.dumps(plain, sort_keys=True).encode()
    return hashlib.sha256(text + b"\n" + stream).hexdigest()


def write(path, header, tiles):
    """Writes tiles with their results; returns the number of bytes."""
    stream = b"".join(planes(words) for tile in tiles
                      for words in (tile.a, tile.b, tile.c, tile.d))
    header = {"format": FORMAT, **header,
              "tiles": [[tile.family, tile.length] for tile in tiles]}
    header["sha256"] = digest(header, stream)
    data = json.dumps(header).encode() + b"\n" + zlib.compress(stream, 9)
    with open(path, "wb") as file:
        file.write(data)
    return len(data)


def read(path):
    """A Record, or BadFile."""
    with open(path, "rb") as file:
        first, _, packed = file.read().partition(b"\n")
    try:
        header = json.loads(first)
        stream = zlib.decompress(packed)
    except (ValueError, zlib.error) as error:
        raise BadFile(f"{path}: no header and zlib stream: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadFile(f"{path}: the first line is no header of format '{FORMAT}'")
    missing = [name for name in FIELDS if name not in header]
    if missing:
        raise BadFile(f"{path}: the header lacks '{missing[0]}'")
    if header.get("sha256") != digest(header, stream):
        raise BadFile(f"{path}: sha256 does not fit header and contents")
    operand = OPERAND_BYTES[header["operand"]]
    accumulator = ACCUMULATOR_BYTES[header["accumulator"]]
    tiles, at = [], 0
    for family, length in header["tiles"]:
        parts = []
        for size, shape in ((operand, (ROWS, length)), (operand, (COLUMNS, length)),
                            (accumulator, (ROWS, COLUMNS)),
                            (accumulator, (ROWS, COLUMNS))):
            end = at + size * shape[0] * shape[1]
            if end > len(stream):
                raise BadFile(f"{path}: ends inside tile {len(tiles)}")
            parts.append(from_planes(stream[at:end], size, shape))
            at = end
        tiles.append(Tile(family, *parts))
    if at != len(stream):
        raise BadFile(f"{path}: {len(stream) - at} bytes follow the last tile")
    return Record(header, tiles)
