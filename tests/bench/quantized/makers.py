"""Files that Skiff and onnxruntime make of a task's net, and what running them returns and takes."""
import functools
import json
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
import skiff

TIMED_RUNS = 100


def command(*words):
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {result.stderr}")
    return result.stdout


def median_milliseconds(run):
    times = []
    for _ in range(TIMED_RUNS):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def in_calls(inputs, extent):
    """All inputs in one run where the first dimension is open, else one after the other."""
    return [inputs[i:i + 1] for i in range(len(inputs))] if isinstance(extent, int) else [inputs]


class SkiffFile:
    def __init__(self, tool, task, form, options, folder):
        self.path = folder / f"{form}.skiff"
        calls = folder / "calls"
        if not calls.exists():
            calls.mkdir()
            for i, call in enumerate(task.calibration):
                np.save(calls / f"{i}.npy", call[None])
        if form == "f32":
            command(tool, "convert", task.model, "-o", self.path)
        else:
            command(tool, "quantize", task.model, "-o", self.path, "--format", form, "--calibrate", calls, *options)
        self.session = skiff.Model(self.path).session(threads=1)
        self.port = self.session.signature.inputs[0]
        self.names = sorted(port.name for port in self.session.signature.outputs)

    def bytes(self):
        return self.path.stat().st_size

    def run(self, inputs):
        """Outputs in the order of their names."""
        outputs = []
        for call in in_calls(inputs, self.port.shape[0]):
            values = self.session.run({self.port.name: np.ascontiguousarray(call)})
            outputs.append([values[name] for name in self.names])
        return [np.concatenate(parts) for parts in zip(*outputs)]

    def milliseconds(self, call):
        call = np.ascontiguousarray(call)
        return median_milliseconds(lambda: self.session.run({self.port.name: call}, copy=False))


@functools.cache
def teach_squeeze():
    """Tells tflite2onnx, once, of an operator that it does not know."""
    import tflite
    from tflite2onnx.op import OpFactory
    from tflite2onnx.op.reshape import Reshape

    class Squeeze(Reshape):
        TypeMapping = {tflite.BuiltinOperator.SQUEEZE: "Squeeze"}

        @property
        def type(self):
            return "Squeeze"

        def parse(self):
            options, table = tflite.SqueezeOptions(), self.tflite.BuiltinOptions()
            options.Init(table.Bytes, table.Pos)
            self.attrs["axes"] = [int(options.SqueezeDims(i)) for i in range(options.SqueezeDimsLength())]
            self.parseInput(0)
            self.parseOutput(0)
            self.setParsed()

    OpFactory.register(Squeeze)


def as_onnx(model, folder):
    """None: tflite2onnx does not know an operator of the net."""
    if model.suffix == ".onnx":
        return model
    import tflite2onnx
    teach_squeeze()
    path = folder / "from_tflite.onnx"
    try:
        tflite2onnx.convert(str(model), str(path))
    except NotImplementedError:
        return None
    return path


class OnnxruntimeFile:
    def __init__(self, path):
        self.path = path
        options = ort.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", "1")
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.port = self.session.get_inputs()[0]
        self.names = sorted(output.name for output in self.session.get_outputs())

    def bytes(self):
        return self.path.stat().st_size

    def fitting(self, inputs):
        """Channels where the net wants them."""
        shape = self.port.shape
        if len(shape) == 4 and shape[1] != inputs.shape[1] and shape[1] == inputs.shape[3]:
            return inputs.transpose(0, 3, 1, 2)
        return inputs

    def run(self, inputs):
        inputs = self.fitting(inputs)
        calls = in_calls(inputs, self.port.shape[0])
        outputs = [self.session.run(self.names, {self.port.name: call}) for call in calls]
        return [np.concatenate(parts) for parts in zip(*outputs)]

    def milliseconds(self, call):
        call = np.ascontiguousarray(self.fitting(call))
        return median_milliseconds(lambda: self.session.run(self.names, {self.port.name: call}))


def quantize_static(source, calibration, folder):
    """As onnxruntime's documentation has it: prepared, QDQ, a scale for each channel of the weights."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(quantization.CalibrationDataReader):
        def __init__(self, name):
            self.calls = iter({name: call[None]} for call in calibration)

        def get_next(self):
            return next(self.calls, None)

    # Scales of channels came with opset 13.
    net = onnx.load(source)
    if net.opset_import[0].version < 13:
        net = onnx.version_converter.convert_version(net, 13)
    newer, path, prepared = folder / "opset_13.onnx", folder / "onnxruntime.onnx", folder / "prepared.onnx"
    onnx.save(net, newer)
    quant_pre_process(str(newer), str(prepared), skip_symbolic_shape=True)
    of_floats = OnnxruntimeFile(prepared)
    calibration = of_floats.fitting(calibration)
    def quantize(per_channel):
        quantization.quantize_static(str(prepared), str(path), Reader(of_floats.port.name), per_channel=per_channel,
                                     quant_format=quantization.QuantFormat.QDQ)

    try:
        quantize(True)
    except ValueError:  # Biases of a Gemm whose channels have scales (onnxruntime 1.32).
        quantize(False)
    return of_floats, OnnxruntimeFile(path)
