#!/usr/bin/env python3
"""Run times of Skiff and of the other engines that Python's registry offers, in interleaved rounds.

  compare_rivals.py path/to/build --work FOLDER [--nets NET ...] [--engines ENGINE ...] [--threads 1 2] [--rounds 10]
                    [--onnx NAME=FILE.onnx ...] [--cpu avx2] [--pin] [--start] [--list]

`build` is a build folder with tests/bench/run_server, converter/cli/skiff and samples/run_model/skiff-run. FOLDER, outside
of the tree, keeps the virtual environments (15 GB: PyTorch comes with its GPU libraries), the exported nets and each engine's
files (conversion takes up to minutes a net). What is there is not made again, nor is what failed tried again:
ENGINE/NET.failed says why. The nets are torchvision's with random weights, f32, batch 1. Each engine holds each net in a
process of its own, which runs when it is told to; outputs must agree to 1e-3 of the largest. An engine that cannot be
installed, or fails on a net, is named with the reason.

With --cpu all of them see a CPU of a lower tier (lower_tier.py), but ExecuTorch, which is left out then.

With --start no rounds: what a fresh process takes from the file to the first result, by how much it grows at its peak
(without the library itself), and the size of the files.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv

import lower_tier

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals")
NETS = ["mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2", "regnet_y_400mf", "squeezenet_1_1",
        "resnet_18", "resnet_50", "convnext_tiny", "text_encoder"]

# Environment -> what exporting needs there.
COMMON = {
    "venv": ["torch", "torchvision", "onnx", "onnxruntime", "onnxscript", "numpy"],
    "venv_executorch": ["torch", "torchvision"],
}
# Engine -> (environment, packages). The newest ExecuTorch and LiteRT's converter want different versions of PyTorch.
ENGINES = {
    "onnxruntime": ("venv", ["onnxruntime"]),
    "openvino": ("venv", ["openvino"]),
    "litert": ("venv", ["ai-edge-litert", "litert-torch"]),
    "ncnn": ("venv", ["ncnn", "pnnx"]),
    "mnn": ("venv", ["MNN"]),
    "executorch": ("venv_executorch", ["executorch"]),
}
CONVERSION_LIMIT = 1800  # seconds
LONGEST_REASON = 160


def reason_of(text):
    found = re.findall(r"REASON: (.*)", text) or [line for line in text.splitlines() if line.strip()] or ["no message"]
    return found[-1][:LONGEST_REASON]


class Work:
    """The folder that is kept between calls."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.left_out = {}  # (engine, net or None) -> why

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def python(self, environment):
        return self.path(environment, "bin", "python")

    def versions(self, environment, packages):
        """Package -> version, None for one that is missing."""
        code = ("import importlib.metadata as m, json, sys\n"
                "def version(name):\n"
                "  try: return m.version(name)\n"
                "  except m.PackageNotFoundError: return None\n"
                "print(json.dumps({name: version(name) for name in sys.argv[1:]}))")
        if not os.path.exists(self.python(environment)):
            return dict.fromkeys(packages)
        result = subprocess.run([self.python(environment), "-c", code, *packages], capture_output=True, text=True, check=True)
        return json.loads(result.stdout)

    def install(self, environment, packages):
        """Returns why it cannot be, or None. All that is there is named again, so that pip finds versions that fit."""
        if all(self.versions(environment, packages).values()):
            return None
        if not os.path.exists(self.python(environment)):
            venv.create(self.path(environment), with_pip=True)
        known = {name for engine, (place, names) in ENGINES.items() if place == environment for name in names}
        here = [name for name, version in self.versions(environment, sorted(known)).items() if version]
        print(f"installing {' '.join(packages)}", file=sys.stderr)
        command = [self.python(environment), "-m", "pip", "install", "--quiet", *COMMON[environment], *here, *packages]
        result = subprocess.run(command, capture_output=True, text=True)
        return None if result.returncode == 0 else reason_of(result.stderr)

    def prepare(self, engines, nets, files):
        """Installs and exports. Returns the engines that are there."""
        for environment, needed in COMMON.items():
            wanted = [engine for engine in engines if ENGINES[engine][0] == environment]
            # All at once, so that pip looks for versions that fit together; where there are none, one by one.
            together = [*needed, *(name for engine in wanted for name in ENGINES[engine][1])]
            if (wanted or environment == "venv") and not self.install(environment, together):
                continue
            for engine in wanted:
                if failure := self.install(environment, ENGINES[engine][1]):
                    self.left_out[engine, None] = failure
        if not all(self.versions("venv", COMMON["venv"]).values()):
            sys.exit("PyTorch and onnx, which export the nets, cannot be installed")
        missing = [net for net in nets if not os.path.exists(self.path("onnx", net + ".onnx"))]
        for net in missing:
            source = ["--file", files[net]] if net in files else []
            self.must("venv", "nets.py", self.folder, net, *source)
        return [engine for engine in engines if (engine, None) not in self.left_out]

    def must(self, environment, script, *arguments):
        result = self.run(environment, script, *arguments)
        if result.returncode != 0:
            sys.exit(f"{script} {' '.join(arguments)}: {result.stderr[-2000:]}")

    def run(self, environment, script, *arguments, limit=None):
        return subprocess.run([self.python(environment), "-B", os.path.join(SCRIPTS, script), *arguments], capture_output=True,
                              text=True, timeout=limit)

    def convert(self, engine, net):
        """Whether the engine's files of the net are there. A failure is kept, too, in a file beside."""
        failed = self.path(engine, net + ".failed")
        if not os.path.exists(self.path(engine, net)) and not os.path.exists(failed):
            print(f"converting {net} for {engine}", file=sys.stderr)
            os.makedirs(self.path(engine), exist_ok=True)
            try:
                result = self.run(ENGINES[engine][0], "engines.py", "convert", engine, self.folder, net, limit=CONVERSION_LIMIT)
                why = reason_of(result.stderr) if result.returncode != 0 else None
            except subprocess.TimeoutExpired:
                why = f"conversion took more than {CONVERSION_LIMIT} s"
            if why:
                with open(failed, "w") as file:
                    file.write(why)
        if os.path.exists(failed):
            with open(failed) as file:
                self.left_out[engine, net] = file.read()
            return False
        return True

    def lower(self, engines, tier):
        """All processes from now on see a CPU of this tier. Returns the engines that can be made to."""
        able = [engine for engine in engines if ENGINES[engine][0] == "venv"]
        for engine in set(engines) - set(able):
            self.left_out[engine, None] = f"cannot be told to run as on {tier}"
        packages = [ENGINES[engine][1][0] for engine in able]
        os.environ.update(lower_tier.environment(self.folder, self.python("venv"), packages, tier))
        return able

    def print_left_out(self):
        if self.left_out:
            print("\nLeft out:")
        for (engine, net), why in self.left_out.items():
            print(f"- {engine}{f', {net}' if net else ''}: {why}")


