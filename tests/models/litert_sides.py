"""The two sides of compare_litert.py: what runs a net in LiteRT, and what runs it in Skiff."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np

SERVER = pathlib.Path(__file__).parent / "litert_server.py"


class Refused(Exception):
    """What one side said instead of an answer."""


def first_error(text):
    """The line that says what was wrong, without the ends of a table's cells."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("INFO", "WARNING", "W0", "I0"))]
    errors = [line for line in lines if "rror" in line.split(":")[0] or line.startswith("skiff")]
    chosen = (errors or lines or ["no message"])[-1 if "Traceback" in text else 0]
    return chosen.replace("|", "/")[:300]


def litert(folder, command, model, *words):
    """The answer of a new process of LiteRT."""
    done = subprocess.run([str(word) for word in (sys.executable, "-B", SERVER, command, model, folder, *words)],
                          capture_output=True, text=True)
    answer = re.search(r"^answer (.*)$", done.stdout, re.MULTILINE)
    if done.returncode == 0 and answer:
        return json.loads(answer[1])
    said = first_error(done.stderr) if done.returncode > 0 else f"ended by signal {-done.returncode}"
    raise Refused(f"LiteRT: {said}")


class LiteRT:
    """What an interpreter gave on the folder's inputs."""

    def __init__(self, model, folder, resolver, options):
        self.names = litert(folder, "steps", model, resolver, options.threads, options.seed, options.clips or 1)
        self.outputs = [np.load(folder / f"{resolver}_{i}.npy") for i in range(len(self.names["outputs"]))]


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

    def words_for(self, step, states):
        """The inputs of a step, as the tools take them; states are given as arrays."""
        ports, words = self.signature["inputs"], []
        for i, place in enumerate(self.inputs):
            words += ["--input", f"{ports[place]['name']}={self.folder / f'input_{step}_{i}.npy'}"]
        for i, value in states.items():
            np.save(self.folder / f"state_{i}.npy", value)
            words += ["--input", f"{ports[i]['name']}={self.folder / f'state_{i}.npy'}"]
        return words

    def first_states(self):
        return {i: self.first_state(self.signature["inputs"][i]) for i in self.states}

    def run(self, backend, threads, steps):
        """The outputs of the last step, in LiteRT's order."""
        ports = self.signature["inputs"]
        results = [port["name"] for port in self.signature["outputs"]]
        if steps > 1 and not all(ports[i]["name"] in results for i in self.states):
            raise Refused("skiff run: the states are no outputs of the same name")
        states = self.first_states()
        for step in range(steps):
            skiff(self.tool, "run", self.file, "--backend", backend, "--threads", threads, "--output", self.folder / "out",
                  *self.words_for(step, states))
            values = [np.load(self.folder / "out" / f"{name}.npy") for name in file_names(self.signature["outputs"])]
            states = {i: values[results.index(ports[i]["name"])] for i in states if steps > 1}
        return [values[place] for place in self.outputs]

    def multiply_adds(self):
        nodes = json.loads(skiff(self.tool, "bench", self.file, "--warmup", 0, "--runs", 1, "--json"))["nodes"]
        return sum(node["multiply_adds"] for node in nodes)

    def measured(self, run_tool, threads, runs):
        """As litert_server.py measures its side, in a new process of skiff-run."""
        words = [run_tool, self.file, "--threads", threads, "--bench", runs, *self.words_for(0, self.first_states())]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(f"skiff-run: {first_error(done.stderr)}")
        number = lambda pattern: float(re.search(pattern, done.stdout)[1])
        start = number(r"start: open ([\d.]+) ms") + number(r"session ([\d.]+) ms") + number(r"run: first ([\d.]+) ms")
        grown = number(r"peak resident memory: (\d+) KiB") - number(r"KiB, (\d+) of them before")
        return {"start ms": start, "run ms": number(r"bench: .* median ([\d.]+) ms"), "memory KiB": grown}
