#!/usr/bin/env python3
"""Takes architectures from torchvision, timm and transformers, with random weights, through skiff.from_torch with an open batch (and
sequence), by both of torch's exporters, and prints a table of how far what comes out is from torch's eager mode.

usage: compare_architectures.py [--exporter dynamo|torchscript] [--only NAME]... [--json FILE] [--list]

Needs torch, torchvision, timm, transformers, onnx and onnxscript beside the package skiff; no weights are downloaded. A row fails where
an error is above 2e-5 of the largest element of the output, at a size that the export did not see, or where anything raises.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings
from typing import Any, Callable

try:
    import numpy as np
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

ALLOWED = 2e-5

TORCHVISION = [
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_small",
    "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "vgg11_bn", "vit_b_16",
]  # fmt: skip
TIMM = [
    "mobilevit_xxs", "tf_efficientnetv2_b0", "ghostnet_100", "hrnet_w18_small", "mixer_s32_224", "edgenext_xx_small", "levit_128s",
    "efficientvit_b0", "repvgg_a0", "rexnet_100",
]  # fmt: skip


def _picture(size: int = 224) -> Callable[[Any], dict[str, Any]]:
    return lambda torch: {"image": (torch.randn(2, 3, size, size), {0: ("batch", 1, 4)})}


def _torchvision(name: str) -> Callable[[Any], Any]:
    def make(torch: Any) -> Any:
        import torchvision

        more = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
        return torchvision.models.get_model(name, weights=None, **more)

    return make


def _timm(name: str) -> Callable[[Any], Any]:
    def make(torch: Any) -> Any:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    return make


def _transformer(config: str, model: str, **sizes: Any) -> Callable[[Any], Any]:
    def make(torch: Any) -> Any:
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))

        class Last(torch.nn.Module):
            """The last hidden state alone, by positional arguments."""

            def __init__(self) -> None:
                super().__init__()
                self.made = made

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.made(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        return Last()

    return make


def _ids(torch: Any) -> dict[str, Any]:
    axes = {0: ("batch", 1, 4), 1: ("seq", 2, 32)}
    return {"input_ids": (torch.randint(5, 90, (2, 9)), axes), "attention_mask": (torch.ones(2, 9, dtype=torch.int64), axes)}


SMALL = {"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
TRANSFORMERS = {
    "bert": _transformer("BertConfig", "BertModel", **SMALL),
    "roberta": _transformer("RobertaConfig", "RobertaModel", **SMALL, max_position_embeddings=66, pad_token_id=1),
    "distilbert": _transformer("DistilBertConfig", "DistilBertModel", vocab_size=100, dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "albert": _transformer("AlbertConfig", "AlbertModel", **SMALL, embedding_size=32),
    "electra": _transformer("ElectraConfig", "ElectraModel", **SMALL, embedding_size=32),
    "gpt2": _transformer("GPT2Config", "GPT2Model", vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=64, use_cache=False),
    "mpnet": _transformer("MPNetConfig", "MPNetModel", **SMALL),
    "qwen2": _transformer("Qwen2Config", "Qwen2Model", **SMALL, num_key_value_heads=2, use_cache=False),
    "llama": _transformer("LlamaConfig", "LlamaModel", **SMALL, num_key_value_heads=2, use_cache=False),
}


def architectures() -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], dict[str, Any]]]]:
    """By name: what makes the module, and what makes inputs with the axes that stay open."""
    found: dict[str, Any] = {f"torchvision/{name}": (_torchvision(name), _picture()) for name in TORCHVISION}
    found |= {f"timm/{name}": (_timm(name), _picture(256 if name == "mobilevit_xxs" else 224)) for name in TIMM}
    found |= {f"transformers/{name}": (make, _ids) for name, make in TRANSFORMERS.items()}
    return found


def _without_zeros(torch: Any, module: Any) -> Any:
    """What begins with zeros (biases, torchvision's heads of transformers) would hide what it is multiplied with."""
    with torch.no_grad():
        for parameter in module.parameters():
            if not parameter.any():
                parameter.normal_(std=0.02)
    return module


def _resized(torch: Any, tensor: Any, axes: dict[int, Any], sizes: dict[str, int]) -> Any:
    shape = [sizes[axes[i][0]] if i in axes else extent for i, extent in enumerate(tensor.shape)]
    if tensor.dtype.is_floating_point:
        return torch.randn(shape)
    return torch.ones(shape, dtype=tensor.dtype) if tensor.max() == 1 else torch.randint(5, 90, shape)


def compare(name: str, exporter: str) -> dict[str, Any]:
    """One row: the largest error as a share of the largest element, over sizes, and what it took."""
    import torch

    import skiff

    make, inputs_of = architectures()[name]
    torch.manual_seed(0)
    module = _without_zeros(torch, make(torch).eval())
    examples = inputs_of(torch)
    dims = {dim: (least, most) for _, axes in examples.values() for dim, least, most in axes.values()}
    begin = time.perf_counter()
    shapes = {
        argument: {axis: torch.export.Dim(dim, min=least, max=most) if exporter == "dynamo" else dim for axis, (dim, least, most) in axes.items()}
        for argument, (_, axes) in examples.items()
    }
    keywords = {} if exporter == "dynamo" else {"export_options": {"input_names": list(examples), "opset_version": 17}}
    shapes_by_place = tuple(shapes.values()) if exporter == "dynamo" else shapes
    model = skiff.from_torch(
        module, tuple(tensor for tensor, _ in examples.values()), shapes_by_place, exporter=exporter, dims=dims, **keywords
    )
    seconds = time.perf_counter() - begin
    worst = 0.0
    session = model.session(kept_shapes=1)
    for sizes in ({dim: least for dim, (least, _) in dims.items()}, {dim: most - 1 for dim, (_, most) in dims.items()}):
        tensors = [_resized(torch, tensor, axes, sizes) for tensor, axes in examples.values()]
        with torch.no_grad():
            expected = module(*tensors).numpy()
        got = session(*tensors[: len(model.inputs)])[0]
        if got.shape != expected.shape:
            raise AssertionError(f"the shape is {got.shape}, not {expected.shape}")
        largest = float(np.abs(expected).max())
        if not 0 < largest < float("inf"):
            raise AssertionError(f"the largest element of torch's own output is {largest}, which compares nothing")
        worst = float(np.max([worst, np.abs(got - expected).max() / largest]))  # Which is NaN where one is.
    return {"name": name, "exporter": exporter, "error": worst, "seconds": seconds, "bytes": model.file_bytes, "ok": worst <= ALLOWED}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exporter", action="append", choices=("dynamo", "torchscript"), help="both by default")
    parser.add_argument("--only", action="append", help="names that contain this")
    parser.add_argument("--json", help="a file for the rows, which is written after each")
    parser.add_argument("--list", action="store_true", help="print the names")
    arguments = parser.parse_args()
    names = [name for name in architectures() if not arguments.only or any(part in name for part in arguments.only)]
    if arguments.list:
        print("\n".join(names))
        return 0
    warnings.simplefilter("ignore")
    rows = []
    print(f"{'architecture':36} {'exporter':12} {'error':>9} {'seconds':>8} {'MB':>7}", flush=True)
    for name in names:
        for exporter in arguments.exporter or ("dynamo", "torchscript"):
            try:
                row = compare(name, exporter)
                text = f"{row['error']:9.2e} {row['seconds']:8.1f} {row['bytes'] / 1e6:7.1f}{'' if row['ok'] else '  TOO FAR'}"
            except Exception as error:  # noqa: BLE001: whatever it is, the row fails
                row = {"name": name, "exporter": exporter, "ok": False, "raised": f"{type(error).__name__}: {error}"[:2000]}
                row["trace"] = traceback.format_exc()[-4000:]
                text = f"{row['raised'].splitlines()[0][:150]}"
            rows.append(row)
            print(f"{name:36} {exporter:12} {text}", flush=True)
            if arguments.json:
                with open(arguments.json, "w") as file:
                    json.dump(rows, file, indent=1)
    failed = sum(not row["ok"] for row in rows)
    print(f"{len(rows) - failed} of {len(rows)} agree to {ALLOWED:.0e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