class Server:
    """A process that keeps a net loaded, and runs it when told to. All of its threads stay on `cores`."""

    def __init__(self, command, cores):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            code = self.process.wait()
            self.errors.seek(0)
            raise RuntimeError(f"ended with {code}: {reason_of(self.errors.read())}")
        return line

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def run(self, times):
        return [int(word) * 1e-6 for word in self.ask(f"run {times}").split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Comparison:
    def __init__(self, work, build, engines, arguments):
        self.work = work
        self.build = build
        self.engines = engines
        self.arguments = arguments

    def sides(self, net):
        return ["Skiff", *(engine for engine in self.engines if self.work.convert(engine, net))]

    def command(self, engine, net, threads):
        if engine == "Skiff":
            return [os.path.join(self.build, "tests/bench/run_server"), self.work.path("onnx", net + ".onnx"), "--inputs",
                    self.work.path("inputs", net), "--threads", str(threads)]
        return [self.work.python(ENGINES[engine][0]), "-B", os.path.join(SCRIPTS, "engines.py"), "serve", engine,
                self.work.folder, net, str(threads)]

    def cores(self, threads):
        usable = sorted(os.sched_getaffinity(0))
        return set(usable[:threads] if self.arguments.pin else usable)

    def check(self, server, net):
        """Raises what the outputs differ by from PyTorch's (onnxruntime's for a net that came as a file)."""
        with tempfile.TemporaryDirectory() as folder:
            server.ask(f"save {folder}")
            result = self.work.run("venv", "compare_outputs.py", folder, self.work.path("expected", net))
        if result.returncode != 0:
            raise RuntimeError(reason_of(result.stdout + result.stderr))

    def serve(self, net, threads):
        """Engine -> a Server with outputs that are right."""
        servers = {}
        for engine in self.sides(net):
            try:
                server = Server(self.command(engine, net, threads), self.cores(threads))
                server.run(1)
                self.check(server, net)
                servers[engine] = server
            except (RuntimeError, BrokenPipeError) as error:
                self.work.left_out[engine, net] = str(error)
        return servers

    def measure(self, net, threads):
        """Engine -> median of the rounds' medians, in ms."""
        servers = self.serve(net, threads)
        medians = {engine: [] for engine in servers}
        order = list(servers)
        for _ in range(self.arguments.rounds):
            for engine in list(order):
                time.sleep(0.02)  # The last one's threads stop spinning in the meantime.
                try:
                    servers[engine].run(1)
                    medians[engine].append(statistics.median(servers[engine].run(self.arguments.runs)))
                except (RuntimeError, BrokenPipeError) as error:
                    self.work.left_out[engine, net] = str(error)
                    order.remove(engine)
            order = order[1:] + order[:1]
        for server in servers.values():
            server.close()
        return {engine: statistics.median(medians[engine]) for engine in sorted(order)}

    def print_times(self, nets, threads):
        print(f"\nms, {threads} thread{'s' if threads > 1 else ''}{', pinned' if self.arguments.pin else ''}\n")
        print(f"| Net | Skiff | {' | '.join(self.engines)} | Skiff / best |")
        print("|---|" + "---:|" * (len(self.engines) + 2), flush=True)
        gains = []
        for net in nets:
            times = self.measure(net, threads)
            cells = [f"{times[engine]:.2f}" if engine in times else "–" for engine in ["Skiff", *self.engines]]
            rivals = [times[engine] for engine in self.engines if engine in times]
            if "Skiff" in times and rivals:
                gains.append(min(rivals) / times["Skiff"])
            ratio = f"{times['Skiff'] / min(rivals):.2f}" if "Skiff" in times and rivals else "–"
            print(f"| {net} | {' | '.join(cells)} | {ratio} |", flush=True)
        if gains:
            print(f"\ngeometric mean of best rival / Skiff: {math.exp(statistics.fmean(map(math.log, gains))):.3f}", flush=True)

    def skiff(self, program, *arguments):
        result = subprocess.run([os.path.join(self.build, program), *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"ended with {result.returncode}: {reason_of(result.stderr)}")
        return result

    def start_skiff(self, net, threads):
        file = self.work.path("skiff", net + ".skiff")
        if not os.path.exists(file):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            self.skiff("converter/cli/skiff", "convert", self.work.path("onnx", net + ".onnx"), "-o", file)
        result = self.skiff("samples/run_model/skiff-run", file, "--threads", str(threads))
        number = lambda pattern: float(re.search(pattern, result.stdout)[1])
        milliseconds = number(r"start: open ([\d.]+) ms") + number(r"session ([\d.]+) ms") + number(r"run: first ([\d.]+) ms")
        return milliseconds, number(r"peak resident memory: (\d+) KiB") / 1024, os.path.getsize(file)

    def start_rival(self, engine, net, threads):
        result = self.work.run(ENGINES[engine][0], "engines.py", "start", engine, self.work.folder, net, str(threads))
        if result.returncode != 0:
            raise RuntimeError(reason_of(result.stderr))
        answer = json.loads(result.stdout)
        files = self.work.path(engine, net)
        return answer["ms"], answer["MiB"], sum(os.path.getsize(os.path.join(files, name)) for name in os.listdir(files))

    def print_starts(self, nets, threads):
        print(f"\nms to the first result / MiB at the peak / MiB of files; {threads} thread{'s' if threads > 1 else ''}\n")
        print(f"| Net | Skiff | {' | '.join(self.engines)} |")
        print("|---|" + "---:|" * (len(self.engines) + 1), flush=True)
        for net in nets:
            samples = {engine: [] for engine in self.sides(net)}
            for _ in range(self.arguments.rounds):
                for engine in list(samples):
                    try:
                        sample = self.start_skiff(net, threads) if engine == "Skiff" else self.start_rival(engine, net, threads)
                        samples[engine].append(sample)
                    except RuntimeError as error:
                        self.work.left_out[engine, net] = str(error)
                        del samples[engine]
            cells = []
            for engine in ["Skiff", *self.engines]:
                medians = [statistics.median(column) for column in zip(*samples.get(engine, []))]
                cells.append(f"{medians[0]:.1f} / {medians[1]:.1f} / {medians[2] / 2**20:.1f}" if medians else "–")
            print(f"| {net} | {' | '.join(cells)} |", flush=True)


def processor():
    with open("/proc/cpuinfo") as file:
        text = file.read()
    name = re.search(r"model name\s*: (.*)", text)
    tier = next((tier for tier in ("avx512f", "avx2", "avx", "asimd") if re.search(rf"\b{tier}\b", text)), "")
    return f"{name[1] if name else 'unknown processor'}, {tier}, {os.cpu_count()} cores"


def print_list(work, files):
    print("nets:", *NETS, *files)
    for engine, (environment, packages) in ENGINES.items():
        versions = work.versions(environment, packages)
        print(f"{engine}: " + ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items()))


def add_files(parser):
    parser.add_argument("--onnx", action="append", default=[], metavar="NAME=FILE", help="one more net, of one f32 input")


def files_of(arguments):
    return dict(option.split("=", 1) for option in arguments.onnx)


def nets_of(arguments):
    """The nets that are wanted, and the files that those not exported here come from."""
    files = files_of(arguments)
    nets = arguments.nets or [*NETS, *files]
    if unknown := set(nets) - {*NETS, *files}:
        sys.exit(f"unknown nets: {', '.join(sorted(unknown))}; known are {', '.join([*NETS, *files])}")
    return nets, files


def add_cpu(parser):
    parser.add_argument("--cpu", choices=lower_tier.TIERS, metavar="TIER",
                        help=f"{' or '.join(lower_tier.TIERS)}: all engines as on a CPU with no more than that")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--work", required=True, metavar="FOLDER")
    parser.add_argument("--nets", nargs="+", metavar="NET")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=10, help="all engines once in each (default 10)")
    parser.add_argument("--runs", type=int, default=5, help="runs of an engine in a round; their median counts (default 5)")
    add_files(parser)
    add_cpu(parser)
    parser.add_argument("--pin", action="store_true", help="N threads on the first N cores")
    parser.add_argument("--start", action="store_true", help="fresh processes instead of rounds")
    parser.add_argument("--list", action="store_true", help="print the nets and engines, and what is installed")
    arguments = parser.parse_args()

    work = Work(arguments.work)
    if arguments.list:
        return print_list(work, files_of(arguments))
    nets, files = nets_of(arguments)
    engines = work.prepare(arguments.engines, nets, files)
    if arguments.cpu:
        engines = work.lower(engines, arguments.cpu)
    print(processor() + (f", as {arguments.cpu}" if arguments.cpu else ""))
    print(", ".join(f"{engine} {work.versions(*ENGINES[engine])[ENGINES[engine][1][0]]}" for engine in engines))
    comparison = Comparison(work, os.path.abspath(arguments.build), engines, arguments)
    for threads in arguments.threads:
        (comparison.print_starts if arguments.start else comparison.print_times)(nets, threads)
    work.print_left_out()


if __name__ == "__main__":
    main()
