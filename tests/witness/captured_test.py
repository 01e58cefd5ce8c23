#!/usr/bin/env python3
"""Holds data/captured/ against the table and metadata that describe it.

  captured_test.py DATA_CAPTURED_DIR

Checks format, types, shapes, finiteness, segment lengths, SHA-256 of every
tensor and file, and that no file is missing from the table.  Then plants
defects into copies in memory: each must be found.
"""

import hashlib
import pathlib
import re
import sys

import numpy as np

import safetensors_file

MAX_TOTAL_BYTES = 900 * 1000
HEAD_DIM = 32
INPUTS = ["k", "kv_seg", "q", "q_seg", "v"]


class Wrong(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def read_table(readme):
    """{file: {tensor: (type, shape text, SHA-256)}} from the README."""
    table = {}
    row = re.compile(r"\| (\S+\.safetensors) \| (\S+) \| (\S+) \| (.+?) "
                     r"\| ([0-9a-f]{32}) \| ([0-9a-f]{64}) \|")
    for match in row.finditer(readme):
        file, tensor, dtype, shape, _, digest = match.groups()
        table.setdefault(file, {})[tensor] = (dtype, shape, digest)
    return table


def token_counts(metadata):
    return [int(n) for n in
            re.findall(r": (\d+) tokens", metadata["documents"])]


def check_segments(tensors, metadata):
    """Ids 0, 1, 2, ... with exactly the documents' token counts."""
    lengths = token_counts(metadata)
    expect(len(lengths) >= 2, "fewer than two documents")
    wanted = np.repeat(np.arange(len(lengths)), lengths)[None]
    for name in ("q_seg", "kv_seg"):
        expect(np.array_equal(tensors[name].values, wanted),
               f"{name} does not match the document lengths {lengths}")


def check_file(data, rows):
    """One file's bytes against its rows of the table."""
    try:
        tensors, metadata = safetensors_file.parse(data)
    except safetensors_file.FormatError as error:
        raise Wrong(str(error)) from None
    expect(sorted(tensors) in (INPUTS, ["do"]), f"tensors are {sorted(tensors)}")
    expect("no softcap" in metadata["softcap"], "metadata omits the softcap")
    if "q_seg" in tensors:
        check_segments(tensors, metadata)
    heads = len(metadata["heads"].split(","))
    tokens = sum(token_counts(metadata))
    for name in sorted(set(tensors) - {"q_seg", "kv_seg"}):
        values = tensors[name].values
        expect(values.shape == (1, heads, tokens, HEAD_DIM),
               f"{name} has shape {values.shape}")
        expect(bool(np.all(np.isfinite(values))), f"{name} is not finite")
        expect(float(values.std()) > 0.1 * float(np.abs(values).mean()),
               f"{name} is almost constant")
    for name, tensor in tensors.items():
        expect(name in rows, f"{name} is not in the table")
        dtype, shape, digest = rows[name]
        found = (tensor.dtype, str(list(tensor.bits.shape)),
                 hashlib.sha256(tensor.bits.tobytes()).hexdigest())
        expect(found == (dtype, shape, digest),
               f"{name} is {found}, the table says {rows[name]}")
    expect(hashlib.sha256(data).hexdigest() == rows["(file)"][2],
           "the file's digest differs from the table")


def check_folder(files, table):
    """files: {name: bytes}."""
    expect(files and sorted(files) == sorted(table),
           f"files {sorted(files)}, table {sorted(table)}")
    expect(sum(map(len, files.values())) <= MAX_TOTAL_BYTES, "too large")
    for name, data in files.items():
        try:
            check_file(data, table[name])
        except Wrong as error:
            raise Wrong(f"{name}: {error}") from None


def planted_defects(files, table):
    """(description, files, table): every one must be refused."""
    name = "minilm_layer0_bf16.safetensors"
    data = files[name]
    size = int.from_bytes(data[:8], "little")

    def with_bytes(changed):
        return {**files, name: bytes(changed)}

    flipped = bytearray(data)
    flipped[-1] ^= 1
    yield "last bit of v flipped", with_bytes(flipped), table
    segment = bytearray(data)
    segment[8 + size + 4 * 127] = 0
    yield "first token of document 1 given to document 0", \
        with_bytes(segment), table
    yield "truncated by one byte", with_bytes(data[:-1]), table
    yield "one byte too many", with_bytes(data + b"\0"), table
    nan = bytearray(data)
    nan[-2:] = b"\xc0\x7f"
    yield "a NaN in v", with_bytes(nan), table
    lengths = data.replace(b"127 tokens", b"126 tokens")
    yield "a document length changed", with_bytes(lengths), table
    yield "a file missing", {n: d for n, d in files.items() if n != name}, table
    row = dict(table[name])
    row["q"] = (row["q"][0], row["q"][1], "0" * 64)
    yield "a digest of the table changed", files, {**table, name: row}
    yield "no files at all", {}, {}


def main():
    folder = pathlib.Path(sys.argv[1])
    files = {p.name: p.read_bytes() for p in folder.glob("*.safetensors")}
    table = read_table((folder / "README.md").read_text(encoding="utf-8"))
    passed = failed = 0
    try:
        check_folder(files, table)
        passed += 1
        print(f"ok    {len(files)} captured files match the table")
    except Wrong as error:
        failed += 1
        print(f"FAIL  {error}")
        files = {}
    for description, bad_files, bad_table in (
            planted_defects(files, table) if files else ()):
        try:
            check_folder(bad_files, bad_table)
            failed += 1
            print(f"FAIL  planted defect not found: {description}")
        except Wrong as error:
            passed += 1
            print(f"ok    found: {description} ({str(error)[:60]})")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
