#!/usr/bin/env python3
"""Exports torchvision's detectors with their post-processing, and compares what Skiff finds with what onnxruntime finds.

usage: compare_detectors.py path/to/skiff --work FOLDER [--net NAME ...]

Weights are random: statistics of BatchNorm are taken from pictures, and the last layers are scaled so that scores differ from one
another by more than rounding changes them; of untrained heads all are nearly equal, and any order of the boxes is as good. Inputs are
pictures (smooth noise) and those that nothing or everything is found in. A row is an input: how many boxes, the least difference between two scores,
how far boxes (pixels) and scores are off, and the same of onnxruntime without its optimisations: what rounding costs there.

Rows fail where Skiff has another number of boxes, or another order although the scores are further apart than the yardstick's scores are
off ten times over; not where onnxruntime itself finds another number without its optimisations. Needs torch, torchvision, onnx, onnxruntime and numpy, best in a virtual environment. Exit code 1 where a row fails.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnxruntime as ort
    import torch
    from torchvision.models import detection
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

HEIGHT, WIDTH = 256, 320
SIZE = {"weights": None, "weights_backbone": None, "min_size": HEIGHT, "max_size": WIDTH}
BARE = {"weights": None, "weights_backbone": None}
FEW = {"box_detections_per_img": 10, "rpn_pre_nms_top_n_test": 200, "rpn_post_nms_top_n_test": 60}
NETS = {
    "ssdlite": lambda: detection.ssdlite320_mobilenet_v3_large(**BARE, detections_per_img=20, topk_candidates=60),
    "faster_rcnn": lambda: detection.fasterrcnn_mobilenet_v3_large_320_fpn(**SIZE, **FEW),
    "retinanet": lambda: detection.retinanet_resnet50_fpn(**SIZE, detections_per_img=10, topk_candidates=60),
    "mask_rcnn": lambda: detection.maskrcnn_resnet50_fpn(**SIZE, **FEW),
}


def picture(seed):
    random = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, 16, 20, generator=random)
    smooth = torch.nn.functional.interpolate(coarse, size=(HEIGHT, WIDTH), mode="bicubic")[0]
    return (smooth + 0.2 * torch.rand(3, HEIGHT, WIDTH, generator=random)).clamp(0, 1)


def take_statistics(model):
    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    for layer in layers:
        layer.train()
        layer.momentum = None  # An average over all that is seen.
        layer.reset_running_stats()
    for seed in (100, 101):
        images, _ = model.transform([picture(seed), picture(seed + 100)])
        features = list(model.backbone(images.tensors).values())
        if hasattr(model, "head"):
            model.head(features)
    model.eval()


def scale(model, layer, spread, bias=0.0):
    """Scales a layer so that its results have this standard deviation."""
    seen = []
    hook = layer.register_forward_hook(lambda module, inputs, output: seen.append(output.flatten()))
    model([picture(1)])
    hook.remove()
    layer.weight.mul_(spread / torch.cat(seen).std())
    if layer.bias is not None:
        layer.bias.fill_(bias)


def spread_scores(model):
    if hasattr(model, "rpn"):
        for layer in model.rpn.head.conv.modules():
            if isinstance(layer, torch.nn.Conv2d):
                scale(model, layer, 1)
        predictor = model.roi_heads.box_predictor
        scaled = [(model.rpn.head.cls_logits, 2), (model.rpn.head.bbox_pred, 0.5), (predictor.cls_score, 2), (predictor.bbox_pred, 1)]
        if model.roi_heads.mask_predictor is not None:
            scaled.append((model.roi_heads.mask_predictor.mask_fcn_logits, 2))
        for layer, spread in scaled:
            scale(model, layer, spread)
    elif hasattr(model.head.classification_head, "cls_logits"):
        scale(model, model.head.classification_head.cls_logits, 0.7, bias=-4)
        scale(model, model.head.regression_head.bbox_reg, 0.5)


def export(name, path):
    torch.manual_seed(0)
    model = NETS[name]().eval()
    with torch.no_grad():
        take_statistics(model)
        spread_scores(model)
        names = list(model([picture(1)])[0])
    torch.onnx.export(model, ([picture(1)],), path, opset_version=11, dynamo=False, input_names=["image"], output_names=names)


def inputs():
    yield "picture", picture(1)
    yield "another", picture(2)
    yield "black", torch.zeros(3, HEIGHT, WIDTH)
    yield "white", torch.ones(3, HEIGHT, WIDTH)
    yield "noise", torch.rand(3, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(3))


class Skiff:
    def __init__(self, tool, source, folder):
        self.tool, self.model, self.folder = tool, folder / (source.stem + ".skiff"), folder
        subprocess.run([tool, "convert", source, "-o", self.model], check=True, capture_output=True)

    def __call__(self, image):
        with tempfile.TemporaryDirectory(dir=self.folder) as results:
            np.save(f"{results}/image.npy", image)
            subprocess.run([self.tool, "run", self.model, "--input", f"image={results}/image.npy", "-o", f"{results}/out"],
                           check=True, capture_output=True)
            return {path.stem: np.load(path) for path in pathlib.Path(results, "out").glob("*.npy")}


class OnnxRuntime:
    def __init__(self, source, level):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        self.session = ort.InferenceSession(source, options)

    def __call__(self, image):
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, {self.session.get_inputs()[0].name: image})))


def differences(expected, found):
    """Of boxes and scores, each box beside the nearest of its class; whether the order is the same. None where the numbers differ."""
    if expected["boxes"].shape != found["boxes"].shape:
        return None
    if not len(expected["boxes"]):
        return 0.0, 0.0, True
    apart = np.abs(expected["boxes"][:, None] - found["boxes"][None]).max(2)
    apart[expected["labels"][:, None] != found["labels"][None]] = np.inf
    nearest = apart.argmin(1)
    scores = np.abs(expected["scores"] - found["scores"][nearest])
    return apart.min(1).max(), scores.max(), bool((nearest == np.arange(len(nearest))).all())


def shown(result):
    return "another number of boxes" if result is None else f"{result[0]:8.1e} {result[1]:8.1e} {'same order' if result[2] else 'OTHER ORDER':11}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--net", nargs="+", choices=NETS, default=list(NETS))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    failed = False
    print(f"{'':20} boxes  least gap   Skiff: px, score               onnxruntime, not optimised")
    for name in options.net:
        source = options.work / f"{name}.onnx"
        if not source.exists():
            export(name, source)
        skiff = Skiff(options.skiff.resolve(), source, options.work)
        plain, optimised = (OnnxRuntime(source, level) for level in
                            (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL))
        for kind, image in inputs():
            expected = optimised(image.numpy())
            ours, yardstick = differences(expected, skiff(image.numpy())), differences(expected, plain(image.numpy()))
            scores = np.sort(expected["scores"])
            gap = np.diff(scores).min() if len(scores) > 1 else 1.0
            noise = 10 * max(yardstick[1], 1e-7) if yardstick else np.inf
            good = yardstick is None or (ours is not None and (ours[2] or gap <= noise))
            failed |= not good
            print(f"{name:11} {kind:8} {len(scores):5}  {gap:8.1e}   {shown(ours)}  {shown(yardstick)}  {'good' if good else 'FAILED'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
