"""The process in which LiteRT runs a net for compare_litert.py: one for each interpreter, because some nets end it.

  litert_server.py steps MODEL FOLDER RESOLVER THREADS SEED STEPS   runs on the folder's inputs (made where there are none),
                                                                    writes the outputs there, and prints the ports' names
  litert_server.py time MODEL FOLDER THREADS RUNS                   prints what the start, the memory and the runs took
"""
import json
import pathlib
import statistics
import sys
import time

import numpy as np


def status_kib(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key + ":"))


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


def prepared(model, shapes, resolver, threads):
    """An interpreter for these shapes of the inputs; where there are none, with 1 for open dimensions."""
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
        shape = shapes[i] if shapes else [abs(int(extent)) for extent in port["shape_signature"]]
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


def shapes_in(folder):
    """Of the inputs of the first step that are there."""
    return [np.load(folder / f"input_0_{i}.npy").shape for i in range(len(list(folder.glob("input_0_*.npy"))))]


def run_steps(model, folder, resolver, threads, seed, count, high):
    interpreter = prepared(model, shapes_in(folder), resolver, threads)
    for step in range(count):
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


def steps(model, folder, resolver, threads, seed, count):
    given = list(folder.glob("input_*.npy"))
    arguments = model, folder, resolver, int(threads), int(seed), int(count)
    try:
        interpreter = run_steps(*arguments, 7)
    except RuntimeError:
        if given:
            raise
        for path in folder.glob("input_*.npy"):
            path.unlink()
        interpreter = run_steps(*arguments, 1)
    return names_of(interpreter)


def measured(model, folder, threads, runs):
    """From the file to the first result; by how much the process grew until then at its peak, the library itself aside; and
    the runs behind that. Reading the inputs counts for none of them."""
    import ai_edge_litert.interpreter  # noqa: F401
    inputs = [np.load(folder / f"input_0_{i}.npy") for i in range(len(list(folder.glob("input_0_*.npy"))))]
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # The peak begins anew.
    before = status_kib("VmRSS")
    begin = time.perf_counter_ns()
    interpreter = prepared(model, [value.shape for value in inputs], "XNNPACK", int(threads))
    made = time.perf_counter_ns()
    for port, value in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(port["index"], value)
    set_up = time.perf_counter_ns()
    interpreter.invoke()
    start = time.perf_counter_ns() - set_up + made - begin
    grown = status_kib("VmHWM") - before
    times = []
    for _ in range(int(runs)):
        begin = time.perf_counter_ns()
        interpreter.invoke()
        times.append(time.perf_counter_ns() - begin)
    return {"start ms": start * 1e-6, "run ms": statistics.median(times) * 1e-6, "memory KiB": grown}


def main():
    command, model, folder, *words = sys.argv[1:]
    answer = (steps if command == "steps" else measured)(model, pathlib.Path(folder), *words)
    print("answer " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
