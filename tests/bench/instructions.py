#!/usr/bin/env python3
"""Counts where the instructions of Session::Run go, and prints the share outside of kernels. One thread.

  instructions.py path/to/overhead_bench MODEL.onnx [--runs 3] [--limit 2.0] [--top 12]
  instructions.py path/to/aarch64/skiff-run MODEL.skiff --emulated cortex-a76 [--shape NAME=1x16]

The first with callgrind. Valgrind has no AVX-512, so XNNPACK and Skiff take their AVX2 kernels. The second with
qemu-user: what N runs more cost, counted by function; code of shared libraries (the C library's) is '?'. XNNPACK chooses
kernels by the number of the CPU's part, which it reads in /proc/cpuinfo: the program is given one of that CPU.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

# The functions of delegates/xnnpack/kernels.
SKIFF_KERNELS = re.compile(
    r"skiff::xnnpack::(.*::)?(Unary|Binary|Compare|Logic|Choose|Convert|ToBool|Not|Truncate|Widen|Narrow|ReduceRows?"
    r"|LogSoftmax|LayerNorm|Depthwise\w*|Window\w*|(Neon)?Dense\w*|Winograd\w*|\w*FewBits\w*|Wide\w*|Code(Binary|De|Sums|Winograd)\w*|NeonCodeSums|\w+Codes|CodesOfBlocks|AddToSums|NarrowSums|RoundRow"
    r"|Copy(Long)?Rows|Copy\w*Pieces?)[<(]")

# The first kind whose pattern matches a function's name is the function's kind.
KINDS = [
    ("XNNPACK kernels", True, re.compile(r"^xnn_.*ukernel")),
    ("Skiff kernels", True, SKIFF_KERNELS),
    ("XNNPACK dispatch", False, re.compile(r"^(xnn_|compute_)")),
    ("pthreadpool", False, re.compile(r"^(pthreadpool_|thread_)")),
    ("Skiff", False, re.compile(r"skiff")),
    ("other", False, re.compile(r"")),
]


# CPU -> the number of its part, and what qemu-aarch64 runs for it: it has no A55, whose instructions the A76 knows.
CPUS = {
    "cortex-a53": ("0xd03", "cortex-a53"),
    "cortex-a55": ("0xd05", "cortex-a76"),
    "cortex-a57": ("0xd07", "cortex-a57"),
    "cortex-a72": ("0xd08", "cortex-a72"),
    "cortex-a76": ("0xd0b", "cortex-a76"),
    "neoverse-n1": ("0xd0c", "neoverse-n1"),
}


def make_root(folder, cpu):
    """A folder that emulated programs find their libraries and /proc/cpuinfo in."""
    libraries = "/usr/aarch64-linux-gnu"
    for name in os.listdir(libraries):
        os.symlink(os.path.join(libraries, name), os.path.join(folder, name))
    os.mkdir(os.path.join(folder, "proc"))
    with open(os.path.join(folder, "proc", "cpuinfo"), "w") as file:
        for i in range(os.cpu_count()):
            file.write(f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
                       f"CPU part\t: {CPUS[cpu][0]}\nCPU revision\t: 0\n\n")
    return folder


def read_self_costs(path):
    """Instructions by function, calls not included, from callgrind's file format."""
    names = {}
    costs = collections.Counter()
    function = None
    skip_cost = False
    for line in open(path):
        if line.startswith("fn="):
            match = re.match(r"fn=\((\d+)\)(?: (.*))?", line.rstrip("\n"))
            if match.group(2):
                names[match.group(1)] = match.group(2)
            function = names[match.group(1)]
        elif line.startswith("cfn="):
            match = re.match(r"cfn=\((\d+)\)(?: (.*))?", line.rstrip("\n"))
            if match.group(2):
                names[match.group(1)] = match.group(2)
        elif line.startswith("calls="):
            skip_cost = True  # The next line is what the callee cost.
        elif line[:1].isdigit() or line[:1] in "+-*":
            if not skip_cost:
                costs[function] += int(line.split()[1])
            skip_cost = False
    return costs


def count(program, model, runs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--dump-line=no",
                   "--toggle-collect=skiff_bench_counted_runs", f"--callgrind-out-file={path}",
                   program, model, "--instructions", str(runs)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {result.returncode}:\n{result.stderr[-2000:]}")
        return read_self_costs(path)


def count_emulated(arguments):
    """Of `runs` runs: the difference between twice as many and as many, so that the start does not count."""
    with tempfile.TemporaryDirectory() as folder:
        plugin = os.path.join(folder, "count.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count_instructions.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source], check=True)
        root = make_root(tempfile.mkdtemp(dir=folder), arguments.emulated)

        def counts(runs):
            path = os.path.join(folder, "counts.txt")
            command = ["qemu-aarch64", "-L", root, "-cpu", CPUS[arguments.emulated][1], "-plugin",
                       f"{plugin},to={path}", arguments.program, arguments.model, "--threads", "1", "--bench", str(runs)]
            for shape in arguments.shape:
                command += ["--shape", shape]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit code {result.returncode}:\n{result.stderr[-2000:]}")
            text = subprocess.run(["c++filt"], stdin=open(path), capture_output=True, text=True, check=True).stdout
            costs = collections.Counter()
            for line in text.splitlines():
                instructions, name = line.split(" ", 1)
                costs[name] += int(instructions)
            return costs

        few = counts(arguments.runs)
        many = counts(2 * arguments.runs)
        return collections.Counter({name: many[name] - few[name] for name in many if many[name] != few[name]})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built overhead_bench; with --emulated, skiff-run for aarch64")
    parser.add_argument("model", help="an ONNX model; with --emulated, a .skiff file")
    parser.add_argument("--emulated", metavar="CPU", choices=CPUS,
                        help=f"count on this CPU, under qemu-aarch64: {', '.join(CPUS)}")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1x16", help="as in skiff-run")
    parser.add_argument("--runs", type=int, default=3, help="counted runs after a warm-up (default 3)")
    parser.add_argument("--limit", type=float, help="exit code 3 when the share in percent is above this")
    parser.add_argument("--top", type=int, default=12, help="functions outside of kernels to list")
    arguments = parser.parse_args()

    costs = count_emulated(arguments) if arguments.emulated else count(arguments.program, arguments.model, arguments.runs)
    total = sum(costs.values())
    if total == 0 or not any(kind[1] and kind[2].search(name) for kind in KINDS for name in costs):
        sys.exit("no kernel was counted: is the program stripped?")
    kind_of = {name: next(kind for kind in KINDS if kind[2].search(name)) for name in costs}
    print(f"{total / arguments.runs:,.0f} instructions a run")
    for kind in KINDS:
        instructions = sum(costs[name] for name in costs if kind_of[name] is kind)
        print(f"  {kind[0]:18} {100 * instructions / total:7.3f} %")
    outside = [(instructions, name) for name, instructions in costs.most_common() if not kind_of[name][1]]
    share = 100 * sum(instructions for instructions, _ in outside) / total
    print(f"outside of kernels: {share:.3f} %, most of it in")
    for instructions, name in outside[:arguments.top]:
        print(f"  {100 * instructions / total:7.3f} %  {instructions / arguments.runs:12,.0f}  {name[:100]}")
    if arguments.limit is not None:
        print(f"limit {arguments.limit} %: {'kept' if share <= arguments.limit else 'NOT KEPT'}")
        sys.exit(0 if share <= arguments.limit else 3)


if __name__ == "__main__":
    main()
