"""From torch, with both of its exporters. Skipped where torch is not installed."""

import subprocess
import sys

import numpy as np
import pytest

import skiff

torch = pytest.importorskip("torch")
EXPORTERS = ["torchscript"]
try:
    import onnxscript  # noqa: F401

    EXPORTERS.append("dynamo")
except ImportError:
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.linear = torch.nn.Linear(8, 10)

    def forward(self, image):
        return self.linear(torch.relu(self.norm(self.conv(image))).mean((2, 3)))


class Embed(torch.nn.Module):
    """Two inputs, two open dimensions, two outputs."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, ids, scale):
        x = self.words(ids) * scale
        y = self.layer(x)
        return y, y.mean(1)


@pytest.fixture(scope="module", autouse=True)
def seed():
    torch.manual_seed(0)


def check(model, module, *tensors):
    with torch.no_grad():
        expected = module.eval()(*tensors)
    for want, got in zip(expected if isinstance(expected, tuple) else (expected,), model(*tensors)):
        assert np.abs(got - want.numpy()).max() <= 2e-5 * max(1, want.abs().max().item())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_module_becomes_a_model(exporter):
    net = Net().train()
    x = torch.randn(2, 3, 16, 16)
    model = skiff.from_torch(net, x, exporter=exporter)
    assert net.training  # As it was.
    assert model.inputs[0].name == "image" and model.inputs[0].shape == (2, 3, 16, 16)
    check(model, net, x)


@pytest.mark.skipif("dynamo" not in EXPORTERS, reason="onnxscript is not installed")
def test_an_axis_that_torch_has_fixed_is_told(caplog):
    class Rows(torch.nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.rows = rows
            self.linear = torch.nn.Linear(6, 2)

        def forward(self, x):
            return self.linear(x.view(self.rows or x.shape[0], -1))

    def said():  # Torch has loggers of its own.
        return [record.getMessage() for record in caplog.records if record.name == "skiff"]

    batch = torch.export.Dim("batch")
    for shapes in ({"x": {0: batch}}, ({0: batch},)):
        caplog.clear()
        assert skiff.from_torch(Rows(4), torch.ones(4, 3, 2), shapes).inputs[0].shape == (4, 3, 2)
        assert len(said()) == 1 and said()[0].startswith("input 'x': axis 0 ('batch') is 4 in what torch has exported")
        caplog.clear()
        assert skiff.from_torch(Rows(0), torch.ones(4, 3, 2), shapes).symbols[0].name == "batch"
        assert not said()


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_open_batch_and_sequence(exporter):
    module = Embed().eval()
    batch, seq = torch.export.Dim("batch", min=2, max=8), torch.export.Dim("seq", min=2, max=32)
    ids = torch.randint(0, 50, (3, 7))
    scale = torch.ones(1)
    model = skiff.from_torch(module, (ids, scale), {"ids": {0: batch, 1: seq}, "scale": None}, exporter=exporter)
    assert {symbol.name: (symbol.min, symbol.max) for symbol in model.symbols} == {"batch": (2, 8), "seq": (2, 32)}
    if exporter == "dynamo":  # The tracer writes the example's sizes into the attention's reshapes.
        for shape in ((2, 2), (3, 7), (8, 32)):
            check(model, module, torch.randint(0, 50, shape), scale * 2)


@pytest.mark.skipif("dynamo" not in EXPORTERS, reason="the new exporter needs onnxscript")
def test_convert_and_parity_take_modules():
    net = Net().eval()
    x = torch.randn(1, 3, 8, 8)
    model = skiff.convert(net, example_inputs=(x,))
    check(model, net, x)
    check(skiff.convert(torch.export.export(net, (x,))), net, x)
    assert skiff.parity(net, model, example_inputs=(x,), inputs={"image": x}, expect="torch", layers=True)
    report = skiff.parity(net, model, example_inputs=(x,), inputs={"image": x}, expect=lambda image: image[:, :1, 0, :10] * 0)
    assert not report
    with pytest.raises(skiff.InvalidArgument, match="example_inputs"):
        skiff.convert(net)
    with pytest.raises(skiff.InvalidArgument, match="'fast'"):
        skiff.from_torch(net, x, exporter="fast")


def test_tensors_are_inputs():
    model = skiff.convert(b"graph g { input x: f32[2, 3] y = Neg(x) output y }")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for tensor in (x, x.clone().requires_grad_(), x.t().contiguous().t()):
        np.testing.assert_array_equal(model(tensor).y, -x.numpy())
    assert torch.from_numpy(model(x).y).sum() == -15
    with pytest.raises(skiff.Error):
        model(x.to(torch.bfloat16))


def test_without_torch_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import skiff\n"
        "try:\n    skiff.from_torch(object(), ())\n"
        "except skiff.Unsupported as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install torch" in result.stdout, result
