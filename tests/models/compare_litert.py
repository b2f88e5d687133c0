#!/usr/bin/env python3
"""Compares what Skiff makes of TFLite files with LiteRT: outputs on the same inputs and, with --measure, time and memory.

  compare_litert.py path/to/skiff MODEL.tflite|FOLDER ... [--only TEXT] [--seed 1] [--threads 1] [--clips 4]
  compare_litert.py path/to/skiff MODEL.tflite|FOLDER ... --measure [--rounds 10] [--runs 10]

Needs the Python packages ai-edge-litert and numpy, best in a virtual environment; the build and the tests do without them.
A folder stands for all .tflite files below it. Open dimensions are 1. Inputs are random: floats from [-1, 1), quantised
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

Measured are medians of --rounds, in which LiteRT with XNNPACK and `skiff bench` take turns, --runs each; what the peak of
resident memory grew by from before the interpreter was made, and that of a process of `skiff bench`; both files' sizes.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

BACKENDS = ("xnnpack", "reference")


def status_kib(key, process="self"):
    try:
        for line in open(f"/proc/{process}/status"):
            if line.startswith(key + ":"):
                return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


# The side of LiteRT: a process of its own for each interpreter, because some nets end it.

def random_input(generator, port, high):
    shape, dtype = port["shape"], np.dtype(port["dtype"])
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype == bool:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind not in "iu":
        raise ValueError(f"no random elements of type {dtype}")
    if dtype.itemsize <= 2:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.integers(0, high, shape, dtype, endpoint=True)


def prepared(model, folder, resolver, threads):
    """An interpreter for the shapes of the folder's inputs; where there are none, with 1 for open dimensions."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    kind = OpResolverType.BUILTIN_REF if resolver == "reference" else OpResolverType.AUTO
    try:
        interpreter = Interpreter(model_path=model, num_threads=threads, experimental_op_resolver_type=kind)
    except ValueError as error:
        if kind != OpResolverType.BUILTIN_REF or "Didn't find op" not in str(error):
            raise
        kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = Interpreter(model_path=model, num_threads=threads, experimental_op_resolver_type=kind)
    for i, port in enumerate(interpreter.get_input_details()):
        path = folder / f"input_0_{i}.npy"
        shape = np.load(path).shape if path.exists() else [abs(int(extent)) for extent in port["shape_signature"]]
        if list(shape) != list(port["shape"]):
            interpreter.resize_tensor_input(port["index"], shape)
    interpreter.allocate_tensors()
    return interpreter


def inputs_of_step(interpreter, folder, seed, step, high):
    """Those in the folder; where there are none they are made, and put there."""
    generator = np.random.default_rng([seed, step])
    values = []
    for i, port in enumerate(interpreter.get_input_details()):
        path = folder / f"input_{step}_{i}.npy"
        if not path.exists():
            np.save(path, random_input(generator, port, high))
        values.append(np.load(path))
    return values


def run_steps(model, folder, resolver, threads, seed, steps, high):
    interpreter = prepared(model, folder, resolver, threads)
    for step in range(steps):
        for port, value in zip(interpreter.get_input_details(), inputs_of_step(interpreter, folder, seed, step, high)):
            interpreter.set_tensor(port["index"], value)
        interpreter.invoke()
    for i, port in enumerate(interpreter.get_output_details()):
        np.save(folder / f"{resolver}_{i}.npy", interpreter.get_tensor(port["index"]))
    return interpreter


def names_of(interpreter):
    """Of each input and output: the tensor's name, and that in the first signature."""
    signatures = interpreter._get_full_signature_list()
    signature = next(iter(signatures.values()), {"inputs": {}, "outputs": {}})
    return {kind: [[port["name"], *(name for name, index in signature[kind].items() if index == port["index"])]
                   for port in ports]
            for kind, ports in (("inputs", interpreter.get_input_details()), ("outputs", interpreter.get_output_details()))}


