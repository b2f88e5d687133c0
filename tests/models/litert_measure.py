"""Time, start, memory and size beside LiteRT's, for compare_litert.py --measure."""
import math
import os
import statistics

from litert_sides import LiteRT, Refused, Skiff, litert

# What a round takes from each side, and how a table prints it.
FIGURES = {"run ms": "{:.3g}", "start ms": "{:.3g}", "memory KiB": "{:.0f}"}
HEAD = ["file", "MFLOP", *(word for figure in (*FIGURES, "file bytes") for word in (f"{figure}: LiteRT", "Skiff", "ratio"))]
MOST_RUNS = 300


class Measurement:
    """The net in both, and the rounds in which new processes of both took turns."""

    def __init__(self, model, folder, options):
        self.model, self.folder, self.options = model, folder, options
        self.converted = Skiff(options.skiff, model, folder)
        self.converted.match(LiteRT(model, folder, "XNNPACK", options).names)
        self.rounds = {figure: ([], []) for figure in FIGURES}

    def round(self, sides, runs):
        """The figures of LiteRT and of Skiff; `sides` says which goes first."""
        found = [None, None]
        for side in sides:
            found[side] = self.converted.measured(self.options.run_tool, self.options.threads, runs) if side == 1 else \
                litert(self.folder, "time", self.model, self.options.threads, runs)
        return found

    def take(self):
        # The first round brings both files and both programs into memory, and says how long a run takes.
        first = self.round((0, 1), 3)
        both = sum(side["run ms"] for side in first) * 1e-3
        runs = max(1, min(MOST_RUNS, round(self.options.seconds / self.options.rounds / max(both, 1e-9))))
        for i in range(self.options.rounds):
            for side, figures in enumerate(self.round((i % 2, 1 - i % 2), runs)):
                for figure in FIGURES:
                    self.rounds[figure][side].append(figures[figure])

    def row(self):
        """Cells, and the ratios Skiff / LiteRT."""
        cells, ratios = [f"{2e-6 * self.converted.multiply_adds():.4g}"], {}
        for figure, form in FIGURES.items():
            theirs, ours = self.rounds[figure]
            ratios[figure] = statistics.median(b / max(a, 1e-9) for a, b in zip(theirs, ours))
            cells += [form.format(statistics.median(theirs)), form.format(statistics.median(ours)), f"{ratios[figure]:.2f}"]
        sizes = self.model.stat().st_size, self.converted.file.stat().st_size
        ratios["file bytes"] = sizes[1] / sizes[0]
        return cells + [str(size) for size in sizes] + [f"{ratios['file bytes']:.2f}"], ratios


class Measurements:
    """The table, a row as soon as a file is measured."""

    def __init__(self, options):
        self.options, self.ratios, self.left_out = options, {}, {}
        # Both sides and this process, which only waits, stay on as many cores as there are threads.
        cores = sorted(os.sched_getaffinity(0))[-options.threads:]
        os.sched_setaffinity(0, cores)
        print(f"{options.threads} thread{'s' if options.threads > 1 else ''} on cores {', '.join(map(str, cores))}, medians of "
              f"{options.rounds} rounds\n")
        print(f"| {' | '.join(HEAD)} |\n|---|{'---:|' * (len(HEAD) - 1)}", flush=True)

    def add(self, name, model, folder, _):
        try:
            measurement = Measurement(model, folder, self.options)
            measurement.take()
            cells, self.ratios[name] = measurement.row()
        except Refused as error:
            self.left_out[name] = error
            return False
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        return True

    def close(self):
        """The table's last lines."""
        for name, error in self.left_out.items():
            print(f"\nleft out: {name}: {error}")
        for figure in next(iter(self.ratios.values()), {}):
            ratios = [row[figure] for row in self.ratios.values()]
            mean = math.exp(statistics.fmean(math.log(max(ratio, 1e-9)) for ratio in ratios))
            above = sorted((name for name, row in self.ratios.items() if row[figure] > 1), key=lambda name: -self.ratios[name][figure])
            print(f"\n{figure}: geometric mean of Skiff / LiteRT {mean:.3f}; above 1 in {len(above)} of {len(ratios)}"
                  f"{': ' + ', '.join(above) if above else ''}")
