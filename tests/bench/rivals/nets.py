"""The nets that compare_rivals.py times. Runs in the virtual environment that compare_rivals.py makes.

  nets.py FOLDER NAME                     writes FOLDER/onnx/NAME.onnx, FOLDER/weights/NAME.pt, FOLDER/inputs/NAME/input_0.npy
                                          and, what PyTorch computes, FOLDER/expected/NAME/<i>.npy
  nets.py FOLDER NAME --file NET.onnx     the same for a net that came as a file; onnxruntime computes
"""
import os
import shutil
import sys

import numpy as np
import torch
import torchvision

# Name in the table -> the function of torchvision that builds it.
PICTURE_NETS = {
    "mobilenet_v2": "mobilenet_v2",
    "mobilenet_v3_large": "mobilenet_v3_large",
    "efficientnet_b0": "efficientnet_b0",
    "shufflenet_v2": "shufflenet_v2_x1_0",
    "regnet_y_400mf": "regnet_y_400mf",
    "squeezenet_1_1": "squeezenet1_1",
    "resnet_18": "resnet18",
    "resnet_50": "resnet50",
    "convnext_tiny": "convnext_tiny",
}
TEXT_NET = "text_encoder"
NAMES = [*PICTURE_NETS, TEXT_NET]

TOKENS = 128
WORDS = 30522
SEED = 1


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = torch.nn.Linear(width, width)
        self.key = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)
        self.output = torch.nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape

        def split(y):
            return y.reshape(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

        scores = split(self.query(x)) @ split(self.key(x)).transpose(2, 3) * (width // self.heads)**-0.5
        mixed = torch.softmax(scores, -1) @ split(self.value(x))
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm_1 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)
        self.norm_2 = torch.nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.down(torch.nn.functional.gelu(self.up(x))))


class TextEncoder(torch.nn.Module):
    """BERT's structure in the size of the small sentence encoders: 6 layers, 384 wide, 12 heads."""

    def __init__(self, width=384, heads=12, layers=6):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, width)
        self.positions = torch.nn.Parameter(torch.randn(1, TOKENS, width))
        self.norm = torch.nn.LayerNorm(width)
        self.blocks = torch.nn.Sequential(*[Block(width, heads) for _ in range(layers)])

    def forward(self, ids):
        return self.blocks(self.norm(self.words(ids) + self.positions))


def settle_batch_norms(net):
    """Statistics that fit the random weights, so that activations neither vanish nor grow from layer to layer."""
    norms = [module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # Averages over all that comes.
        norm.train()
    with torch.no_grad():
        for _ in range(2):
            net(torch.randn(4, 3, 224, 224))
    for norm in norms:
        norm.eval()


def build(name):
    """The net with random weights, always the same ones."""
    torch.manual_seed(SEED)
    if name == TEXT_NET:
        return TextEncoder().eval()
    net = torchvision.models.get_model(PICTURE_NETS[name], weights=None).eval()
    settle_batch_norms(net)
    return net


def load(folder, name):
    """The net with the weights that were written with its ONNX file."""
    net = TextEncoder() if name == TEXT_NET else torchvision.models.get_model(PICTURE_NETS[name], weights=None)
    net.load_state_dict(torch.load(os.path.join(folder, "weights", name + ".pt")))
    return net.eval()


def sample(name):
    torch.manual_seed(SEED + 1)
    return torch.randint(0, WORDS, (1, TOKENS)) if name == TEXT_NET else torch.randn(1, 3, 224, 224)


def save(folder, kind, name, arrays, prefix=""):
    os.makedirs(os.path.join(folder, kind, name), exist_ok=True)
    for i, array in enumerate(arrays):
        np.save(os.path.join(folder, kind, name, f"{prefix}{i}.npy"), array)


def export(folder, name):
    net, example = build(name), sample(name)
    for kind in ("onnx", "weights"):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
    with torch.no_grad():
        save(folder, "expected", name, [net(example).numpy()])
    save(folder, "inputs", name, [example.numpy()], "input_")
    torch.save(net.state_dict(), os.path.join(folder, "weights", name + ".pt"))
    # The exporter over TorchScript folds batch norms and writes one file; its opset 17 is what most converters know.
    partial = os.path.join(folder, "onnx", f"{name}.partial")
    torch.onnx.export(net, (example,), partial, dynamo=False, opset_version=17, input_names=["input"],
                      output_names=["output"])
    os.replace(partial, os.path.join(folder, "onnx", f"{name}.onnx"))  # A file that is there is complete.


def take(folder, name, file):
    import onnxruntime
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    port, *others = session.get_inputs()
    if others or port.type != "tensor(float)" or not all(isinstance(extent, int) for extent in port.shape):
        sys.exit(f"{file}: expected one f32 input of fixed shape")
    value = np.random.default_rng(SEED).uniform(0, 255, port.shape).astype(np.float32)  # Pictures as detectors take them.
    save(folder, "inputs", name, [value], "input_")
    save(folder, "expected", name, session.run(None, {port.name: value}))
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    shutil.copy(file, os.path.join(folder, "onnx", f"{name}.onnx"))


if __name__ == "__main__":
    if "--file" in sys.argv:
        take(sys.argv[1], sys.argv[2], sys.argv[4])
    else:
        export(sys.argv[1], sys.argv[2])
