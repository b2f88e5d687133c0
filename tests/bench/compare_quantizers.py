#!/usr/bin/env python3
"""What quantised nets keep of their float source: Skiff's formats, and onnxruntime's static quantiser with the same data.

  compare_quantizers.py path/to/skiff MODELS [--net NAME ...] [--formats i8 weights4 ...] [--options ...]

Characters are drawn by samples/characters/train.py in fonts that were not trained with, 7 200 of them, and the score is what
is named right. Of other nets the pictures in MODELS are cut into squares, half of which calibrate; the score is the root of
the mean square difference from the float net on the other half, in per cent of its outputs, and of classifiers how often the
best class is the same. Needs numpy, Pillow, onnx and onnxruntime, best in a virtual environment, and the fonts that
samples/characters/README.md lists.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import types

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHARACTERS = ROOT / "samples/characters"
SEED = 7
CALLS = 64

# Name, file, input, side, how samples of 0 to 255 become elements, channels first.
PICTURE_NETS = (
    ("face_detection", "mp_face_detection_short_range/face_detection_short_range.onnx", 128, lambda x: x / 127.5 - 1),
    ("mobilenet_v2_backbone", "mobilenet_v2_backbone_fp32_onnx/mobilenetv2_backbone_fp32.onnx", 224,
     lambda x: x / 127.5 - 1),
    ("yunet", "yunet_face/yunet_n_320_320.onnx", 320, lambda x: x),
    ("mobilenet_v1_025", "mobilenet_v1_025_224/mobilenet_v1_0.25_224_fp32.tflite", 224, lambda x: x / 127.5 - 1),
    ("portrait_mobilenet_v3", "portrait_mobilenet_v3/mnv3_seg_fp32.tflite", 256, lambda x: x / 255),
    ("resnet8", "resnet8_cifar10/resnet8_fp32.tflite", 32, lambda x: x),
    ("deeplabv3", "deeplabv3_257_fp32/deeplabv3_257_fp32.tflite", 257, lambda x: x / 127.5 - 1),
)


class Net:
    def __init__(self, name, path, calibration, inputs, labels=None):
        self.name, self.path, self.calibration, self.inputs, self.labels = name, path, calibration, inputs, labels


def character_drawing():
    """train.py without what trains."""
    for name in ("torch", "torch.nn"):
        module = types.ModuleType(name)
        module.Module = object
        module.nn = module
        sys.modules.setdefault(name, module)
    spec = importlib.util.spec_from_file_location("train", CHARACTERS / "train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    return train


def draw_characters(train, families, per_class, seed):
    random = np.random.default_rng(seed)
    images, labels, glyphs = [], [], {}
    names = list(families)
    for label, character in enumerate(train.LABELS):
        for i in range(per_class):
            fonts = families[names[i % len(names)]]
            font = fonts[random.integers(len(fonts))]
            if (font, character) not in glyphs:
                glyphs[font, character] = train.draw_glyph(font, character)
            picture = train.paint(train.distort(glyphs[font, character], train.SIZE, random), random)
            images.append((picture.transpose(2, 0, 1).astype(np.float32) - train.MEAN) * np.float32(train.SCALE))
            labels.append(label)
    return np.stack(images), np.array(labels)


def characters(_models, folder):
    train = character_drawing()
    fonts = pathlib.Path("/usr/share/fonts")
    training = {name: sorted(fonts.glob(pattern)) for name, pattern in train.TRAINING_FAMILIES.items()}
    training = {name: files for name, files in training.items() if files}
    calibration, _ = draw_characters(train, training, 2, SEED)
    inputs, labels = draw_characters(train, train.find_fonts(fonts, train.HELD_OUT_FAMILIES), 200, SEED + 1)
    # Any number of pictures in a run.
    model = onnx.load(CHARACTERS / "characters.onnx")
    for port in (model.graph.input[0], model.graph.output[0]):
        port.type.tensor_type.shape.dim[0].dim_param = "batch"
    path = folder / "characters.onnx"
    onnx.save(model, path)
    chosen = np.random.default_rng(SEED).permutation(len(calibration))[:CALLS]
    return Net("characters", path, calibration[chosen], inputs, labels)


def squares(models, side, count, seed):
    """Cut out of the pictures, of all sizes, and every second one mirrored."""
    files = sorted(path for path in models.glob("*/*") if path.suffix in (".jpg", ".jpeg", ".bmp")
                   and "mask" not in path.name)
    pictures = [Image.open(path).convert("RGB") for path in files]
    random = np.random.default_rng(seed)
    cut = []
    for i in range(count):
        picture = pictures[i % len(pictures)]
        edge = int(min(picture.size) * random.uniform(0.4, 1))
        left, top = (int(random.integers(0, extent - edge + 1)) for extent in picture.size)
        square = picture.crop((left, top, left + edge, top + edge)).resize((side, side), Image.BILINEAR)
        pixels = np.asarray(square, np.float32)
        cut.append(pixels[:, ::-1] if i % 2 else pixels)
    return np.stack(cut)


def picture_net(models, name, file, side, scale):
    cut = scale(squares(models, side, 2 * CALLS, SEED)).astype(np.float32)
    if file.endswith(".onnx"):
        shape = ort.InferenceSession(models / file).get_inputs()[0].shape
        if shape[1] == 3:
            cut = cut.transpose(0, 3, 1, 2)
    # By turns: every picture is in both halves, in other squares.
    return Net(name, models / file, cut[:CALLS], cut[CALLS:])


def command(*words):
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {result.stderr}")
    return result.stdout


class SkiffFile:
    """A net in a file of Skiff's."""

    def __init__(self, skiff, path):
        self.skiff, self.path = skiff, path

    def bytes(self):
        return self.path.stat().st_size

    def run(self, inputs, folder):
        """Outputs by name; of all inputs in one run where the first dimension is open."""
        signature = json.loads(command(self.skiff, "inspect", self.path, "--json"))["signatures"][0]
        port = signature["inputs"][0]["name"]
        calls = [inputs] if not isinstance(signature["inputs"][0]["shape"][0], int) else [inputs[i:i + 1] for i in
                                                                                          range(len(inputs))]
        outputs = []
        for call in calls:
            np.save(folder / "call.npy", np.ascontiguousarray(call))
            command(self.skiff, "run", self.path, "--input", f"{port}={folder / 'call.npy'}", "--output", folder / "out")
            outputs.append([np.load(path) for path in sorted((folder / "out").iterdir())])
        return [np.concatenate(parts) for parts in zip(*outputs)]

    def milliseconds(self):
        return json.loads(command(self.skiff, "bench", self.path, "--threads", 1, "--json"))["median_ns"] * 1e-6


