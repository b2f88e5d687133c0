#!/usr/bin/env python3
"""Makes the TFLite cases with several signatures: files of TensorFlow's converter, and what LiteRT's SignatureRunners give.

usage: make_signatures.py [--to FOLDER]

Needs the Python packages tensorflow-cpu, ai-edge-litert and numpy, best in a virtual environment (see make_cases.py); the
build and the tests do without them: what this writes is kept beside it, in signature_cases/. A case is a folder:

  signature_cases/NAME/model.tflite
  signature_cases/NAME/NUMBER_SIGNATURE/input_PORT.npy, output_PORT.npy    the calls, in the order of their numbers

The calls of a case share variables, as those of one interpreter do. Arrays are the same each time; the files are those of
the converter's version.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy as np
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

HERE = pathlib.Path(__file__).resolve().parent
RANDOM = np.random.default_rng(7)


def spec(shape, name, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype, name=name)


def uniform(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


class Total(tf.Module):
    """A variable that one signature accumulates, one reads, and one assigns."""
    signatures = ("add", "get", "reset")

    def __init__(self):
        super().__init__()
        self.total = tf.Variable([1.0, 2.0, 3.0], name="total")

    @tf.function(input_signature=[spec([3], "x")])
    def add(self, x):
        self.total.assign_add(x)
        return {"sum": self.total.read_value()}

    @tf.function(input_signature=[])
    def get(self):
        return {"total": self.total.read_value()}

    @tf.function(input_signature=[spec([3], "to")])
    def reset(self, to):
        before = self.total.read_value()
        self.total.assign(to)
        return {"before": before}

    def calls(self):
        return [("add", {"x": uniform(3)}), ("get", {}), ("add", {"x": uniform(3)}), ("reset", {"to": uniform(3)}),
                ("get", {}), ("add", {"x": uniform(3)}), ("get", {})]


class Codec(tf.Module):
    """Weights that signatures share, and open batches that have one name and nothing to do with each other."""
    signatures = ("encode", "decode", "through")

    def __init__(self):
        super().__init__()
        self.w = tf.constant(uniform(16, 8))
        self.v = tf.constant(uniform(8, 16))

    @tf.function(input_signature=[spec([None, 16], "x")])
    def encode(self, x):
        return {"code": tf.nn.relu(x @ self.w)}

    @tf.function(input_signature=[spec([None, 8], "x")])
    def decode(self, x):
        return {"y": x @ self.v}

    @tf.function(input_signature=[spec([2, 16], "picture"), spec([1], "gain")])
    def through(self, picture, gain):
        return {"y": tf.nn.relu((picture * gain) @ self.w) @ self.v}

    def calls(self):
        return [("encode", {"x": uniform(3, 16)}), ("decode", {"x": uniform(5, 8)}),
                ("through", {"picture": uniform(2, 16), "gain": uniform(1)}), ("encode", {"x": uniform(1, 16)}),
                ("decode", {"x": uniform(2, 8)})]


def converted(module):
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures={name: getattr(module, name) for name in module.signatures})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(module.signatures))
        converter.experimental_enable_resource_variables = True
        return converter.convert()


def make(module, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = converted(module)
    (folder / "model.tflite").write_bytes(data)
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    for number, (name, inputs) in enumerate(module.calls()):
        call = folder / f"{number}_{name}"
        call.mkdir()
        outputs = interpreter.get_signature_runner(name)(**inputs)
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for port, array in arrays.items():
                np.save(call / f"{kind}_{port}.npy", array)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, metavar="FOLDER", default=HERE / "signature_cases",
                        help="default: signature_cases/ beside this")
    arguments = parser.parse_args()
    for module in (Total(), Codec()):
        make(module, arguments.to / type(module).__name__.lower())
    return 0


if __name__ == "__main__":
    sys.exit(main())
