#!/usr/bin/env python3
"""onnxruntime's times for calls whose sizes change, and for the same size again; beside open_shapes_bench.

  compare_open_shapes.py path/to/open_shapes_bench MODEL.onnx --dim NAME=MIN..MAX ... [--calls 1000] [--sizes 16]

Needs the Python packages onnxruntime and numpy. Both use one thread. Inputs that are no f32 are small integers.
"""
import argparse
import statistics
import subprocess
import time

import numpy as np
import onnxruntime as ort

INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


def feeds_of(session, sizes, generator):
    feeds = {}
    for port in session.get_inputs():
        shape = [sizes[extent] if isinstance(extent, str) else extent for extent in port.shape]
        if port.type == "tensor(float)":
            feeds[port.name] = generator.uniform(-1, 1, shape).astype(np.float32)
        else:
            feeds[port.name] = generator.integers(0, 8, shape).astype(INTEGERS[port.type])
    return feeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("model")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--sizes", type=int, default=16)
    arguments = parser.parse_args()
    options = [word for dim in arguments.dim for word in ("--dim", dim)]
    subprocess.run([arguments.bench, arguments.model, "--calls", str(arguments.calls), "--sizes",
                    str(arguments.sizes), *options], check=True)

    session_options = ort.SessionOptions()
    session_options.intra_op_num_threads = 1
    session_options.inter_op_num_threads = 1
    session = ort.InferenceSession(arguments.model, session_options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(1)
    ranges = {}
    for dim in arguments.dim:
        name, text = dim.split("=")
        low, _, high = text.partition("..")
        ranges[name] = (int(low), int(high or low))
    drawn = [feeds_of(session, {name: int(generator.integers(low, high + 1)) for name, (low, high) in ranges.items()},
                      generator) for _ in range(arguments.sizes)]
    changing, same = [], []
    for i in range(arguments.calls):
        for times in (changing, same):
            begin = time.perf_counter_ns()
            session.run(None, drawn[i % arguments.sizes])
            times.append((time.perf_counter_ns() - begin) * 1e-3)
    for name, times in (("onnxruntime, another size at each call", changing), ("onnxruntime, the same size again", same)):
        print(f"  {name:44} {statistics.median(times):10.1f} us  p99 {sorted(times)[int(0.99 * (len(times) - 1))]:10.1f} us")


if __name__ == "__main__":
    main()