def quantize(skiff, net, form, options, folder):
    path = folder / f"{net.name}_{form}.skiff"
    calls = folder / f"{net.name}_calls"
    if not calls.exists():
        calls.mkdir()
        for i, call in enumerate(net.calibration):
            np.save(calls / f"{i}.npy", call[None])
    if form == "f32":
        command(skiff, "convert", net.path, "-o", path)
    else:
        command(skiff, "quantize", net.path, "-o", path, "--format", form, "--calibrate", calls, *options)
    return SkiffFile(skiff, path)


class OnnxruntimeFile:
    def __init__(self, path):
        self.path = path
        options = ort.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", "1")
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def bytes(self):
        return self.path.stat().st_size

    def run(self, inputs, _folder):
        port = self.session.get_inputs()[0]
        calls = [inputs] if not isinstance(port.shape[0], int) else [inputs[i:i + 1] for i in range(len(inputs))]
        names = sorted(output.name for output in self.session.get_outputs())
        outputs = [self.session.run(names, {port.name: call}) for call in calls]
        return [np.concatenate(parts) for parts in zip(*outputs)]


def quantize_static(net, folder):
    """As its documentation has it: prepared, QDQ, a scale for each channel of the weights."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(quantization.CalibrationDataReader):
        def __init__(self, name):
            self.calls = iter({name: call[None]} for call in net.calibration)

        def get_next(self):
            return next(self.calls, None)

    # Scales of channels came with opset 13.
    source = onnx.load(net.path)
    if source.opset_import[0].version < 13:
        source = onnx.version_converter.convert_version(source, 13)
    newer = folder / f"{net.name}_13.onnx"
    onnx.save(source, newer)
    path, prepared = folder / f"{net.name}_ort.onnx", folder / f"{net.name}_prepared.onnx"
    quant_pre_process(str(newer), str(prepared), skip_symbolic_shape=True)
    name = ort.InferenceSession(prepared).get_inputs()[0].name
    quantization.quantize_static(str(prepared), str(path), Reader(name), per_channel=True,
                                 quant_format=quantization.QuantFormat.QDQ)
    return OnnxruntimeFile(path)


def score(net, reference, outputs):
    if net.labels is not None:
        return f"{100 * np.mean(outputs[0].argmax(-1) == net.labels):.2f} %"
    rms = max(float(np.sqrt(np.sum((a - b) ** 2) / np.sum(a ** 2))) for a, b in zip(reference, outputs))
    text = f"{100 * rms:.2f} % off"
    if len(reference) == 1 and reference[0].ndim == 2:
        text += f", {100 * np.mean(reference[0].argmax(-1) == outputs[0].argmax(-1)):.1f} % agree"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--net", action="append")
    parser.add_argument("--formats", nargs="+", default=["i8", "16x8", "weights8", "weights4", "f16"])
    parser.add_argument("--options", default="", help="of skiff quantize, separated by spaces")
    parser.add_argument("--no-onnxruntime", action="store_true")
    arguments = parser.parse_args()
    makers = {"characters": characters}
    for name, file, side, scale in PICTURE_NETS:
        makers[name] = lambda models, _folder, row=(name, file, side, scale): picture_net(models, *row)
    print("| net | format | bytes | score | ms, 1 thread |\n|---|---|---|---|---|", flush=True)
    for name in arguments.net or makers:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            net = makers[name](arguments.models, folder)
            reference = None
            for form in ["f32"] + arguments.formats:
                made = quantize(arguments.skiff, net, form, arguments.options.split(), folder)
                outputs = made.run(net.inputs, folder)
                reference = reference or outputs
                print(f"| {name} | {form} | {made.bytes()} | {score(net, reference, outputs)} | "
                      f"{made.milliseconds():.2f} |", flush=True)
            if str(net.path).endswith(".onnx") and not arguments.no_onnxruntime:
                made = quantize_static(net, folder)
                outputs = made.run(net.inputs, folder)
                print(f"| {name} | onnxruntime's i8 | {made.bytes()} | {score(net, reference, outputs)} | |", flush=True)


if __name__ == "__main__":
    main()
