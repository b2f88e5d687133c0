"""skiff.quantize(): its options, its inputs, its report, and how it refuses."""

import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS

NET = CHARACTERS / "characters.onnx"
IMAGE = skiff.Image((32, 32), mean=127.5, scale=1 / 127.5, filter="linear")
# Two products, each followed by something that is rounded with it.
LAYERS = b"""graph layers {
  input x: f32[1, 16]
  const w: f32[16, 256] = seed 1
  const v: f32[256, 64] = seed 2
  a = MatMul(x, w)
  r = Clamp(a) {min=0}
  y = MatMul(r, v)
  output y
}"""
TWO = b"""graph two {
  input x: f32[1, 16]
  input z: f32[1, 16]
  const w: f32[16, 8] = seed 1
  s = Add(x, z)
  y = MatMul(s, w)
  output y
}"""
CALLS = np.random.default_rng(1).uniform(-1, 1, (12, 16)).astype(np.float32)


def test_the_same_file_as_the_tool(tmp_path):
    made = skiff.quantize(NET, CHARACTERS / "images", image=IMAGE, labels=CHARACTERS / "labels.txt", max_error=0.5)
    words = ["--calibrate", str(CHARACTERS / "images"), "--image-size", "32x32", "--mean", "127.5", "--scale", repr(1 / 127.5)]
    words += ["--filter", "linear", "--labels", str(CHARACTERS / "labels.txt"), "--max-error", "0.5", "--json"]
    out = tmp_path / "tool.skiff"
    tool = subprocess.run(
        [sys.executable, "-m", "skiff", "quantize", str(NET), "-o", str(out), *words], capture_output=True, text=True, check=True
    )
    assert made.to_bytes() == out.read_bytes()
    facts = json.loads(tool.stdout)
    assert {**facts, "file": ""} == {**made.quantization, "file": ""}
    assert skiff.convert(NET, image=IMAGE, labels=CHARACTERS / "labels.txt", quantize="i8", calibrate=CHARACTERS / "images",
                         max_error=0.5).to_bytes() == made.to_bytes()  # fmt: skip


def test_a_report(tmp_path):
    path = tmp_path / "report.html"
    steps = []
    model = skiff.quantize(NET, CHARACTERS / "images", image=IMAGE, report=path, progress=steps.append)
    report = model.quantization
    assert report and report.beyond == () and report["command"] == "quantize"
    assert report.bytes == model.file_bytes < report.bytes_before / 3 == skiff.convert(NET, image=IMAGE).file_bytes / 3
    assert 0 < report.error < 0.2 and report["measure"] == "largest"
    costs = [layer["error_alone"] for layer in report.worst]
    assert costs == sorted(costs, reverse=True) and len(costs) > 2
    assert {layer["name"] for layer in report.worst} <= {layer["name"] for layer in report.layers}
    assert path.read_text() == report.html() and "characters.onnx as i8" in report.html()
    assert "times smaller" in str(report) and "<table>" in report._repr_html_()
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report and copy.html() == report.html() and str(copy) == str(report)
    assert any(step.startswith("read inputs, ") and step.endswith(".png") for step in steps) and "write" in steps
    assert "runs as" in model.explain()
    plain = skiff.quantize(NET, CHARACTERS / "images", image=IMAGE).quantization
    assert not any("error_alone" in layer for layer in plain.layers)
    noise = [layer["signal_to_noise_db"] for layer in plain.worst]
    assert noise == sorted(noise) and len(noise) > 2
    assert skiff.convert(ADD).quantization is None


def test_inputs_in_every_form(tmp_path):
    files = []
    for i, call in enumerate(CALLS):
        np.save(tmp_path / f"{i:02}.npy", call[None])
    forms = {
        "folder": tmp_path,
        "array": CALLS,
        "array with the net's rank": CALLS[:, None],
        "rows by name": {"x": CALLS},
        "list": [call[None] for call in CALLS],
        "tuples": [(call[None],) for call in CALLS],
        "dictionaries": [{"x": call[None]} for call in CALLS],
        "batches": [CALLS[:5], CALLS[5:]],
        "generator": (call[None] for call in CALLS),
        "files": [tmp_path / f"{i:02}.npy" for i in range(len(CALLS))],
    }
    for name, calibrate in forms.items():
        model = skiff.quantize(LAYERS, calibrate)
        assert model.metadata["quantize:calls"] == "12", name
        files.append(model.to_bytes())
    assert all(file == files[0] for file in files)
    assert skiff.quantize(LAYERS, CALLS[:11]).to_bytes() != files[0] or np.abs(CALLS[11]).max() < np.abs(CALLS[:11]).max()


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    model = skiff.quantize(LAYERS, [torch.from_numpy(call[None]) for call in CALLS])
    assert model.to_bytes() == skiff.quantize(LAYERS, CALLS).to_bytes()
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
    x = torch.from_numpy(CALLS[:1])
    quantised = skiff.quantize(net, CALLS, example_inputs=(x,))
    expected = net(x).detach().numpy()
    assert np.abs(quantised(x)[0] - expected).max() < 0.05 * np.abs(expected).max()