def serve(model, folder, resolver, threads, seed, steps):
    folder = pathlib.Path(folder)
    import ai_edge_litert.interpreter  # noqa: F401, so that its memory does not count.
    before = status_kib("VmRSS")
    given = list(folder.glob("input_*.npy"))
    arguments = model, folder, resolver, int(threads), int(seed), int(steps)
    try:
        interpreter = run_steps(*arguments, 7)
    except RuntimeError:
        if given:
            raise
        for path in folder.glob("input_*.npy"):
            path.unlink()
        interpreter = run_steps(*arguments, 1)
    print("ready " + json.dumps(names_of(interpreter)), flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "memory":
            print(status_kib("VmHWM") - before, flush=True)
            continue
        times = []
        for _ in range(int(words[0])):
            begin = time.perf_counter_ns()
            interpreter.invoke()
            times.append(time.perf_counter_ns() - begin)
        print(*times, flush=True)


class Refused(Exception):
    """What one side said instead of an answer."""


def first_error(text):
    """The line that says what was wrong, without the ends of a table's cells."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("INFO", "WARNING", "W0", "I0"))]
    errors = [line for line in lines if "rror" in line.split(":")[0] or line.startswith("skiff")]
    chosen = (errors or lines or ["no message"])[-1 if "Traceback" in text else 0]
    return chosen.replace("|", "/")[:300]


class LiteRT:
    """A process with an interpreter that has run once, on the folder's inputs."""

    def __init__(self, model, folder, resolver, options):
        self.log = open(folder / f"{resolver}.log", "w+")
        steps = options.clips or 1
        command = [sys.executable, __file__, "--serve", model, folder, resolver, options.threads, options.seed, steps]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        answer = self.answer()
        self.names = json.loads(answer.removeprefix("ready "))
        self.outputs = [np.load(folder / f"{resolver}_{i}.npy") for i in range(len(self.names["outputs"]))]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.log.seek(0)
            said = first_error(self.log.read()) if code > 0 else f"ended by signal {-code}"
            raise Refused(f"LiteRT: {said}")
        return line.strip()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return [int(word) for word in self.answer().split()]

    def run(self, times):
        return [ns * 1e-6 for ns in self.ask(f"run {times}")]

    def memory(self):
        return self.ask("memory")[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# The side of Skiff.

def skiff(tool, *words):
    done = subprocess.run([str(word) for word in (tool, *words)], capture_output=True, text=True)
    if done.returncode != 0:
        said = first_error(done.stderr).removeprefix("skiff: error: ") if done.returncode > 0 else \
            f"ended by signal {-done.returncode}"
        raise Refused(f"skiff {words[0]}: {said}")
    return done.stdout


def places(ports, names):
    """For each of LiteRT's ports the place among Skiff's: by name where all are found, else by order."""
    own = [port["name"] for port in ports]
    found = [next((own.index(name) for name in known if name in own), None) for known in names]
    return found if None not in found and len(set(found)) == len(found) else list(range(len(names)))


def file_names(ports):
    """As `skiff run --output` calls them."""
    taken = {}
    for name in sorted(port["name"] for port in ports):
        base = "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in name[:100])
        base = base if base and base[0] != "." else "_" + base
        file, i = base, 2
        while file in taken.values():
            file, i = f"{base}_{i}", i + 1
        taken[name] = file
    return [taken[port["name"]] for port in ports]


class Skiff:
    """A converted net."""

    def __init__(self, tool, model, folder):
        self.tool, self.folder, self.file = tool, folder, folder / "model.skiff"
        open_dimensions = json.loads(skiff(tool, "inspect", model, "--json"))["open_dimensions"]
        skiff(tool, "convert", model, "-o", self.file, *(word for name in open_dimensions for word in ("--dim", name + "=1")))
        self.signature = json.loads(skiff(tool, "inspect", "--json", self.file))["signatures"][0]

    def match(self, names):
        """Says which of its ports are LiteRT's; inputs that are none of them are states."""
        inputs, outputs = self.signature["inputs"], self.signature["outputs"]
        if len(inputs) < len(names["inputs"]) or len(outputs) < len(names["outputs"]):
            raise Refused(f"{len(inputs)} inputs and {len(outputs)} outputs, but LiteRT has {len(names['inputs'])} and "
                          f"{len(names['outputs'])}")
        self.inputs, self.outputs = places(inputs, names["inputs"]), places(outputs, names["outputs"])
        self.states = [i for i in range(len(inputs)) if i not in self.inputs]

    def first_state(self, port):
        types = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32,
                 "i64": np.int64, "bool": bool}
        return np.zeros([extent if isinstance(extent, int) else 1 for extent in port["shape"]], types[port["dtype"]])

    def run(self, backend, threads, steps):
        """The outputs of the last step, in LiteRT's order."""
        ports = self.signature["inputs"]
        results = [port["name"] for port in self.signature["outputs"]]
        if steps > 1 and not all(ports[i]["name"] in results for i in self.states):
            raise Refused("skiff run: the states are no outputs of the same name")
        states = {i: self.first_state(ports[i]) for i in self.states}
        for step in range(steps):
            words = ["run", self.file, "--backend", backend, "--threads", threads, "--output", self.folder / "out"]
            for i, place in enumerate(self.inputs):
                words += ["--input", f"{ports[place]['name']}={self.folder / f'input_{step}_{i}.npy'}"]
            for i, value in states.items():
                np.save(self.folder / f"state_{i}.npy", value)
                words += ["--input", f"{ports[i]['name']}={self.folder / f'state_{i}.npy'}"]
            skiff(self.tool, *words)
            values = [np.load(self.folder / "out" / f"{name}.npy") for name in file_names(self.signature["outputs"])]
            states = {i: values[results.index(ports[i]["name"])] for i in states if steps > 1}
        return [values[place] for place in self.outputs]

    def bench(self, threads, runs):
        told = json.loads(skiff(self.tool, "bench", self.file, "--threads", threads, "--warmup", 3, "--runs", runs, "--json"))
        return told["median_ns"] * 1e-6

    def memory(self, threads):
        command = [self.tool, "bench", self.file, "--threads", threads, "--warmup", 0, "--runs", 1, "--json"]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            peak = max(peak, status_kib("VmHWM", process.pid))
            time.sleep(0.001)
        return peak


# Comparing.

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


def started(model, folder, options):
    """LiteRT with XNNPACK and by reference, each an object or what was refused; and the reference's outputs."""
    if len(stored(model, "output")) > 0 and not options.clips:
        for i, path in enumerate(stored(model, "input")):
            (folder / f"input_0_{i}.npy").symlink_to(path.resolve())
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
    for side in (reference_side, fast):
        if isinstance(side, LiteRT):
            side.close()
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


def measure(name, model, folder, options):
    options.no_reference = True
    converted = Skiff(options.skiff, model, folder)
    fast = started(model, folder, options)[1]
    try:
        fast.run(3)
        times = [[], []]
        for _ in range(options.rounds):
            times[0].append(statistics.median(fast.run(options.runs)))
            times[1].append(converted.bench(options.threads, options.runs))
        theirs, ours = (statistics.median(column) for column in times)
        ratio = statistics.median(b / a for a, b in zip(*times))
        print(f"| {name} | {theirs:.3f} | {ours:.3f} | {ratio:.2f} | {fast.memory() / 1024:.1f} | "
              f"{converted.memory(options.threads) / 1024:.1f} | {model.stat().st_size / 2**20:.2f} | "
              f"{converted.file.stat().st_size / 2**20:.2f} |", flush=True)
    finally:
        fast.close()
    return True


def models(paths):
    """Pairs of a name and a file."""
    for path in paths:
        if path.is_dir():
            for model in sorted(path.rglob("*.tflite")):
                inside = model.relative_to(path)
                yield str(inside.parent if inside.stem == "model" and len(inside.parts) > 1 else inside.with_suffix("")), model
        else:
            yield path.stem, path


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff", help="the built command line tool")
    parser.add_argument("paths", type=pathlib.Path, nargs="+", metavar="MODEL.tflite|FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this text in their name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="of Skiff's; repeatable (default: both)")
    parser.add_argument("--no-reference", action="store_true", help="without LiteRT's reference kernels, which are slow")
    parser.add_argument("--clips", type=int, metavar="N", help="compare after N steps of a net with states")
    parser.add_argument("--measure", action="store_true", help="time, memory and sizes instead of outputs")
    parser.add_argument("--rounds", type=int, default=10, help="both sides once in each (default 10)")
    parser.add_argument("--runs", type=int, default=10, help="runs of a side in a round; their median counts (default 10)")
    options = parser.parse_args()
    if options.measure:
        print("| file | LiteRT ms | Skiff ms | Skiff / LiteRT | LiteRT MiB | Skiff MiB | .tflite MiB | .skiff MiB |")
        print("|---|" + "---:|" * 7, flush=True)
    else:
        print("| file | backend | output | reference | XNNPACK | LiteRT |\n|---|---|---:|---:|---:|---:|", flush=True)
    count = refused = 0
    for name, model in models(options.paths):
        if options.only not in name:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                passed = (measure if options.measure else compare)(name, model, pathlib.Path(folder), options)
            except Refused as error:
                passed = False
                print(f"| {name} | {error} |", flush=True)
        refused += not passed
    print(f"\n{count} files, {refused} refused by one side")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
