#!/usr/bin/env python3
"""Measures the start of a program: time to the first result and peak resident memory, in new processes of
skiff-run, without a cache folder, with an empty one (the start that writes it), and with a full one.

  start_up.py path/to/skiff-run MODEL.skiff ... [--rounds 15] [--threads 1] [--shape NAME=1x16]

The three ways take turns, so that the machine's moods burden all alike; the model's file is in the page cache for
all of them. Printed are medians: opening the model, creating the session, the first run, their sum, and the peak
resident memory of the process, in which mapped pages count that other processes may share.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

PATTERNS = {
    "open": r"start: open ([\d.]+) ms",
    "session": r"session ([\d.]+) ms",
    "first run": r"run: first ([\d.]+) ms",
    "peak": r"peak resident memory: (\d+) KiB",
}
WAYS = ["no cache", "writes it", "cached"]


def start(program, model, cache, arguments):
    command = [program, model, "--threads", str(arguments.threads)]
    for shape in arguments.shape:
        command += ["--shape", shape]
    if cache:
        command += ["--cache", cache]
    result = subprocess.run(command, capture_output=True, text=True)
    warnings = [line for line in result.stderr.splitlines() if line and not line.startswith("note:")]
    if result.returncode != 0 or warnings:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}:\n{result.stderr}")
    values = {name: float(re.search(pattern, result.stdout).group(1)) for name, pattern in PATTERNS.items()}
    values["total"] = values["open"] + values["session"] + values["first run"]
    return values


def measure(model, arguments):
    samples = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        start(arguments.program, model, folder, arguments)  # Fills the cache, and brings the model into memory.
        for i in range(arguments.rounds):
            for way in WAYS[i % 3:] + WAYS[:i % 3]:
                if way == "writes it":
                    with tempfile.TemporaryDirectory() as empty:
                        samples[way].append(start(arguments.program, model, empty, arguments))
                else:
                    samples[way].append(start(arguments.program, model, folder if way == "cached" else None, arguments))
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    return samples, size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built skiff-run")
    parser.add_argument("models", nargs="+", metavar="MODEL.skiff")
    parser.add_argument("--rounds", type=int, default=15, help="starts of each way (default 15)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1x16", help="as in skiff-run")
    arguments = parser.parse_args()
    for model in arguments.models:
        samples, size = measure(model, arguments)
        print(f"{model}: {os.path.getsize(model) / 2**20:.1f} MiB, cache file {size / 2**20:.1f} MiB, "
              f"{arguments.threads} thread(s), medians of {arguments.rounds}")
        print(f"  {'ms':10} {'open':>8} {'session':>9} {'first run':>10} {'total':>8} {'peak MiB':>9}")
        for way in WAYS:
            median = {name: statistics.median(sample[name] for sample in samples[way]) for name in samples[way][0]}
            print(f"  {way:10} {median['open']:8.2f} {median['session']:9.2f} {median['first run']:10.2f} "
                  f"{median['total']:8.2f} {median['peak'] / 1024:9.1f}")


if __name__ == "__main__":
    main()
