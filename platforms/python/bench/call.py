#!/usr/bin/env python3
"""What a call through Python costs over the Session itself, beside onnxruntime and LiteRT where they are installed.

usage: call.py [--onnxruntime NET.onnx | --litert NET.tflite] [--runs N]

The net is y = relu(x * w + b) for x [1, 16], which computes for less than a microsecond: nearly all of a call is the way in and out.
The interpreters may be different ones: `--onnxruntime` and `--litert` print one line each. Times are medians of batches, in
microseconds; what the C++ session takes is that of `skiff.bench`, which calls Session::Run() alone.
"""

import argparse
import statistics
import sys
import time

try:
    import numpy as np
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 16)
SOURCE = b"""graph small {
  input x: f32[1, 16]
  const w: f32[16, 16] = seed 1
  const b: f32[16] = seed 2
  m = MatMul(x, w)
  s = Add(m, b)
  y = Clamp(s) {min=0}
  output y
}"""


def median_us(call, runs: int) -> float:
    """Of 21 batches."""
    each = max(runs // 21, 1)
    for _ in range(each):
        call()
    times = []
    for _ in range(21):
        begin = time.perf_counter()
        for _ in range(each):
            call()
        times.append((time.perf_counter() - begin) / each * 1e6)
    return statistics.median(times)


def measure_skiff(runs: int) -> None:
    import skiff

    model = skiff.convert(SOURCE)
    session = model.session(threads=1)
    native = skiff.bench(model, runs=runs, threads=1, inputs={"x": X})["median_ns"] / 1000
    feed = {"x": X}
    session.input("x")[:] = X
    bound = median_us(session, runs)
    views = median_us(lambda: session.run(feed, copy=False), runs)
    called = median_us(lambda: session(X), runs)
    named = median_us(lambda: session(x=X), runs)
    print(f"skiff C++ Session::Run()              {native:7.2f} us")
    for what, took in (
        ("session(array)", called),
        ("session(x=array)", named),
        ("session.run({...}, copy=False)", views),
        ("session(), input() in place", bound),
    ):
        print(f"skiff {what:31} {took:7.2f} us   {took - native:+.2f} over it")


def measure_onnxruntime(path: str, runs: int) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: X}
    took = median_us(lambda: session.run(None, feed), runs)
    print(f"onnxruntime {onnxruntime.__version__} session.run            {took:7.2f} us")


def measure_litert(path: str, runs: int) -> None:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]["index"]
    wanted = interpreter.get_output_details()[0]["index"]

    def call():
        interpreter.set_tensor(given, X)
        interpreter.invoke()
        return interpreter.get_tensor(wanted)

    print(f"LiteRT set_tensor, invoke, get_tensor {median_us(call, runs):7.2f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnxruntime", metavar="NET.onnx")
    parser.add_argument("--litert", metavar="NET.tflite")
    parser.add_argument("--runs", type=int, default=21000)
    arguments = parser.parse_args()
    if arguments.onnxruntime:
        measure_onnxruntime(arguments.onnxruntime, arguments.runs)
    if arguments.litert:
        measure_litert(arguments.litert, arguments.runs)
    if not arguments.onnxruntime and not arguments.litert:
        measure_skiff(arguments.runs)


if __name__ == "__main__":
    main()
