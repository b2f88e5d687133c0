"""The engines that compare_rivals.py times beside Skiff. Runs in the virtual environment that compare_rivals.py makes.

  engines.py convert ENGINE FOLDER NET           writes FOLDER/ENGINE/NET/, from nets.py's files
  engines.py serve ENGINE FOLDER NET THREADS     keeps it loaded; answers "run N" with N durations in nanoseconds, "save
                                                 FOLDER" by writing the outputs as .npy files, as run_server does
  engines.py start ENGINE FOLDER NET THREADS     loads it, runs it once, and prints what that took
"""
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np


class Engine:
    """A loaded net: run() computes, outputs() returns the arrays of the last run. Inputs are set at creation."""

    @staticmethod
    def prepare():
        """Imports the library, so that this does not count as loading a net."""

    @staticmethod
    def convert(net, target):
        """Writes the engine's files into the folder `target`."""


class Net:
    """What nets.py wrote for a net."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.onnx = os.path.join(folder, "onnx", name + ".onnx")

    def input(self):
        return np.load(os.path.join(self.folder, "inputs", self.name, "input_0.npy"))

    def module(self):
        """The PyTorch module and its input."""
        if not os.path.exists(os.path.join(self.folder, "weights", self.name + ".pt")):
            raise ValueError("converts from PyTorch, and this net came as an ONNX file")
        import nets
        import torch
        return nets.load(self.folder, self.name), torch.from_numpy(self.input())


def run_tool(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        said = (result.stderr or result.stdout)[-300:]
        raise ValueError(f"{os.path.basename(command[0])}: exit code {result.returncode}: {said}")


def tool(name):
    return os.path.join(os.path.dirname(sys.executable), name)


class OnnxRuntime(Engine):
    @staticmethod
    def prepare():
        import onnxruntime  # noqa: F401

    @staticmethod
    def convert(net, target):
        os.symlink(os.path.abspath(net.onnx), os.path.join(target, "net.onnx"))

    def __init__(self, files, net, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(files, "net.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.feeds = {self.session.get_inputs()[0].name: net.input()}

    def run(self):
        self.results = self.session.run(None, self.feeds)

    def outputs(self):
        return self.results


class OpenVino(Engine):
    @staticmethod
    def prepare():
        import openvino  # noqa: F401

    @staticmethod
    def convert(net, target):
        import openvino
        openvino.save_model(openvino.convert_model(net.onnx), os.path.join(target, "net.xml"), compress_to_fp16=False)

    def __init__(self, files, net, threads):
        import openvino
        compiled = openvino.Core().compile_model(os.path.join(files, "net.xml"), "CPU", {
            "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        self.request = compiled.create_infer_request()
        self.request.set_input_tensor(openvino.Tensor(net.input()))

    def run(self):
        self.request.infer()

    def outputs(self):
        return [np.array(tensor.data) for tensor in self.request.output_tensors]


class LiteRt(Engine):
    @staticmethod
    def prepare():
        import ai_edge_litert.interpreter  # noqa: F401

    @staticmethod
    def convert(net, target):
        import litert_torch
        module, example = net.module()
        if example.ndim == 4:  # Pictures with their channels last, so that nothing is transposed at run time.
            module = litert_torch.to_channel_last_io(module, args=[0])
            example = example.permute(0, 2, 3, 1).contiguous()
        litert_torch.convert(module.eval(), (example,)).export(os.path.join(target, "net.tflite"))

    def __init__(self, files, net, threads):
        from ai_edge_litert.interpreter import Interpreter
        self.interpreter = Interpreter(os.path.join(files, "net.tflite"), num_threads=threads)
        self.interpreter.allocate_tensors()
        port = self.interpreter.get_input_details()[0]
        value = net.input()
        value = value.transpose(0, 2, 3, 1) if value.ndim == 4 else value
        self.interpreter.set_tensor(port["index"], np.ascontiguousarray(value, port["dtype"]))

    def run(self):
        self.interpreter.invoke()

    def outputs(self):
        return [self.interpreter.get_tensor(port["index"]) for port in self.interpreter.get_output_details()]


class Ncnn(Engine):
    @staticmethod
    def prepare():
        import ncnn  # noqa: F401

    @staticmethod
    def convert(net, target):
        """Through pnnx, from TorchScript where there is a module; weights stay f32."""
        value = net.input()
        if os.path.exists(os.path.join(net.folder, "weights", net.name + ".pt")):
            import torch
            module, example = net.module()
            source = os.path.join(target, "net.pt")
            torch.jit.trace(module, example).save(source)
        else:
            source = shutil.copy(net.onnx, os.path.join(target, "net.onnx"))
        kind = "i64" if value.dtype == np.int64 else "f32"
        run_tool(tool("pnnx"), source, f"inputshape=[{','.join(map(str, value.shape))}]{kind}", "fp16=0")
        for name in os.listdir(target):
            if name not in ("net.ncnn.param", "net.ncnn.bin"):
                os.remove(os.path.join(target, name))
        if len(os.listdir(target)) != 2:
            raise ValueError("pnnx wrote no ncnn files")

    def __init__(self, files, net, threads):
        import ncnn
        self.net = ncnn.Net()
        self.net.opt.num_threads = threads
        self.net.opt.use_vulkan_compute = False
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(self.net.opt, option, False)
        param, weights = (os.path.join(files, name) for name in ("net.ncnn.param", "net.ncnn.bin"))
        if self.net.load_param(param) or self.net.load_model(weights):
            raise ValueError("ncnn does not load what pnnx wrote")
        value = net.input()[0]
        # A Mat of Python's buffer protocol refers to the array.
        self.value = np.ascontiguousarray(value, np.int32 if value.dtype == np.int64 else np.float32)
        self.input = ncnn.Mat(self.value)

    def run(self):
        extractor = self.net.create_extractor()
        extractor.input(self.net.input_names()[0], self.input)
        results = [extractor.extract(name) for name in self.net.output_names()]
        if any(code for code, _ in results):
            raise ValueError("ncnn does not run what pnnx wrote")
        self.results = [mat for _, mat in results]

    def outputs(self):
        return [np.array(mat) for mat in self.results]


class Mnn(Engine):
    @staticmethod
    def prepare():
        import MNN  # noqa: F401

    @staticmethod
    def convert(net, target):
        run_tool(tool("mnnconvert"), "-f", "ONNX", "--modelFile", net.onnx, "--MNNModel", os.path.join(target, "net.mnn"),
                 "--bizCode", "skiff")
        if not os.path.exists(os.path.join(target, "net.mnn")):
            raise ValueError("mnnconvert wrote no file")

    def __init__(self, files, net, threads):
        import MNN
        self.interpreter = MNN.Interpreter(os.path.join(files, "net.mnn"))
        self.session = self.interpreter.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
        self.port = self.interpreter.getSessionInput(self.session)
        value = net.input()
        kind = MNN.Halide_Type_Int if value.dtype == np.int64 else MNN.Halide_Type_Float
        value = value.astype(np.int32) if value.dtype == np.int64 else value
        self.input = MNN.Tensor(value.shape, kind, value, MNN.Tensor_DimensionType_Caffe)

    def run(self):
        self.port.copyFrom(self.input)  # A run writes other tensors where the input was.
        self.interpreter.runSession(self.session)

    def outputs(self):
        import MNN
        arrays = []
        for tensor in self.interpreter.getSessionOutputAll(self.session).values():
            host = MNN.Tensor(tensor.getShape(), MNN.Halide_Type_Float,
                              np.zeros(tensor.getShape(), np.float32), MNN.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            arrays.append(np.array(host.getNumpyData()))
        return arrays


class ExecuTorch(Engine):
    @staticmethod
    def prepare():
        import executorch.extension.pybindings.portable_lib  # noqa: F401

    @staticmethod
    def convert(net, target):
        import torch
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower
        module, example = net.module()
        exported = torch.export.export(module, (example,))
        program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        with open(os.path.join(target, "net.pte"), "wb") as file:
            file.write(program.to_executorch().buffer)

    def __init__(self, files, net, threads):
        import torch
        from executorch.extension.pybindings import portable_lib
        portable_lib._unsafe_reset_threadpool(threads)
        self.module = portable_lib._load_for_executorch(os.path.join(files, "net.pte"))
        self.arguments = [torch.from_numpy(net.input())]

    def run(self):
        self.results = self.module.forward(self.arguments)

    def outputs(self):
        return [tensor.numpy() for tensor in self.results]


ENGINES = {
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "litert": LiteRt,
    "ncnn": Ncnn,
    "mnn": Mnn,
    "executorch": ExecuTorch,
}


def convert(engine, folder, name):
    """Into a folder beside, which is renamed once it is whole."""
    target = os.path.join(folder, engine, name)
    partial = target + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    ENGINES[engine].convert(Net(folder, name), partial)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(partial, target)


def load(engine, folder, name, threads):
    ENGINES[engine].prepare()
    return ENGINES[engine](os.path.join(folder, engine, name), Net(folder, name), threads)


def serve(loaded, answers):
    loaded.run()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        command, argument = line.split()
        if command == "run":
            durations = []
            for _ in range(int(argument)):
                begin = time.perf_counter_ns()
                loaded.run()
                durations.append(time.perf_counter_ns() - begin)
            print(*durations, file=answers, flush=True)
        else:
            for i, array in enumerate(loaded.outputs()):
                np.save(os.path.join(argument, f"{i}.npy"), array)
            print("saved", file=answers, flush=True)


def memory(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def start(engine, folder, name, threads, answers):
    """How long loading and the first run took, and by how many MiB the process grew at its peak."""
    ENGINES[engine].prepare()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # The peak begins anew.
    before = memory("VmRSS")
    begin = time.perf_counter()
    load(engine, folder, name, threads).run()
    print(json.dumps({"ms": 1e3 * (time.perf_counter() - begin), "MiB": memory("VmHWM") - before}), file=answers, flush=True)


def main():
    # Libraries print what they like; the answers keep the real standard output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    command, engine, folder, name = sys.argv[1:5]
    try:
        if command == "convert":
            convert(engine, folder, name)
        elif command == "serve":
            serve(load(engine, folder, name, int(sys.argv[5])), answers)
        else:
            start(engine, folder, name, int(sys.argv[5]), answers)
    except Exception as error:
        sys.exit(f"REASON: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


if __name__ == "__main__":
    main()