def test_inputs_of_several():
    by_name = skiff.quantize(TWO, [{"x": a[None], "z": b[None]} for a, b in zip(CALLS, CALLS[::-1])])
    by_place = skiff.quantize(TWO, ((a[None], b[None]) for a, b in zip(CALLS, CALLS[::-1])))
    by_row = skiff.quantize(TWO, {"x": CALLS, "z": CALLS[::-1]})
    assert by_name.to_bytes() == by_place.to_bytes() == by_row.to_bytes()
    for calibrate, words in (
        (CALLS, "is one array, and the net has the inputs 'x', 'z'"),
        ([(CALLS[:1],)], "call 0: has 1 arrays, and the net has 2 inputs: 'x', 'z'"),
        ([{"x": CALLS[:1], "y": CALLS[:1]}], "has the inputs 'x', 'y'; the net's are 'x', 'z'"),
        ([{"x": CALLS, "z": CALLS[:5]}], "input 'z' of call 0: has 5 calls, and input 'x' of call 0 has 12"),
        ([(CALLS[:1], None)], "None is no input"),
        (3, "calibrate is int; expected a folder, an array"),
    ):
        with pytest.raises(skiff.InvalidArgument, match=re.escape(words)):
            skiff.quantize(TWO, calibrate)


def test_pictures_in_every_form():
    pil = pytest.importorskip("PIL.Image")
    pictures = sorted((CHARACTERS / "images").glob("*.png"))
    one = skiff.quantize(NET, pictures, image=IMAGE)
    for others in (
        [pil.open(picture) for picture in pictures],
        [np.asarray(pil.open(picture).convert("RGB")) for picture in pictures],
        [skiff.convert(NET, image=IMAGE).preprocess(one.inputs[0].name, picture) for picture in pictures],
    ):
        assert skiff.quantize(NET, others, image=IMAGE).to_bytes() == one.to_bytes()
    with pytest.raises(skiff.InvalidArgument, match="does not say how a picture becomes its input"):
        skiff.quantize(NET, [pil.open(pictures[0])])


def test_samples_are_evenly_spread():
    seen = []

    class Calls:
        def __len__(self):
            return 1000

        def __getitem__(self, i):
            seen.append(i)
            return np.full((1, 16), i, np.float32)

    assert skiff.quantize(LAYERS, Calls(), samples=4).metadata["quantize:calls"] == "4"
    assert seen == [0, 250, 500, 750]
    endless = (CALLS[i % 12][None] for i in iter(int, 1))
    assert skiff.quantize(LAYERS, endless, samples=7).metadata["quantize:calls"] == "7"
    assert skiff.quantize(LAYERS, CALLS, samples=5).metadata["quantize:calls"] == "5"


def test_formats_and_budgets():
    sizes = {}
    for format in ("i8", "16x8", "weights8", "weights4", "f16", "dynamic", "dynamic4"):
        model = skiff.quantize(LAYERS, CALLS, format=format)
        assert model.metadata["quantize:format"] == format
        sizes[format] = sum(layer["bytes"] for layer in model.quantization.layers)
    assert sizes["weights4"] < sizes["weights8"] < sizes["f16"]
    assert skiff.quantize(LAYERS, format="f16").quantization.error is None  # Weights alone need no inputs.
    strict = skiff.quantize(LAYERS, CALLS, max_error=0.0)
    assert {layer["format"] for layer in strict.quantization.layers} == {"f32"} and strict.quantization
    names = [layer["name"] for layer in strict.quantization.layers]
    kept = skiff.quantize(LAYERS, CALLS, keep=names[0]).quantization.layers
    assert [layer["format"] for layer in kept] == ["f32", "weights8"] and kept[0]["why_float"] == "kept"
    beyond = skiff.quantize(LAYERS, CALLS, max_bytes=100)
    assert not beyond.quantization and "beyond --max-bytes 100" in beyond.quantization.beyond[0]
    assert beyond(CALLS[:1]).y.shape == (1, 64)  # It is there all the same.


