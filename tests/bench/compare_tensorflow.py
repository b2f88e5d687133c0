#!/usr/bin/env python3
"""The workloads of samples/eager_and_graph in TensorFlow (eager and tf.function) and as traced Functions of
Skiff, in interleaved rounds, with the same weights and inputs.

usage: compare_tensorflow.py path/to/function_server [--threads 1] [--rounds 15]

Needs the Python packages tensorflow-cpu and numpy, best in a virtual environment; the build and the tests do
without them. Both sides are called as their users do: TensorFlow from Python, Skiff from C++.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import tensorflow as tf
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")


class Skiff:
    def __init__(self, server, threads):
        self.process = subprocess.Popen([server, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit(f"function_server ended with exit code {self.process.wait()}")
        return line

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def run(self, name, calls):
        return int(self.ask(f"run {name} {calls}")) * 1e-3 / calls

    def result(self, name):
        return np.array([float(word) for word in self.ask(f"result {name}").split()])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def uniform(shape, seed, scale=1.0):
    """sample::Uniform: the same numbers."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed)
    bits = generator.random_raw(int(np.prod(shape))).astype(np.uint32) >> 8
    return ((bits.astype(np.float32) * np.float32(2**-23) - np.float32(1)) * np.float32(scale)).reshape(shape)


def weights(shape, inputs, seed):
    return uniform(shape, seed, np.sqrt(np.float32(3) / np.float32(inputs)))


def power_base():
    return tf.constant([[(i * 10 + j) ** 2 % 7 % 2 for j in range(10)] for i in range(10)], tf.int32)


def power_while(x):
    i, y = tf.constant(0), tf.eye(10, dtype=tf.int32)
    return tf.while_loop(lambda i, y: i < 100, lambda i, y: (i + 1, tf.matmul(y, x)), (i, y))[1]


def power_unrolled(x):
    y = tf.eye(10, dtype=tf.int32)
    for _ in range(100):
        y = tf.matmul(y, x)
    return y


def dense_net(inputs, widths):
    layers, seed = [], 1
    for width in widths:
        layers.append((tf.constant(weights((width, inputs), inputs, seed).T.copy()),
                       tf.constant(uniform((width,), seed + 1, 0.1))))
        inputs, seed = width, seed + 2

    def net(x):
        y = tf.reshape(x, (tf.shape(x)[0], layers[0][0].shape[0]))
        for i, (w, b) in enumerate(layers):
            y = tf.matmul(tf.nn.relu(y) if i else y, w) + b
        return y
    return net


def picture_net():
    layers, channels, seed = [], 3, 100
    for out in (16, 32, 64):
        kernel = weights((out, 4, 4, channels), 16 * channels, seed)
        layers.append((tf.constant(kernel.transpose(1, 2, 3, 0).copy()), tf.constant(uniform((out,), seed + 1, 0.1))))
        channels, seed = out, seed + 2
    head = dense_net(25 * 25 * 64, (512, 2))

    def net(picture):
        y = tf.image.resize(tf.cast(picture, tf.float32), (224, 224)) / 127.5 - 1.0
        for kernel, bias in layers:
            y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(y, kernel, 1, "VALID") + bias), 2, 2, "VALID")
        return head(y)
    return net


def rows_net():
    head = dense_net(20, (64, 64, 10))
    return lambda x: head(tf.reduce_max(x, axis=0, keepdims=True))


class Workload:
    def __init__(self, name, code, inputs, calls, signature=None):
        self.name, self.inputs, self.calls = name, [tf.constant(x) for x in inputs], calls
        self.eager = code
        self.graph = tf.function(code, input_signature=signature)

    def run(self, function, calls):
        count = len(self.inputs)
        begin = time.perf_counter_ns()
        for i in range(calls):
            function(self.inputs[i % count])
        return (time.perf_counter_ns() - begin) * 1e-3 / calls


def workloads():
    digits = uniform((60, 28, 28), 3)
    picture = (uniform((1, 300, 400, 3), 7) * np.float32(127) + np.float32(128)).astype(np.uint8)
    rows = [uniform((7 * i % 10 + 1, 20), 11) for i in range(10)]
    return [
        Workload("power_while", power_while, [power_base()], 20),
        Workload("power_unrolled", power_unrolled, [power_base()], 20),
        Workload("shallow", dense_net(784, (10, 20, 30)), [digits], 100),
        Workload("deep", dense_net(784, (1000, 2000, 3000)), [digits], 3),
        Workload("cnn", picture_net(), [picture], 3),
        Workload("rows", rows_net(), rows, 100, [tf.TensorSpec([None, 20], tf.float32)]),
    ]


def check(workload, skiff):
    expected = workload.graph(workload.inputs[0]).numpy().astype(float).flatten()[:32]
    got = skiff.result(workload.name)
    difference = np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not difference < 1e-4:
        sys.exit(f"{workload.name}: Skiff and TensorFlow differ by {difference:.1e} of the largest element")


def interval(values):
    """The median and the order statistics around it that enclose the true one with a probability of 95 %."""
    ordered = sorted(values)
    n = len(ordered)
    reach = 1.96 * math.sqrt(n) / 2
    low, high = max(0, math.floor(n / 2 - reach)), min(n - 1, math.ceil(n / 2 + reach))
    return statistics.median(ordered), ordered[low], ordered[high]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="the built function_server")
    parser.add_argument("--threads", type=int, default=1, help="of both sides (default 1)")
    parser.add_argument("--rounds", type=int, default=15, help="all sides once in each (default 15)")
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)

    skiff = Skiff(arguments.server, arguments.threads)
    print(f"TensorFlow {tf.__version__}, {arguments.threads} thread(s); medians in us a call; ratio = tf.function / "
          "Skiff with its 95 % interval")
    print(f"{'workload':16} {'TF eager':>10} {'tf.function':>12} {'Skiff':>10} {'ratio':>7}")
    for workload in workloads():
        check(workload, skiff)
        sides = [lambda n: workload.run(workload.eager, n), lambda n: workload.run(workload.graph, n),
                 lambda n: skiff.run(workload.name, n)]
        times = [[], [], []]
        for i in range(arguments.rounds + 2):
            for side in range(3) if i % 2 == 0 else reversed(range(3)):
                time.sleep(0.01)  # Another side's threads stop spinning in the meantime.
                sides[side](1)
                times[side].append(sides[side](workload.calls))
        eager, graph, own = (side[2:] for side in times)
        ratio, low, high = interval([a / b for a, b in zip(graph, own)])
        print(f"{workload.name:16} {statistics.median(eager):10.1f} {statistics.median(graph):12.1f} "
              f"{statistics.median(own):10.1f} {ratio:7.2f} [{low:.2f}, {high:.2f}]", flush=True)
    skiff.close()


if __name__ == "__main__":
    main()
