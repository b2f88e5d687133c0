#!/usr/bin/env python3
"""Writes every single change of every seed of a fuzz target: each number and word, each part left out or repeated, each
constant's bytes, in texts all values of one element type, with the inputs' extents as they are or all of them open.
`platforms/fuzz --sweep` runs them.

usage: sweep.py onnx|tflite|text SEEDS OUT [--open] [--part K/N] [--changes K/N]
  --open         first let every extent of an input be open
  --part K/N     of the seeds, those whose number is K modulo N (default 0/1)
  --changes K/N  of the changes of a seed, likewise
onnx needs the package onnx, tflite flatc.
"""
import argparse
import hashlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import variants

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "../../../converter/import/tflite/schema.fbs")
# Beyond these, changes are many and each takes long.
MOST_BYTES = 12000
MOST_TEXT = 4000

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TOKEN = re.compile(r"[A-Za-z_][\w./#~]*|-?\d+(?:\.\d+)?|\s+|\S")
DTYPES = ["f32", "f16", "f64", "i4", "u4", "i8", "u8", "i16", "i32", "i64", "bool"]


def every(first, step):
    """Chooses those of the changes whose number is `first` modulo `step`."""
    return lambda changes: itertools.islice(changes, first % step, None, step)


def of_onnx(data, opened, chosen):
    import onnx
    from google.protobuf import json_format

    try:
        model = onnx.ModelProto.FromString(data)
        document = json_format.MessageToDict(model, preserving_proto_field_name=True)
    except Exception:  # A damaged seed, which protobuf cannot read or has no JSON for.
        return
    if opened:
        for number, port in enumerate(document.get("graph", {}).get("input", [])):
            dims = port.get("type", {}).get("tensor_type", {}).get("shape", {}).get("dim", [])
            dims[:] = [{"dim_param": f"d{number}_{axis}"} for axis in range(len(dims))]
    for variant in chosen(variants.variants(document)):
        try:
            yield json_format.ParseDict(variant, onnx.ModelProto()).SerializeToString()
        except (json_format.ParseError, TypeError, ValueError):
            pass  # The field cannot hold it.


def of_tflite(data, opened, chosen):
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "model")

        def flatc(*arguments):
            done = subprocess.run(["flatc", "-o", folder, *arguments], capture_output=True)
            return done.returncode == 0

        with open(place + ".tflite", "wb") as file:
            file.write(data)
        options = ["--strict-json", "--defaults-json", "--raw-binary"]
        if not flatc("--json", *options, SCHEMA, "--", place + ".tflite"):
            return
        with open(place + ".json") as file:
            document = json.load(file)
        if opened:
            for graph in document.get("subgraphs", [])[:1]:
                tensors = graph.get("tensors", [])
                for tensor in (tensors[index] for index in graph.get("inputs", []) if index < len(tensors)):
                    tensor["shape_signature"] = [-1] * len(tensor.get("shape", []))
        for variant in chosen(variants.variants(document)):
            with open(place + ".json", "w") as file:
                json.dump(variant, file)
            if flatc("--binary", SCHEMA, place + ".json"):
                with open(os.path.join(folder, "model.bin"), "rb") as file:
                    yield file.read()


def open_text(text):
    """The inputs' extents become dimensions; what results were said to be no longer holds."""
    count = 0

    def dimension(_):
        nonlocal count
        count += 1
        return f"d{count}"

    text = re.sub(r"(input [^:\n]*: \w+\[)([^\]]*)", lambda found: found[1] + re.sub(r"\b\d+\b", dimension, found[2]), text)
    return re.sub(
        r"(?m)^(\s+)(?!\s)((?!input|const|output)[^=\n]*?)=",
        lambda found: found[1] + re.sub(r": \w+\[[^\]]*\](?! *\{)", "", found[2]) + "=",
        text,
    )


def changes_of_text(text):
    lines = text.split("\n")
    for i in range(len(lines)):
        yield "\n".join(lines[:i] + lines[i + 1 :]).encode()
        yield "\n".join(lines[: i + 1] + lines[i:]).encode()
    tokens = TOKEN.findall(text)
    names = re.findall(r"(?m)^\s+(?:input |const )?([\w.]+)", text)[: variants.MOST_WORDS]
    for i, token in enumerate(tokens):
        others = [""]
        if NUMBER.fullmatch(token):
            others += [str(number) for number in variants.INTEGERS]
        elif token in DTYPES:
            others += DTYPES
        elif token[0].isalpha():
            others += [*names, "n"]
        elif token.isspace():
            continue
        for other in others:
            if other != token:
                yield "".join([*tokens[:i], other, *tokens[i + 1 :]]).encode()
    # One value of another type is mostly refused; what fits together must have rules of its own.
    for before in sorted(set(tokens) & set(DTYPES)):
        for other in DTYPES:
            if other != before:
                yield "".join(other if token == before else token for token in tokens).encode()


def of_text(data, opened, chosen):
    text = data.decode(errors="replace")
    return chosen(changes_of_text(open_text(text) if opened else text))


KINDS = {"onnx": (of_onnx, MOST_BYTES), "tflite": (of_tflite, MOST_BYTES), "text": (of_text, MOST_TEXT)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seeds")
    parser.add_argument("out")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--changes", default="0/1")
    arguments = parser.parse_args()
    part, parts = (int(number) for number in arguments.part.split("/"))
    first, step = (int(number) for number in arguments.changes.split("/"))
    changes_of, most_bytes = KINDS[arguments.kind]
    if arguments.kind == "onnx" and importlib.util.find_spec("onnx") is None:
        sys.exit("this Python has no package onnx; --help says what is needed")
    os.makedirs(arguments.out, exist_ok=True)
    chosen = every(first, step)
    for name in sorted(os.listdir(arguments.seeds))[part::parts]:
        with open(os.path.join(arguments.seeds, name), "rb") as file:
            data = file.read()
        if len(data) > most_bytes:
            continue
        for changed in changes_of(data, arguments.open, chosen):
            with open(os.path.join(arguments.out, hashlib.sha1(changed).hexdigest()), "wb") as file:
                file.write(changed)


if __name__ == "__main__":
    main()
