#!/usr/bin/env python3
"""Run times of nets in f32 and quantised, by Skiff and by engines that read the same file, in interleaved rounds.

  compare_integers.py path/to/build --work FOLDER [--nets NET ...] [--engines ENGINE ...] [--threads 1] [--rounds 10] [--pin]
    [--onnx NAME=FILE.onnx ...] [--cpu avx2]

`build` and FOLDER are those of compare_rivals.py, which exports the nets. onnxruntime's static quantiser makes the others:
QDQ, u8 activations, i8 weights with a scale for each channel. Columns: ms of Skiff in f32 and in i8, the same of each engine;
how much faster i8 is than f32 in Skiff; Skiff's time over the fastest engine's in i8; the share of f32 that Skiff's i8 file and
arena take. What onnxruntime computes in i8 on CPUs without VNNI saturates (docs/numerics.md): outputs are not compared.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

import compare_rivals
from compare_rivals import Server, Work, processor


def quantized(work, net):
    target = work.path("onnx", net + "_i8.onnx")
    if not os.path.exists(target):
        work.must("venv", "quantize_net.py", work.path("onnx", net + ".onnx"), target, work.path("inputs", net, "input_0.npy"))
        os.symlink(work.path("inputs", net), work.path("inputs", net + "_i8"))
    return net + "_i8"


def sizes(build, work, net):
    """Bytes of Skiff's file and of its arena."""
    file = work.path("skiff", net + ".skiff")
    os.makedirs(os.path.dirname(file), exist_ok=True)
    tool = os.path.join(build, "converter/cli/skiff")
    subprocess.run([tool, "convert", work.path("onnx", net + ".onnx"), "-o", file], check=True, capture_output=True)
    told = json.loads(subprocess.run([tool, "inspect", "--json", file], check=True, capture_output=True, text=True).stdout)
    return os.path.getsize(file), max(plan["arena_bytes"] for plan in told["signatures"][0]["plans"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--work", required=True, metavar="FOLDER")
    parser.add_argument("--nets", nargs="+", metavar="NET")
    parser.add_argument("--engines", nargs="+", default=["onnxruntime"], choices=["onnxruntime", "openvino"], metavar="ENGINE",
                        help="onnxruntime (default), openvino")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10, help="all sides once in each (default 10)")
    parser.add_argument("--runs", type=int, default=5, help="runs of a side in a round; their median counts (default 5)")
    parser.add_argument("--pin", action="store_true", help="N threads on the first N cores")
    compare_rivals.add_files(parser)
    compare_rivals.add_cpu(parser)
    arguments = parser.parse_args()
    work = Work(arguments.work)
    nets, files = compare_rivals.nets_of(arguments)
    installed = work.prepare(arguments.engines, nets, files)
    if arguments.cpu:
        installed = work.lower(installed, arguments.cpu)
    comparison = compare_rivals.Comparison(work, arguments.build, installed, arguments)
    print(f"{processor()}; {arguments.threads} thread{'s' if arguments.threads > 1 else ''}\n")
    print("| Net | Skiff f32 | i8 | " + "".join(f"{engine} f32 | i8 | " for engine in installed) +
          "f32 / i8 | Skiff / best | file | arena |")
    print("|---|" + "---:|" * (6 + 2 * len(installed)), flush=True)
    for net in nets:
        names = [net, quantized(work, net)]
        engines = [engine for engine in installed if all([work.convert(engine, name) for name in names])]
        sides = [(engine, name) for engine in ["Skiff", *engines] for name in names]
        servers = [Server(comparison.command(engine, name, arguments.threads), comparison.cores(arguments.threads))
                   for engine, name in sides]
        medians = [[] for _ in sides]
        for _ in range(arguments.rounds):
            for server, times in zip(servers, medians):
                time.sleep(0.02)
                server.run(1)
                times.append(statistics.median(server.run(arguments.runs)))
        for server in servers:
            server.close()
        times = {side: statistics.median(column) for side, column in zip(sides, medians)}
        f32, i8 = (sizes(arguments.build, work, name) for name in names)
        cells = [f"{times[engine, name]:.2f}" if (engine, name) in times else "–"
                 for engine in ["Skiff", *installed] for name in names]
        mine = times["Skiff", names[1]]
        best = min((times[engine, names[1]] for engine in engines), default=None)
        print(f"| {net} | {' | '.join(cells)} | {times['Skiff', net] / mine:.2f} | {f'{mine / best:.2f}' if best else '–'} | "
              f"{100 * i8[0] / f32[0]:.0f} % | {100 * i8[1] / f32[1]:.0f} % |", flush=True)
    work.print_left_out()


if __name__ == "__main__":
    main()
