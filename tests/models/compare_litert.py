#!/usr/bin/env python3
"""Compares what Skiff makes of TFLite files with LiteRT: outputs on the same inputs and, with --measure, time and memory.

usage: compare_litert.py path/to/skiff [MODEL.tflite|FOLDER ...] [--only TEXT] [--seed 1] [--threads 1] [--clips 4]
       compare_litert.py path/to/skiff [MODEL.tflite|FOLDER ...] --measure [--rounds 7] [--seconds 1.5]

Needs the Python packages ai-edge-litert and numpy, best in a virtual environment; the build and the tests do without them.
A folder stands for all .tflite files below it; without any it is that of the trained models. Open dimensions are 1. Inputs are random: floats from [-1, 1), quantised
integers and bytes from all of their type, other integers from 0 to 7 (to 1 where LiteRT refuses those). Where a file
has input_0.npy ... beside it, as the cases of tests/converter/import/tflite have, these are the inputs, and output_0.npy ...
stand for LiteRT's reference. Dynamic-range nets differ by some 1e-2 from LiteRT, which quantises activations on the fly.

A row is an output of a backend of Skiff's. The columns `reference` and `XNNPACK` say how far it is from LiteRT's reference
kernels and from LiteRT with XNNPACK; `LiteRT` how far those two are from each other. Floats: the largest difference over the
largest element. Integers and booleans: the share of elements that are equal, the share that are at most one apart, the
largest difference. A file that Skiff or LiteRT refuses has a row with the first line of what was said. The few
operators without a reference kernel in LiteRT (ELU, CEIL, ROUND) make `reference` its ordinary kernels, without XNNPACK.
LiteRT 2.3.0's reference kernels are wrong for SUM of i8 and i16 and for LOCAL_RESPONSE_NORMALIZATION.

A net with variables or state makes one step; --clips N compares the last of N. `skiff run` makes one step a process: of nets
whose states became inputs and outputs of one name, these are carried from step to step; others are refused with --clips.

Measured are, of each file that both run: a run; the start, from the file in the page cache to the first result (open, session or
interpreter, first run); and by how much the process grew until then at its peak. Each round makes a new process of LiteRT with
XNNPACK and one of skiff-run, which begin in turn, on as many cores as there are threads and on the same inputs; printed are
medians of the rounds, and the median of the rounds' ratios. Loading the libraries and reading the inputs counts for neither.
A round has as many runs as make --seconds in all, and its figure is their median. MFLOP counts two for each multiply-add of
convolutions and products, as Skiff runs them. Nothing else should be busy on the machine.
"""
import argparse
import os
import pathlib
import sys
import tempfile

try:
    import numpy as np

    from litert_measure import Measurements
    from litert_sides import LiteRT, Refused, Skiff
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

BACKENDS = ("xnnpack", "reference")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def distance(got, expected):
    if got is None or expected is None:
        return "-"
    if got.shape != expected.shape:
        return f"shape {list(got.shape)} for {list(expected.shape)}"
    if got.dtype != expected.dtype:
        return f"{got.dtype} for {expected.dtype}"
    if got.size == 0:
        return "empty"
    if got.dtype.kind == "f":
        finite = np.isfinite(expected)
        if (np.isfinite(got) != finite).any() or not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
            return "not finite"
        largest = max(np.abs(expected[finite]).max(initial=0), np.finfo(np.float32).tiny)
        return f"{np.abs(got[finite].astype(np.float64) - expected[finite]).max(initial=0) / largest:.1e}"
    apart = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    if not apart.any():
        return "equal"
    return f"{np.mean(apart == 0):.2%} {np.mean(apart <= 1):.2%} {apart.max():.0f}"


def stored(model, kind):
    """The .npy files of that kind beside the model."""
    paths = []
    while (path := model.parent / f"{kind}_{len(paths)}.npy").exists():
        paths.append(path)
    return paths


def use_stored_inputs(model, folder, options):
    if stored(model, "output") and not options.clips:
        for i, path in enumerate(stored(model, "input")):
            (folder / f"input_0_{i}.npy").symlink_to(path.resolve())


