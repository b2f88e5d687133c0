#!/usr/bin/env python3
"""Writes loudness.onnx, a net with an operator that ONNX does not have; needs the packages onnx and numpy.

usage: make_net.py FILE
The energies of a signal's frames, in decibels, and how near their mean is to three levels.
"""
import argparse
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

FRAME, STEP = 128, 64
LEVELS_IN_DECIBELS = [-60, -20, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    file = parser.parse_args().file
    constants = {
        "frames": np.array([FRAME, STEP], np.int64),
        "floor": np.array(1e-10, np.float32),
        "decibels": np.array(10 / np.log(10), np.float32),
        "levels": np.array(LEVELS_IN_DECIBELS, np.float32),
        "sharpness": np.array(-0.1, np.float32),
    }
    nodes = [
        helper.make_node("FrameEnergy", ["signal", "frames"], ["energies"], name="frame_energy", domain="acme"),
        helper.make_node("Max", ["energies", "floor"], ["audible"]),
        helper.make_node("Log", ["audible"], ["logarithms"]),
        helper.make_node("Mul", ["logarithms", "decibels"], ["in_decibels"]),
        helper.make_node("ReduceMean", ["in_decibels"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["mean", "levels"], ["differences"]),
        helper.make_node("Abs", ["differences"], ["distances"]),
        helper.make_node("Mul", ["distances", "sharpness"], ["nearness"]),
        helper.make_node("Softmax", ["nearness"], ["probabilities"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "loudness",
        [helper.make_tensor_value_info("signal", TensorProto.FLOAT, ["batch", 1024])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
        # What `--custom`, which knows no shape rule, goes by.
        value_info=[helper.make_tensor_value_info("energies", TensorProto.FLOAT, ["batch", (1024 - FRAME) // STEP + 1])])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), file)


if __name__ == "__main__":
    main()
