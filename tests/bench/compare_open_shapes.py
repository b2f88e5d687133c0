#!/usr/bin/env python3
"""Skiff and onnxruntime with calls whose sizes change: the same sizes, in turn, one round of four calls each.

usage: compare_open_shapes.py path/to/open_shapes_bench MODEL.onnx --dim NAME=MIN..MAX ... [--calls 1000] [--sizes 16]

A round: a new size, the same again, the size before it, the new one again (shape_calls.h). Needs the Python packages
onnxruntime and numpy. Both use one thread. Inputs that are no f32 are small integers.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
MEMORY_ROUNDS = 20


def feeds_of(session, sizes, generator):
    feeds = {}
    for port in session.get_inputs():
        shape = [sizes[extent] if isinstance(extent, str) else extent for extent in port.shape]
        if port.type == "tensor(float)":
            feeds[port.name] = generator.uniform(-1, 1, shape).astype(np.float32)
        else:
            feeds[port.name] = generator.integers(0, 8, shape).astype(INTEGERS[port.type])
    return feeds


class Runtime:
    def __init__(self, model, sizes, clock=time.perf_counter_ns):
        import onnxruntime as ort
        with open("/proc/self/clear_refs", "w") as peak:  # The peak begins anew, with the library loaded.
            peak.write("5")
        self.before = resident("VmRSS")
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        generator = np.random.default_rng(1)
        self.feeds = [feeds_of(self.session, one, generator) for one in sizes]
        self.clock = clock
        self.times = {"new": [], "same": [], "before": [], "back": []}

    def round(self, number):
        for kind, times in self.times.items():
            feeds = self.feeds[(number - (kind == "before")) % len(self.feeds)]
            begin = self.clock()
            self.session.run(None, feeds)
            times.append((self.clock() - begin) * 1e-3)


def resident(line):
    """Bytes of a line of this process's status."""
    with open("/proc/self/status") as status:
        return next(int(text.split()[1]) << 10 for text in status if text.startswith(line + ":"))


def percentile(times, part):
    return sorted(times)[int(part * (len(times) - 1))]


def print_memory(model, sizes):
    """In a process of its own: by how much its resident memory grows, once the library is loaded."""
    runtime = Runtime(model, sizes)
    for number in range(MEMORY_ROUNDS):
        runtime.round(number)
    print(resident("VmHWM") - runtime.before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("model")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--sizes", type=int, default=16)
    parser.add_argument("--cpu-time", action="store_true", help="time that the thread had a processor, for busy machines")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        return print_memory(arguments.model, json.loads(arguments.memory_of))

    options = [word for dim in arguments.dim for word in ("--dim", dim)]
    options += ["--cpu-time"] * arguments.cpu_time
    bench = subprocess.Popen([arguments.bench, arguments.model, "--paced", "--calls", str(arguments.calls), "--sizes",
                              str(arguments.sizes), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # Dimensions of one size are no dimensions to Skiff, but to onnxruntime they are.
    ends = {name: text.split(",")[0].split("..") for name, _, text in (dim.rpartition("=") for dim in arguments.dim)}
    fixed = {name: int(both[0]) for name, both in ends.items() if both[0] == both[-1]}
    sizes = []
    for line in bench.stdout:
        if line.startswith("ready"):
            break
        drawn = (one.rpartition("=") for one in line[len("sizes "):].strip().split(", "))
        sizes.append(fixed | {name: int(size) for name, _, size in drawn})
    else:
        return bench.wait()
    peak = int(subprocess.run([sys.executable, __file__, arguments.bench, arguments.model, "--memory-of", json.dumps(sizes)],
                              check=True, stdout=subprocess.PIPE, text=True).stdout)
    runtime = Runtime(arguments.model, sizes, time.thread_time_ns if arguments.cpu_time else time.perf_counter_ns)
    for number in range(len(sizes)):
        runtime.round(number)
    for times in runtime.times.values():
        times.clear()
    # Skiff's first way is the plan for the contract; its calls come back one a line.
    number = 0
    report = []
    while True:
        runtime.round(number)
        number += 1
        bench.stdin.write("\n")
        bench.stdin.flush()
        line = bench.stdout.readline()
        if line.startswith("ready"):
            continue
        report = [line, *bench.stdout]
        break
    skiff = [float(word) for word in next(line for line in report if line.startswith("times "))[6:].split()]
    print("".join(line for line in report if not line.startswith("times ")), end="")
    every = [one for times in runtime.times.values() for one in times]
    new = runtime.times["new"]
    print(f"onnxruntime: median {statistics.median(every):.1f}, p90 {percentile(every, 0.9):.1f}, "
          f"p99 {percentile(every, 0.99):.1f}, new size {statistics.median(new):.1f}, "
          f"its p99 {percentile(new, 0.99):.1f}, same size {statistics.median(runtime.times['same']):.1f}, "
          f"size before {statistics.median(runtime.times['before']):.1f} us, peak {peak / 2**20:.1f} MiB")
    print("Skiff / onnxruntime at percentiles: " +
          ", ".join(f"{part * 100:g}: {percentile(skiff, part) / percentile(every, part):.2f}"
                    for part in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)))
    return bench.wait()


if __name__ == "__main__":
    sys.exit(main())
