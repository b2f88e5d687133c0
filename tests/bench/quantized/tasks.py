"""Nets with what they are for: inputs, calls to calibrate with, and how good outputs are at the task, in per cent."""
import ast
import json
import pathlib

import numpy as np
import onnx

from quantized import characters, faces, pictures, speech, texts

SEED = 7
CALLS = 64
KEYWORDS = "yes no up down left right on off stop go".split()


class Task:
    def __init__(self, model, calibration, inputs, score):
        """`score(reference, outputs)`: lists of arrays, in the order of the outputs' names; `reference`: the float net's."""
        self.model, self.calibration, self.inputs, self.score = pathlib.Path(model), calibration, inputs, score


def named_right(labels):
    """Of classifiers: `labels` has the right class of each input, or a set of them, any of which is right."""
    sets = [label if isinstance(label, set) else {int(label)} for label in labels]
    return lambda _reference, outputs: 100 * np.mean([int(best) in right for best, right in zip(
        outputs[0].reshape(len(sets), -1).argmax(-1), sets)])


def with_open_batch(model, folder):
    """Any number of inputs in a run."""
    net = onnx.load(model)
    for port in (net.graph.input[0], net.graph.output[0]):
        port.type.tensor_type.shape.dim[0].dim_param = "batch"
    path = folder / pathlib.Path(model).name
    onnx.save(net, path)
    return path


def held_out_fonts(_models, folder):
    calibration, inputs, labels = characters.training_and_held_out(200, CALLS, SEED)
    return Task(with_open_batch(characters.FOLDER / "characters.onnx", folder), calibration, inputs, named_right(labels))


def mobilenet_v1(models, _folder):
    """Photographs from ImageNet; others calibrate. Its class 0 is the background."""
    calibration, _ = pictures.squares(models, 224, CALLS, SEED)
    inputs, labels = pictures.of_imagenet(224, 32, SEED)
    return Task(models / "mobilenet_v1_025_224/mobilenet_v1_0.25_224_fp32.tflite", (calibration / 127.5 - 1).astype(np.float32),
                (inputs / 127.5 - 1).astype(np.float32), named_right(labels + 1))


def resnet8(models, _folder):
    """Stamps of what CIFAR-10 has."""
    calibration, inputs, labels = pictures.named_stamps(32, pictures.cifar10_classes, 20, CALLS, SEED)
    return Task(models / "resnet8_cifar10/resnet8_fp32.tflite", calibration, inputs, named_right(labels))


def mobilenet_v2_backbone(models, _folder):
    """Of which photograph a square is, by the one among the other squares whose mean features point the same way most."""
    squares, labels = pictures.squares(models, 224, 9 * CALLS, SEED)
    scaled = (squares / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    scaled = scaled.transpose(0, 3, 1, 2).astype(np.float32)

    def score(_reference, outputs):
        means = outputs[0].mean((2, 3))
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        alike = means @ means.T - 2 * np.eye(len(means))
        return 100 * np.mean(labels[CALLS:][alike.argmax(1)] == labels[CALLS:])

    return Task(models / "mobilenet_v2_backbone_fp32_onnx/mobilenetv2_backbone_fp32.onnx", scaled[:CALLS], scaled[CALLS:], score)


def face_task(models, file, side, count, scale, boxes_of):
    squares = scale(faces.squares(models, side, CALLS + count, SEED)).astype(np.float32)
    return Task(models / file, squares[:CALLS], squares[CALLS:],
                lambda reference, outputs: 100 * faces.average_precision(boxes_of, reference, outputs))


def face_detection(models, _folder):
    return face_task(models, "mp_face_detection_short_range/face_detection_short_range.onnx", 128, 256,
                     lambda x: x / 127.5 - 1, faces.short_range_boxes)


def yunet(models, _folder):
    return face_task(models, "yunet_face/yunet_n_320_320.onnx", 320, 128,
                     lambda x: x[..., ::-1].transpose(0, 3, 1, 2), faces.yunet_boxes)


def micro_kws(models, _folder):
    """Its classes: silence, unknown, and eight words."""
    seconds, labels = speech.spoken(models, KEYWORDS[:8], SEED, 56)
    inputs = np.stack([speech.features(second).reshape(-1) for second in seconds])
    chosen = np.zeros(len(inputs), bool)
    chosen[np.random.default_rng(SEED).permutation(len(inputs))[:CALLS]] = True
    return Task(models / "micro_kws_m_five_formats/fp32.onnx", inputs[chosen], inputs[~chosen],
                named_right(labels[~chosen] + 2))


def keyword_transformer(models, _folder):
    """Its classes: silence, unknown, and ten words; it reads sound."""
    seconds, labels = speech.spoken(models, KEYWORDS, SEED, 32)
    chosen = np.zeros(len(seconds), bool)
    chosen[np.random.default_rng(SEED).permutation(len(seconds))[:CALLS]] = True
    return Task(models / "kwt1_keyword_transformer/kwt1_fp32.tflite", seconds[chosen], seconds[~chosen],
                named_right(labels[~chosen] + 2))


def magika(models, _folder):
    """What language a file is written in."""
    labels = json.loads((models / "magika_v3_3/config.min.json").read_text())["target_labels_space"]
    labels = labels if isinstance(labels, list) else ast.literal_eval(labels)
    files, right = texts.named_files(characters.ROOT, labels, 100, SEED)
    return Task(models / "magika_v3_3/model.onnx", files[:CALLS], files[CALLS:], named_right(right[CALLS:]))


# What each score counts.
NAMED = "named right"
BOXES = "average precision, the float net's boxes being right"
TASKS = {
    "characters": (held_out_fonts, NAMED),
    "mobilenet_v1_025": (mobilenet_v1, NAMED),
    "mobilenet_v2_backbone": (mobilenet_v2_backbone, "squares found with others of their photograph"),
    "resnet8": (resnet8, NAMED),
    "micro_kws": (micro_kws, NAMED),
    "keyword_transformer": (keyword_transformer, NAMED),
    "face_detection": (face_detection, BOXES),
    "yunet": (yunet, BOXES),
    "magika": (magika, NAMED),
}