def started(model, folder, options):
    """LiteRT with XNNPACK and by reference, each an object or what was refused; and the reference's outputs."""
    sides = []
    for resolver in ("reference", "XNNPACK"):
        try:
            sides.append(None if resolver == "reference" and options.no_reference else LiteRT(model, folder, resolver, options))
        except Refused as error:
            sides.append(error)
    if not any(isinstance(side, LiteRT) for side in sides):
        raise sides[1]
    reference = sides[0].outputs if isinstance(sides[0], LiteRT) else None
    if stored(model, "output") and not options.clips:
        reference = [np.load(path) for path in stored(model, "output")]
    return *sides, reference


def compare(name, model, folder, options):
    converted = Skiff(options.skiff, model, folder)
    reference_side, fast, reference = started(model, folder, options)
    for resolver, side in (("reference", reference_side), ("XNNPACK", fast)):
        if isinstance(side, Refused):
            print(f"| {name} | LiteRT, {resolver} | - | {str(side).removeprefix('LiteRT: ')} | | |", flush=True)
    names = next(side.names for side in (fast, reference_side) if isinstance(side, LiteRT))
    converted.match(names)
    refused = None
    nothing = [None] * len(names["outputs"])
    ours, theirs = reference or nothing, fast.outputs if isinstance(fast, LiteRT) else nothing
    for backend in options.backend or BACKENDS:
        try:
            outputs = converted.run(backend, options.threads, options.clips or 1)
        except Refused as error:
            refused = error
            print(f"| {name} | {backend} | - | {error} | | |", flush=True)
            continue
        for i, output in enumerate(outputs):
            print(f"| {name} | {backend} | {i} | {distance(output, ours[i])} | {distance(output, theirs[i])} | "
                  f"{distance(theirs[i], ours[i])} |", flush=True)
    return refused is None


def models(paths):
    """Pairs of a name and a file."""
    for path in paths:
        if path.is_dir():
            for model in sorted(path.rglob("*.tflite")):
                inside = model.relative_to(path)
                yield str(inside.parent if inside.stem == "model" and len(inside.parts) > 1 else inside.with_suffix("")), model
        else:
            yield path.stem, path


def default_folder():
    """Of the trained models, as the tests know it."""
    return pathlib.Path(os.environ.get("SKIFF_MODELS", ROOT.parent / "shared" / "models"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff", type=pathlib.Path, help="the built command line tool")
    parser.add_argument("paths", type=pathlib.Path, nargs="*", metavar="MODEL.tflite|FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this text in their name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="of Skiff's; repeatable (default: both)")
    parser.add_argument("--no-reference", action="store_true", help="without LiteRT's reference kernels, which are slow")
    parser.add_argument("--clips", type=int, metavar="N", help="compare after N steps of a net with states")
    parser.add_argument("--measure", action="store_true", help="time, start, memory and sizes instead of outputs")
    parser.add_argument("--rounds", type=int, default=7, help="new processes of each side (default 7)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of runs of a file, all rounds together (default 1.5)")
    parser.add_argument("--run-tool", type=pathlib.Path, help="the built skiff-run (default: that of the tool's build)")
    options = parser.parse_args()
    options.run_tool = options.run_tool or options.skiff.resolve().parents[2] / "samples" / "run_model" / "skiff-run"
    options.paths = options.paths or [default_folder()]
    for path in [options.skiff, *options.paths, *([options.run_tool] if options.measure else [])]:
        if not path.exists():
            parser.error(f"there is no {path}")
    return options


def main():
    options = arguments()
    table = Measurements(options) if options.measure else None
    if not table:
        print("| file | backend | output | reference | XNNPACK | LiteRT |\n|---|---|---:|---:|---:|---:|", flush=True)
    count = refused = 0
    for name, model in models(options.paths):
        if options.only not in name:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            use_stored_inputs(model, pathlib.Path(folder), options)
            try:
                refused += not (table.add if table else compare)(name, model, pathlib.Path(folder), options)
            except Refused as error:
                refused += 1
                print(f"| {name} | {error} |", flush=True)
    if table:
        table.close()
    print(f"\n{count} files, {refused} refused by one side")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
