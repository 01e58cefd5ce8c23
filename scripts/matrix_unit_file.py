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
MOST_PRODUCTS = 1 << 16    # in one chain
MOST_HEADER = 1 << 24      # bytes
MOST_BYTES = 1 << 30
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


def _header(path, first):
    """The header, with fields of the right types, or BadFile."""
    try:
        header = json.loads(first)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path}: no header and zlib stream: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadFile(f"{path}: the first line is no header of format '{FORMAT}'")
    missing = [name for name in FIELDS if name not in header]
    if missing:
        raise BadFile(f"{path}: the header lacks '{missing[0]}'")
    for name, known in (("operand", OPERAND_BYTES), ("accumulator", ACCUMULATOR_BYTES)):
        if not isinstance(header[name], str) or header[name] not in known:
            raise BadFile(f"{path}: '{name}' is none of {', '.join(known)}")
    tiles = header["tiles"]
    if not isinstance(tiles, list) or not all(
            isinstance(tile, list) and len(tile) == 2 and isinstance(tile[0], str)
            and type(tile[1]) is int and 0 < tile[1] <= MOST_PRODUCTS for tile in tiles):
        raise BadFile(f"{path}: 'tiles' is no list of [family, K], K at most {MOST_PRODUCTS}")
    return header


def _stream(path, header, packed):
    """The uncompressed stream, or BadFile: no more is unpacked than the tiles take."""
    size = ROWS * COLUMNS * 2 * ACCUMULATOR_BYTES[header["accumulator"]] * len(header["tiles"])
    size += (ROWS + COLUMNS) * OPERAND_BYTES[header["operand"]] * sum(
        length for _, length in header["tiles"])
    if size > MOST_BYTES:
        raise BadFile(f"{path}: its tiles take {size} bytes; at most {MOST_BYTES} are read")
    unpack = zlib.decompressobj()
    try:
        stream = unpack.decompress(packed, size + 1)
    except zlib.error as error:
        raise BadFile(f"{path}: no header and zlib stream: {error}") from error
    if len(stream) == size and not unpack.eof:
        unpack.decompress(unpack.unconsumed_tail, 1)  # the checksum behind the last byte
    if len(stream) > size or not unpack.eof:
        raise BadFile(f"{path}: the zlib stream does not have the {size} bytes of its tiles")
    return stream


def read(path):
    """A Record, or BadFile."""
    with open(path, "rb") as file:
        first = file.readline(MOST_HEADER)
        packed = file.read()
    header = _header(path, first)
    stream = _stream(path, header, packed)
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
