#!/usr/bin/env python3
"""Draws nets, converts them, runs them at several sizes on each backend, and compares with ONNX Runtime.
Needs the packages numpy, onnx and onnxruntime.

usage: compare.py [--seeds FIRST..END] [--kinds KIND...] [--backends BACKEND...] [--sizes HOW] [--keep FOLDER] SKIFF

  SKIFF          the tool, as build/release/converter/cli/skiff
  --seeds        which nets of each kind, END left out (default: 0..100)
  --kinds        arithmetic, pictures, integers, sequences, control (default: all)
  --backends     xnnpack, reference, vulkan (default: the first two)
  --sizes        what the converter is told of open extents: nothing (open, the default), their ranges (bounded), or ranges of
                 which each has a plan (bucketed)
  --keep FOLDER  where a net that differs is left, as KIND_SEED.onnx, and the last input that showed it, as KIND_SEED.npy

Ends with 1 where a net is refused, cannot be run, or has other results, and where nothing could be compared.
"""
import argparse
import importlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

KINDS = ("arithmetic", "pictures", "integers", "sequences", "control")
# Of the largest element, because products in another order round otherwise.
ABSOLUTE, RELATIVE = 1e-4, 1e-3


def run(*arguments):
    """What the tool says where it fails; nothing where it does not."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=False)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""


def difference(want, have, step):
    """In words; nothing where there is none. `step`: of the codes that results were rounded to; 0: they were not."""
    if want.shape != have.shape:
        return f"extents {have.shape}, expected {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(want, have) else f"{have.tolist()}, expected {want.tolist()}"
    largest = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    if step and want.size:
        apart = np.abs(have - want)
        # In the mean: all elements are a step apart where all are the same number, half way between two codes. At most: a
        # step of one layer goes through those behind it, which may divide by what it changes.
        few = apart.mean() <= 1.01 * step * max(1, want.std()) and apart.max() <= 10 * step * largest
        return "" if few else f"apart by {apart.max() / step:.3g} steps, {apart.mean() / step:.3g} in the mean"
    if np.allclose(have, want, rtol=RELATIVE, atol=ABSOLUTE * largest, equal_nan=True):
        return ""
    return f"apart by {np.nanmax(np.abs(have - want)):.3g} of {largest:.3g}"


def ranges(model, inputs):
    """The smallest and the largest size of each open extent."""
    extents = [extent.dim_param for extent in model.graph.input[0].type.tensor_type.shape.dim]
    return {name: (min(value.shape[axis] for value in inputs), max(value.shape[axis] for value in inputs))
            for axis, name in enumerate(extents) if name}


def bounded(name, low, high):
    return ["--dim", f"{name}={low}..{high}"]


def bucketed(name, low, high):
    middle = (low + high) // 2
    return ["--bucket", f"{name}={low}..{middle},{middle + 1}..{high}" if low < high else f"{name}={low}"]


SIZES = {"open": lambda *_: [], "bounded": bounded, "bucketed": bucketed}


class Comparison:
    def __init__(self, arguments, folder):
        self.skiff, self.backends, self.keep, self.folder = arguments.skiff, arguments.backends, arguments.keep, folder
        self.sizes = SIZES[arguments.sizes]
        self.agreed, self.failed, self.left_out = 0, 0, 0

    def fail(self, name, sentence):
        self.failed += 1
        print(f"{name}: {sentence}")
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            for file, kept in (("net.onnx", f"{name}.onnx"), ("input.npy", f"{name}.npy")):
                shutil.copy(self.folder / file, self.keep / kept)

    def net(self, name, step, model, port, inputs):
        path, converted = self.folder / "net.onnx", self.folder / "net.skiff"
        onnx.save(model, path)
        options = onnxruntime.SessionOptions()
        if step:  # Fused operators of integers round otherwise than the net says.
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            results = [dict(zip(names, session.run(None, {port: value}), strict=True)) for value in inputs]
        except Exception as error:  # Its types are not public.
            self.left_out += 1
            print(f"{name}: ONNX Runtime refuses it: {str(error).strip()[:300]}")
            return
        targets = ["--target", "vulkan"] if "vulkan" in self.backends else []
        sizes = [option for name, (low, high) in ranges(model, inputs).items() for option in self.sizes(name, low, high)]
        np.save(self.folder / "input.npy", inputs[0])
        refused = run(self.skiff, "convert", path, "-o", converted, *targets, *sizes)
        if refused:
            self.fail(name, refused)
            return
        for value, expected in zip(inputs, results, strict=True):
            np.save(self.folder / "input.npy", value)
            for backend in self.backends:
                self.backend(name, f"{value.shape} on {backend}", backend, expected, step)

    def backend(self, name, title, backend, expected, step):
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        broken = run(self.skiff, "run", self.folder / "net.skiff", "-i", self.folder / "input.npy", "-o", results, "--backend", backend)
        differs = broken or "; ".join(f"{output}: {words}" for output, want in expected.items()
                                      if (words := difference(want, np.load(results / f"{output}.npy"), step)))
        if differs:
            self.fail(name, f"{title}: {differs}")
        self.agreed += not differs


def seeds(text):
    first, end = text.split("..")
    return range(int(first), int(end))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff", type=pathlib.Path)
    parser.add_argument("--seeds", type=seeds, default=range(100))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--backends", nargs="+", choices=("xnnpack", "reference", "vulkan"), default=["xnnpack", "reference"])
    parser.add_argument("--sizes", choices=tuple(SIZES), default="open")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(arguments, pathlib.Path(folder))
        for kind in arguments.kinds:
            module = importlib.import_module(kind)
            for seed in arguments.seeds:
                comparison.net(f"{kind}_{seed}", getattr(module, "STEP", 0), *module.draw(seed))
    print(f"{comparison.agreed} runs agree with ONNX Runtime {onnxruntime.__version__}, {comparison.failed} do not; "
          f"{comparison.left_out} nets it cannot run itself")
    return 0 if comparison.agreed and not comparison.failed else 1


if __name__ == "__main__":
    sys.exit(main())
