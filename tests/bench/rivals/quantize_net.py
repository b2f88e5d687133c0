"""Writes what onnxruntime's static quantiser makes of a net: usage: quantize_net.py FLOAT.onnx TARGET.onnx INPUT.npy

QDQ with u8 activations and i8 weights, one scale for each output channel; calibrated on the input and noise around it.
"""
import os
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

CALIBRATED_ON = 4


class Inputs(CalibrationDataReader):
    def __init__(self, name, array):
        random = np.random.default_rng(1)
        noise = lambda: random.normal(0, 0.1, array.shape).astype(array.dtype)
        self.feeds = iter([{name: array + (noise() if i and array.dtype.kind == "f" else 0)} for i in range(CALIBRATED_ON)])

    def get_next(self):
        return next(self.feeds, None)


def main(source, target, example):
    name = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).get_inputs()[0].name
    with tempfile.TemporaryDirectory() as folder:
        prepared = os.path.join(folder, "prepared.onnx")
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, target, Inputs(name, np.load(example)), quant_format=QuantFormat.QDQ,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
