#!/usr/bin/env python3
"""Nets that onnxruntime's quantisers made, by Skiff and by onnxruntime: how many elements of the results are equal.

usage: compare_quantized.py path/to/skiff [--work FOLDER] [--nets NET ...] [--kinds KIND ...]

Architectures of torchvision and transformers with random weights are exported from torch and quantised: `qdq` (static,
QuantizeLinear and DequantizeLinear), `qoperator` (static, QLinear operators), both with u8 values and i8 weights for each
channel, and `dynamic` (quantize_dynamic, i8 weights). A row has the worst output: the share of elements that are equal, and
that differ by more than a unit, of Skiff on XNNPACK from onnxruntime; beside it the same of onnxruntime without its
optimisations from onnxruntime, which says what roundings in between cost. A unit is the result's scale; where the result
is no rounded one, a 256th of its range. Needs torch, torchvision, transformers, onnx and onnxruntime.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime
    import torch
    import torchvision
    import transformers
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

warnings.filterwarnings("ignore")
KINDS = ["qdq", "qoperator", "dynamic"]


class Last(torch.nn.Module):
    """A net of transformers whose result is a tensor."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)[0]


def text(kind, config, **sizes):
    settings = config(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, **sizes)
    return Last(kind(settings)), lambda seed: np.random.default_rng(seed).integers(0, 500, (1, 24))


def distilbert():
    settings = transformers.DistilBertConfig(vocab_size=500, dim=64, n_layers=2, n_heads=4, hidden_dim=128)
    return Last(transformers.DistilBertModel(settings)), lambda seed: np.random.default_rng(seed).integers(0, 500, (1, 24))


def conformer():
    settings = transformers.Wav2Vec2ConformerConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=(32, 32), conv_stride=(5, 2),
        conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    return Last(transformers.Wav2Vec2ConformerModel(settings)), lambda seed: np.random.default_rng(seed).standard_normal((1, 1600), np.float32)


def picture(name, size=96):
    def make():
        net = getattr(torchvision.models, name)(weights=None)
        # Statistics as those of a trained net: else a random one amplifies until all is clipped.
        net.train()
        with torch.no_grad():
            for seed in range(3):
                net(torch.from_numpy(images(seed, 4)))
        return net, lambda seed: images(seed, 1)

    def images(seed, count):
        return np.random.default_rng(seed).standard_normal((count, 3, size, size)).astype(np.float32)

    return make


NETS = {name: picture(name) for name in (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x1_0", "squeezenet1_1", "regnet_y_400mf",
    "densenet121", "mnasnet1_0", "convnext_tiny", "swin_t", "vit_b_16")}
NETS["vit_b_16"] = picture("vit_b_16", 224)
NETS |= {
    "bert": lambda: text(transformers.BertModel, transformers.BertConfig),
    "distilbert": distilbert,
    "gpt2": lambda: (Last(transformers.GPT2Model(transformers.GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=4))),
                     lambda seed: np.random.default_rng(seed).integers(0, 500, (1, 24))),
    "conformer": conformer,
}


class Reader(CalibrationDataReader):
    def __init__(self, inputs):
        self.left = iter(inputs)

    def get_next(self):
        return next(self.left, None)


def export(name, folder):
    torch.manual_seed(1)
    net, inputs = NETS[name]()
    net.eval()
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        raw = path + ".raw"
        torch.onnx.export(net, (torch.from_numpy(inputs(0)),), raw, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        quant_pre_process(raw, path, skip_symbolic_shape=True)
    return path, inputs


def quantise(kind, source, inputs):
    target = source[:-5] + f"_{kind}.onnx"
    if os.path.exists(target):
        return target
    if kind == "dynamic":
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)
    else:
        form = QuantFormat.QDQ if kind == "qdq" else QuantFormat.QOperator
        quantize_static(source, target, Reader([{"x": inputs(seed)} for seed in range(4)]), quant_format=form, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return target


def onnxruntime_result(path, x, optimised):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def unit_of(path, result):
    """The scale of the last DequantizeLinear, where that makes the result."""
    model = onnx.load(path)
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.output[0] == model.graph.output[0].name:
            return float(constants[node.input[1]])
    return float(result.max() - result.min()) / 256


def skiff_result(skiff, path, x, folder):
    call = os.path.join(folder, "x.npy")
    np.save(call, x)
    file = os.path.join(folder, "net.skiff")
    subprocess.run([skiff, "convert", path, "-o", file], check=True, capture_output=True, text=True)
    results = os.path.join(folder, "results")
    subprocess.run([skiff, "run", file, "--input", "x=" + call, "--output", results], check=True, capture_output=True, text=True)
    return np.load(os.path.join(results, "y.npy"))


def told(result, expected, unit):
    steps = np.abs(result.astype(np.float64) - expected) / unit
    return f"{100 * np.mean(steps < 0.5):.2f} % | {100 * np.mean(steps >= 1.5):.2f} % | {steps.max():.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff")
    parser.add_argument("--work", metavar="FOLDER", help="where nets are kept (default: nowhere)")
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=list(NETS), metavar="NET")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, metavar="KIND")
    arguments = parser.parse_args()
    print("| Net | Kind | equal | beyond a unit | most | itself: equal | beyond a unit | most |\n|---|---|" + "---:|" * 6, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.work or temporary
        os.makedirs(folder, exist_ok=True)
        for name in arguments.nets:
            source, inputs = export(name, folder)
            for kind in arguments.kinds:
                try:
                    path = quantise(kind, source, inputs)
                    x = inputs(100)
                    expected = onnxruntime_result(path, x, True)
                    itself = onnxruntime_result(path, x, False)
                except Exception as error:  # pylint: disable=broad-except; onnxruntime's own are of many kinds.
                    print(f"| {name} | {kind} | onnxruntime fails: {str(error).splitlines()[0][:80]} | | | | | |", flush=True)
                    continue
                try:
                    result = skiff_result(arguments.skiff, path, x, temporary)
                except subprocess.CalledProcessError as error:
                    print(f"| {name} | {kind} | FAILS: {error.stderr.strip()[-300:]} | | | | | |", flush=True)
                    continue
                unit = unit_of(path, expected)
                print(f"| {name} | {kind} | {told(result, expected, unit)} | {told(itself, expected, unit)} |", flush=True)


if __name__ == "__main__":
    main()