def test_a_score_in_python_and_of_a_command():
    floats = skiff.convert(LAYERS)
    expected = np.stack([floats(call[None]).y for call in CALLS])
    asked = []

    def score(candidate):
        assert isinstance(candidate, skiff.Model)
        asked.append(candidate.file_bytes)
        return 1 - np.abs(np.stack([candidate(call[None]).y for call in CALLS]) - expected).max()

    report = skiff.quantize(LAYERS, CALLS, score=score, max_error=0.5).quantization
    assert report["measure"] == "score" and report["score_before"] == pytest.approx(1, abs=1e-5) and len(asked) > 1
    assert 0 < report.error < 0.5
    command = f"{sys.executable} -c 'import os, sys; print(-os.path.getsize(sys.argv[1]))' {{}}"
    by_command = skiff.quantize(LAYERS, CALLS, score=command).quantization
    assert by_command["score_before"] == -by_command.bytes_before and by_command["measure"] == "score"
    with pytest.raises(ZeroDivisionError):
        skiff.quantize(LAYERS, CALLS, score=lambda candidate: 1 / 0)
    for number in (float("nan"), float("inf"), None):
        with pytest.raises(skiff.InvalidArgument, match=r"what score\(\) returned is .*number"):
            skiff.quantize(LAYERS, CALLS, score=lambda candidate: number, max_error=0.5)
    with pytest.raises(skiff.InvalidArgument, match="exit code 3"):
        skiff.quantize(LAYERS, CALLS, score="exit 3 # {}")


def test_what_calibration_raises_comes_back():
    class Enough(Exception):
        pass

    def calls():
        yield CALLS[:1]
        raise Enough

    with pytest.raises(Enough):
        skiff.quantize(LAYERS, calls())

    def stop(step):
        if step.startswith("calibrate"):
            raise Enough

    with pytest.raises(Enough):
        skiff.quantize(LAYERS, CALLS, progress=stop)


def test_random_inputs_are_told_of():
    model = skiff.quantize(LAYERS, "random:4:0..1", input_ranges={"x": (-2, 2)})
    assert "random inputs" in model.quantization["notes"][0] and model.metadata["quantize:calibrated"] == "random"
    assert any("random inputs" in note for note in model.notes)


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({}, "calibrat"),
        ({"calibrate": []}, "calibrat"),
        ({"calibrate": np.ones((3, 5), np.float32)}, "'x'"),
        ({"calibrate": CALLS.astype(np.float64)}, "f64"),
        ({"calibrate": "no_such_folder"}, "no_such_folder"),
        ({"calibrate": "random:many"}, "random:N"),
        ({"calibrate": CALLS, "format": "i7"}, "i7"),
        ({"calibrate": CALLS, "ranges": "widest"}, "widest"),
        ({"calibrate": CALLS, "rounding": "up"}, "up"),
        ({"calibrate": CALLS, "measure": "smallest"}, "smallest"),
        ({"calibrate": CALLS, "samples": 0}, "samples is 0; expected 1 or more"),
        ({"calibrate": CALLS, "percentile": 20.0}, "--percentile"),
        ({"calibrate": CALLS, "max_error": -1}, "--max-error"),
        ({"calibrate": CALLS, "threads": 0}, "--threads"),
        ({"calibrate": CALLS, "keep": ["nothing"]}, "nothing"),
        ({"calibrate": CALLS, "score": "evaluate.py"}, "--score"),
        ({"format": "weights8", "max_error": 0.1}, "--max-error"),
        ({"format": "weights8", "report": True}, "--report"),
        ({"calibrate": CALLS, "input_ranges": {"x": (0, 1)}}, "--input-range"),
        ({"calibrate": CALLS, "dims": {"n": 1}}, "'n'"),
    ],
)
def test_mistakes_are_named(keywords, words):
    with pytest.raises(skiff.Error, match=words):
        skiff.quantize(LAYERS, **keywords)


def test_nets_that_cannot_be_quantised():
    with pytest.raises(skiff.InvalidArgument, match="nothing to quantise|no layer"):
        skiff.quantize(ADD, [{"a": np.ones((2, 3), np.float32), "b": np.ones((2, 3), np.float32)}])
    with pytest.raises(skiff.InvalidArgument, match="needs quantize="):
        skiff.convert(LAYERS, calibrate=CALLS)
    with pytest.raises(TypeError, match="'bits'"):
        skiff.convert(LAYERS, quantize="i8", bits=8)


def test_defaults_are_those_of_the_tool():
    import inspect

    help_text = subprocess.run(
        [sys.executable, "-m", "skiff", "quantize", "--help"], capture_output=True, text=True, check=True
    ).stdout
    help_text = re.sub(r"\s+", " ", help_text)
    defaults = {name: parameter.default for name, parameter in inspect.signature(skiff.quantize).parameters.items()}
    told = {"samples": "default 100", "percentile": "default 99.99", "format": "i8: values and weights (default)",
            "ranges": "min-max (default", "rounding": "effect (default", "measure": "largest (default"}  # fmt: skip
    for name, words in told.items():
        assert words in help_text, name
        assert str(defaults.pop(name)) in words, name
    switches = {"bias_correction": True, "equalisation": True, "everything": False, "report": False, "keep": ()}
    for name, default in switches.items():
        assert defaults.pop(name) == default, name
    assert all(default in (None, inspect.Parameter.empty) for default in defaults.values()), defaults
