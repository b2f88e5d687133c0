#!/usr/bin/env python3
"""How much of each model runs in reference kernels: a row per model with its nodes, the share of time, and what remains.

  reference_share.py path/to/skiff [--models FOLDER] [--nets FOLDER] [--only TEXT] [--runs N] [--limit PERCENT]

--models is the folder of trained models that models.json lists; --nets one with NET/model.onnx and NET/case_*/input_*.npy
(the cases give the shapes). Every model is converted for one shape and measured on one thread. --limit makes a model whose
reference kernels take more than PERCENT of its time exit code 3. Times come from profiled runs; nodes that the
delegate hands back at run time ("fell back") count as reference.
"""
import argparse
import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

LISTED = pathlib.Path(__file__).with_name("models.json")


def npy_shape(path):
    """The shape in a .npy header, without NumPy."""
    data = path.read_bytes()[:4096]
    length = struct.unpack_from("<H", data, 8)[0]
    words = data[10:10 + length].decode().split("'shape': (")[1].split(")")[0]
    return [int(word) for word in words.split(",") if word.strip()]


def trained_models(folder):
    for entry in json.loads(LISTED.read_text()):
        if entry["status"] == "passes":
            yield entry["file"], folder / entry["file"], entry.get("shapes", {})


def exported_nets(folder):
    for model in sorted(folder.glob("*/model.onnx")):
        for case in sorted(model.parent.glob("case_*")):
            shapes = {file.stem.removeprefix("input_"): npy_shape(file) for file in sorted(case.glob("input_*.npy"))}
            yield f"{model.parent.name}/{case.name}", model, shapes


def measure(skiff, model, shapes, runs):
    """The JSON of `skiff bench`, or the sentence of what refused the model."""
    with tempfile.TemporaryDirectory() as folder:
        converted = pathlib.Path(folder) / "model.skiff"
        command = [skiff, "convert", model, "-o", converted]
        for name, shape in shapes.items():
            command += ["--shape", f"{name}=" + "x".join(map(str, shape))]
        bench = [skiff, "bench", converted, "--threads", "1", "--warmup", "3", "--runs", str(runs), "--json"]
        for step in (command, bench):
            done = subprocess.run([str(word) for word in step], capture_output=True, text=True)
            if done.returncode != 0:
                return (done.stderr.strip().splitlines() or ["no message"])[-1]
        return json.loads(done.stdout)


def summary(result):
    in_reference = [node for node in result["nodes"] if node["delegate"] == "reference" or node["fell_back"]]
    total = sum(node["median_ns"] for node in result["nodes"])
    share = 100 * sum(node["median_ns"] for node in in_reference) / max(total, 1)
    by_operator = collections.Counter()
    counts = collections.Counter()
    for node in in_reference:
        label = node["operator"] + ("*" if node["fell_back"] else "")
        by_operator[label] += node["median_ns"]
        counts[label] += 1
    rest = ", ".join(f"{label} {counts[label]} ({100 * ns / max(total, 1):.1f} %)" for label, ns in by_operator.most_common())
    return len(result["nodes"]), len(in_reference), share, result["median_ns"], rest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff")
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--nets", type=pathlib.Path)
    parser.add_argument("--only", default="", help="measure what has this text in its name")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--limit", type=float, default=100)
    arguments = parser.parse_args()
    cases = [*(trained_models(arguments.models) if arguments.models else ()),
             *(exported_nets(arguments.nets) if arguments.nets else ())]
    if not cases:
        parser.error("no model: name a folder with --models or --nets")
    over = 0
    print("| model | nodes | in reference | of time | run | what remains (* fell back) |\n|---|--:|--:|--:|--:|---|")
    for name, model, shapes in cases:
        if arguments.only not in name:
            continue
        result = measure(arguments.skiff, model, shapes, arguments.runs)
        if isinstance(result, str):
            print(f"| {name} | - | - | - | - | refused: {result} |")
            continue
        nodes, in_reference, share, ns, rest = summary(result)
        over += share > arguments.limit
        print(f"| {name} | {nodes} | {in_reference} | {share:.1f} % | {ns / 1e6:.2f} ms | {rest} |", flush=True)
    return 3 if over else 0


if __name__ == "__main__":
    sys.exit(main())
