#!/usr/bin/env python3
"""Run times of Skiff and onnxruntime side by side, in interleaved rounds.

usage: compare_onnxruntime.py path/to/run_server MODEL.onnx [MODEL.onnx ...] [--threads 1 2] [--rounds 20]

Needs the Python packages onnxruntime and numpy, best in a virtual environment; the build and the tests do
without them.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")


class Skiff:
    """A process that keeps a Session alive and runs it when told to."""

    def __init__(self, server, model, inputs, threads):
        self.process = subprocess.Popen([server, model, "--inputs", inputs, "--threads", str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer("ready")

    def answer(self, expected=None):
        line = self.process.stdout.readline().strip()
        if not line or (expected and line != expected):
            sys.exit(f"run_server answered '{line}' and ended with exit code {self.process.wait()}")
        return line

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def run(self, times):
        self.ask(f"run {times}")
        return [int(word) * 1e-6 for word in self.answer().split()]

    def outputs(self, folder):
        self.ask(f"save {folder}")
        self.answer("saved")
        return [np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class OnnxRuntime:
    def __init__(self, model, feeds, threads, spin):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spin else "0")
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feeds = feeds

    def run(self, times):
        durations = []
        for _ in range(times):
            begin = time.perf_counter_ns()
            self.session.run(None, self.feeds)
            durations.append((time.perf_counter_ns() - begin) * 1e-6)
        return durations


def make_inputs(model, folder):
    """Random values for every input, in files for Skiff and in memory for onnxruntime."""
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(1)
    feeds = {}
    for i, port in enumerate(session.get_inputs()):
        if port.type != "tensor(float)" or not all(isinstance(extent, int) for extent in port.shape):
            sys.exit(f"{model}: input '{port.name}' is {port.type} {port.shape}; expected f32, fixed extents")
        feeds[port.name] = generator.uniform(-1, 1, port.shape).astype(np.float32)
        np.save(os.path.join(folder, f"input_{i}.npy"), feeds[port.name])
    return feeds


def check_outputs(model, skiff, onnxruntime, folder):
    got = skiff.outputs(folder)
    expected = {tensor.shape: tensor for tensor in onnxruntime.session.run(None, onnxruntime.feeds)}
    for tensor in got:
        reference = expected[tensor.shape]
        difference = np.abs(tensor - reference).max() / np.abs(reference).max()
        if not difference < 1e-4:
            sys.exit(f"{model}: Skiff and onnxruntime differ by {difference:.1e} of the largest output")


def interval(values):
    """The median and the order statistics around it that enclose the true one with a probability of 95 %."""
    ordered = sorted(values)
    n = len(ordered)
    reach = 1.96 * math.sqrt(n) / 2
    low = max(0, math.floor(n / 2 - reach))
    high = min(n - 1, math.ceil(n / 2 + reach))
    return statistics.median(ordered), ordered[low], ordered[high]


def compare(server, model, threads, spin, rounds, runs):
    with tempfile.TemporaryDirectory() as inputs, tempfile.TemporaryDirectory() as outputs:
        feeds = make_inputs(model, inputs)
        skiff = Skiff(server, model, inputs, threads)
        onnxruntime = OnnxRuntime(model, feeds, threads, spin)
        sides = [skiff, onnxruntime]
        for side in sides:
            side.run(5)
        check_outputs(model, skiff, onnxruntime, outputs)
        medians = {skiff: [], onnxruntime: []}
        for i in range(rounds):
            for side in sides if i % 2 == 0 else reversed(sides):
                time.sleep(0.02)  # The other side's threads stop spinning in the meantime.
                side.run(1)
                medians[side].append(statistics.median(side.run(runs)))
        skiff.close()
        ratios = [a / b for a, b in zip(medians[skiff], medians[onnxruntime])]
        return statistics.median(medians[skiff]), statistics.median(medians[onnxruntime]), interval(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="the built run_server")
    parser.add_argument("models", nargs="+", help="ONNX models with f32 inputs of fixed shape")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20, help="both sides once in each (default 20)")
    parser.add_argument("--runs", type=int, default=5,
                        help="runs of a side in a round; their median counts (default 5)")
    arguments = parser.parse_args()

    print(f"onnxruntime {ort.__version__}; medians in ms; ratio = Skiff / onnxruntime with its 95 % interval")
    print(f"{'model':28} {'threads':>7} {'ort spins':>9} {'Skiff':>9} {'ort':>9} {'ratio':>7}")
    for model in arguments.models:
        name = os.path.splitext(os.path.basename(model))[0]
        if name == "model":
            name = os.path.basename(os.path.dirname(os.path.abspath(model)))
        for threads in arguments.threads:
            for spin in [True] if threads == 1 else [True, False]:
                skiff, other, (ratio, low, high) = compare(arguments.server, model, threads, spin,
                                                           arguments.rounds, arguments.runs)
                spins = "yes" if spin and threads > 1 else "no"
                print(f"{name:28} {threads:7} {spins:>9} {skiff:9.2f} {other:9.2f} "
                      f"{ratio:7.3f} [{low:.3f}, {high:.3f}]", flush=True)


if __name__ == "__main__":
    main()
