#!/usr/bin/env python3
"""How fast Arm cores would run the innermost loops of f32 kernels, as a share of their multiply-add peak.

  predict_arm.py path/to/aarch64/libmicrokernels-prod.a [OUR_KERNELS.o ...] [--match RE]

Prints docs/arm_kernels.md's table: for each kernel of XNNPACK that is chosen on a core, and for ours, the cycles of the
innermost loop with the most multiply-adds. Out-of-order cores by llvm-mca 19 or newer (Debian: llvm-19; LLVM_MCA names
another), the in-order ones by in_order.py. Where the units would allow at least a tenth more than llvm-mca simulates, both
shares are given: LLVM's models wait four cycles for an accumulator that these cores pass on after two. Nothing here runs on
an Arm core.
"""
import argparse
import functools
import os
import re
import shutil
import subprocess
import sys

import in_order
from check_spills import short_name
from disassembly import find_objdump, functions, innermost_loops

# Core in the table -> (model, 128-bit multiply-adds a cycle). The models are of the server cores that share the design.
CORES = {
    "A53": ("a53", 1),
    "A55": ("a55", 1),
    "A76": ("neoverse-n1", 2),
    "A78": ("neoverse-n2", 2),
    "X1": ("neoverse-v1", 4),
}

# What XNNPACK's gemm-config.c and dwconv-config.c choose on these cores: row -> core -> the kernel's name behind
# xnn_f32_*_minmax_ukernel_. Cores that are not named take "others".
CHOSEN = {
    "gemm, 6 rows": ("gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_",
                     {"A53": "cortex_a53_prfm", "A55": "cortex_a55", "A76": "cortex_a75_prfm", "others": "ld128"}),
    "gemm, 4 rows": ("gemm_minmax_ukernel_4x8__asm_aarch64_neonfma_",
                     {"A53": "cortex_a53_prfm", "A55": "cortex_a55", "A76": "cortex_a75_prfm", "others": "ld128"}),
    "gemm, 1 row": ("gemm_minmax_ukernel_1x8__asm_aarch64_neonfma_",
                    {"A53": "cortex_a53_prfm", "A55": "cortex_a53", "A76": "cortex_a75_prfm", "others": "ld128_acc4"}),
    "igemm, 6 rows": ("igemm_minmax_ukernel_6x8__asm_aarch64_neonfma_",
                      {"A53": "cortex_a53_prfm", "A55": "cortex_a55", "A76": "cortex_a75_prfm", "others": "ld128"}),
    "igemm, 4 rows": ("igemm_minmax_ukernel_4x8__asm_aarch64_neonfma_",
                      {"A53": "cortex_a53_prfm", "A55": "cortex_a55", "A76": "cortex_a75_prfm", "others": "ld128"}),
    "igemm, 1 row": ("igemm_minmax_ukernel_1x8__asm_aarch64_neonfma_",
                     {"A53": "cortex_a53_prfm", "A55": "cortex_a53", "A76": "cortex_a75_prfm", "others": "ld64"}),
    "depthwise, 3 taps": ("dwconv_minmax_ukernel_3p8c__", {"others": "neonfma"}),
    "depthwise, 9 taps": ("dwconv_minmax_ukernel_9p", {"A53": "4c__asm_aarch64_neonfma_cortex_a55",
                                                       "A55": "4c__asm_aarch64_neonfma_cortex_a55",
                                                       "others": "8c__neonfma"}),
    "depthwise, 25 taps": ("dwconv_minmax_ukernel_25p8c__", {"others": "neonfma_acc2"}),
}


def multiply_adds(loop):
    """How many 128-bit ones; half ones count half."""
    widths = {"4s": 1, "2d": 1, "8h": 1, "2s": 0.5, "4h": 0.5}
    found = [re.match(r"v\d+\.(\w+)", instruction.operands) for instruction in loop
             if instruction.name in ("fmla", "fmls")]
    return sum(widths.get(match[1], 0) for match in found if match)


def as_source(loop):
    """The loop for llvm-mca, which takes no addresses in jumps."""
    lines = [f"{instruction.name} {re.sub(r'(0x)?[0-9a-f]+ <.*>$', 'there', instruction.operands)}" for instruction in loop]
    return "\n".join(lines) + "\n"


@functools.lru_cache
def find_mca():
    found = os.environ.get("LLVM_MCA") or next(
        filter(None, (shutil.which(name) for name in ("llvm-mca-22", "llvm-mca-20", "llvm-mca-19", "llvm-mca"))), None)
    if not found:
        sys.exit("llvm-mca was not found (Debian: llvm-19); LLVM_MCA names one")
    for _, (model, peak) in CORES.items():
        if model in in_order.CORES:
            continue
        independent = "\n".join(f"fmla v{i}.4s, v30.4s, v31.s[1]" for i in range(24))
        if abs(24 / run_mca(found, independent, model)[0] - peak) > 0.1:
            sys.exit(f"{found} has no model of {model}: version 19 or newer is needed")
    return found


def run_mca(program, source, model, iterations=200):
    """Cycles an iteration: as simulated, and if all but the units' number were perfect."""
    command = [program, "-mtriple=aarch64", "-mcpu=" + model, f"-iterations={iterations}"]
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    match = re.search(r"Total Cycles:\s+(\d+).*Block RThroughput:\s+([\d.]+)", result.stdout, re.DOTALL)
    if not match:
        sys.exit(f"{' '.join(command)}: {result.stderr[-1000:]}")
    return int(match[1]) / iterations, float(match[2])


def predict(loop, core):
    """(cycles an iteration, least cycles that the number of units allows)"""
    model, _ = CORES[core]
    if model in in_order.CORES:
        return (in_order.cycles(loop, model),) * 2
    return run_mca(find_mca(), as_source(loop), model)


def hot_loop(function):
    return max(innermost_loops(function), key=multiply_adds, default=[])


def cell(loop, core):
    cycles, least = predict(loop, core)
    share, most = (round(100 * multiply_adds(loop) / CORES[core][1] / count) for count in (cycles, least))
    return f"{cycles:.1f} ({share}–{most} %)" if most > 1.1 * share else f"{cycles:.1f} ({share} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("objects", nargs="*", help="our kernels of an aarch64 build")
    parser.add_argument("--match", default=".", help="only those of our kernels (avx2:Depthwise<3,2,RealOutputs>)")
    arguments = parser.parse_args()

    objdump = find_objdump("aarch64")
    if not objdump:
        sys.exit("no objdump for aarch64 (Debian: binutils-aarch64-linux-gnu)")
    loops = {function.name: hot_loop(function) for function in functions(objdump, arguments.archive)
             if function.name.startswith("xnn_f32_")}
    print("| Kernel | Multiply-adds | " + " | ".join(CORES) + " |")
    print("|---|---:|" + "---:|" * len(CORES))
    for row, (stem, choice) in CHOSEN.items():
        chosen = {core: loops[f"xnn_f32_{stem}{choice.get(core) or choice['others']}"] for core in CORES}
        counts = list(dict.fromkeys(f"{multiply_adds(loop):g}" for loop in chosen.values()))
        print(f"| XNNPACK {row} | {', '.join(counts)} | " + " | ".join(cell(chosen[core], core) for core in CORES) + " |")
    for path in arguments.objects:
        for function in sorted(functions(objdump, path), key=lambda function: function.name):
            name, loop = short_name(path, function.name), hot_loop(function)
            if re.search(arguments.match, name) and multiply_adds(loop) >= 4:
                print(f"| `{name}` | {multiply_adds(loop):g} | " + " | ".join(cell(loop, core) for core in CORES) + " |")


if __name__ == "__main__":
    main()
