#!/usr/bin/env python3
"""What quantised nets keep of their float source: Skiff's formats, and onnxruntime's static quantiser with the same data.

usage: compare_quantizers.py path/to/skiff MODELS [--net NAME ...] [--formats i8 weights4 ...] [--options ...]

MODELS: the folder of shared models. Each net does what it is for, on inputs that did not calibrate (quantized/tasks.py); the
score is in per cent, and beside it is the root of the mean square difference from the float net's outputs, in per cent of
them, of the worst output. Times are medians of runs with one thread.

Needs numpy, Pillow, onnx, onnxruntime and tflite2onnx, best in a virtual environment, and there the package skiff, or
PYTHONPATH=build/release/python, of the same build as the tool; Debian's tuxpaint-stamps-default
and the package foolbox (pictures), flite and espeak-ng (words); and the fonts that samples/characters/README.md lists.
"""
import argparse
import pathlib
import sys
import tempfile

try:
    import numpy as np

    from quantized.makers import SkiffFile, as_onnx, quantize_static
    from quantized.tasks import TASKS
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")


def off(reference, outputs):
    worst = max(np.sqrt(np.sum((a - b) ** 2) / np.sum(a ** 2)) for a, b in zip(reference, outputs))
    return f"{100 * worst:.1f} %"


def compare(name, arguments, folder):
    make, _ = TASKS[name]
    task = make(arguments.models, folder)
    call = task.inputs[:1]
    reference = None

    def row(what, made):
        nonlocal reference
        outputs = made.run(task.inputs)
        reference = reference or outputs
        print(f"| {name} | {what} | {task.score(reference, outputs):.2f} % | {off(reference, outputs)} | {made.bytes():,} | "
              f"{made.milliseconds(call):.3f} |", flush=True)

    for form in ["f32"] + arguments.formats:
        row(form, SkiffFile(arguments.skiff, task, form, arguments.options.split(), folder))
    source = None if arguments.no_onnxruntime else as_onnx(task.model, folder)
    if not source:
        return
    try:
        files = quantize_static(source, task.calibration, folder)
    except Exception as error:  # pylint: disable=broad-except; onnxruntime's own are of many kinds.
        print(f"| {name} | onnxruntime's i8 | fails: {str(error).splitlines()[0][:100]} | | | |", flush=True)
        return
    row("onnxruntime's f32", files[0])
    row("onnxruntime's i8", files[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--net", action="append", choices=TASKS)
    parser.add_argument("--formats", nargs="*", default=["i8", "weights8", "weights4", "f16", "dynamic"])
    parser.add_argument("--options", default="", help="of skiff quantize, separated by spaces")
    parser.add_argument("--no-onnxruntime", action="store_true")
    arguments = parser.parse_args()
    print("| net | format | score | off by | bytes | ms, 1 thread |\n|---|---|---|---|---|---|", flush=True)
    for name in arguments.net or TASKS:
        with tempfile.TemporaryDirectory() as temporary:
            compare(name, arguments, pathlib.Path(temporary))


if __name__ == "__main__":
    main()
