"""The page about a model."""

import pickle

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS, OPEN

NET = CHARACTERS / "characters.onnx"


def test_a_model_with_its_source(tmp_path):
    path = tmp_path / "report.html"
    steps = []
    report = skiff.convert(NET).report(path, NET, runs=2, progress=steps.append)
    (side,) = report.data["sides"]
    assert side["parity"]["ok"] and side["sources"] and side["graph"]["nodes"]
    assert path.read_text() == report.html and report.html.startswith("<!DOCTYPE html>")
    assert any("parity" in step for step in steps)


def test_notebooks_show_it_in_a_frame():
    report = skiff.report(skiff.convert(ADD), runs=2)
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and shown.count("<") == 2 and "model.skiff" in repr(report)


def test_files_and_backends_side_by_side(tmp_path):
    model = skiff.convert(ADD)
    model.save(tmp_path / "first.skiff")
    report = skiff.report(tmp_path / "first.skiff", against=model.to_bytes(), backends=["xnnpack", "reference"], runs=2)
    assert [side["label"] for side in report.data["sides"]] == [
        "first.skiff, xnnpack",
        "first.skiff, reference",
        "model.skiff, xnnpack",
        "model.skiff, reference",
    ]


def test_open_sizes():
    model = skiff.convert(OPEN)
    (name,) = {symbol.name for symbol in model.symbols}
    (side,) = skiff.report(model, sizes={name: 3}, runs=2).data["sides"]
    assert side["sizes"] == {name: 3}


def test_what_is_wrong_is_named(tmp_path):
    model = skiff.convert(ADD)
    with pytest.raises(skiff.InvalidArgument, match="'cuda'"):
        skiff.report(model, backends="cuda")
    with pytest.raises(skiff.InvalidArgument, match="runs is 0"):
        skiff.report(model, runs=0)
    with pytest.raises(skiff.InvalidArgument, match="^seed is -1"):
        skiff.report(model, seed=-1)
    with pytest.raises(skiff.InvalidArgument, match="made from this source"):
        skiff.report(model, NET, runs=2)
    with pytest.raises(skiff.IoError):
        skiff.report(tmp_path / "none.skiff")


def test_what_was_judged_and_measured_has_a_page_and_a_table():
    source = NET.read_bytes()
    model = skiff.convert(source)
    inputs = skiff.random_inputs(model, 3)
    report = skiff.parity(source, model, inputs=inputs, layers=True)
    assert report.html().startswith("<!DOCTYPE html>") and report.html().count("Errors against eager mode")
    shown = report._repr_html_()
    assert "PARITY OK" in shown and shown.count("<tr>") > 5 and "<script" not in shown
    for alone in (skiff.parity(OPEN, at={"n": 3}), skiff.parity(OPEN, inputs={"x": np.ones((2, 4), np.float32)})):
        assert '"parity":{"' in alone.html().replace(" ", "")
    measured = skiff.bench(model, runs=2, inputs=inputs)
    assert measured.html().startswith("<!DOCTYPE html>") and "µs a run" in measured._repr_html_()
    for one in (report, measured):
        copy = pickle.loads(pickle.dumps(one))
        assert copy._repr_html_() == one._repr_html_()
        with pytest.raises(skiff.InvalidArgument, match="was not made by"):
            copy.html()


def test_names_are_shown_as_text():
    report = skiff.parity(b"graph g { input x: f32[2] y = Neg(x) output y }")
    report.cases[0].backends[0].outputs[0].__dict__["name"] = "<b>&"
    assert "<b>&" not in report._repr_html_() and "&lt;b&gt;&amp;" in report._repr_html_()


def test_a_graph_is_a_picture():
    model = skiff.convert(ADD)
    assert model.graph.to_dot().startswith("digraph") and "Add" in model.graph.to_dot()
    assert model.graph._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.parametrize("name", ("file", "allow_pickle", "arr_0"))
def test_inputs_may_be_called_as_anything(name):
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", [name], ["y"])],
        "g",
        [value(name, onnx.TensorProto.FLOAT, [1, 4])],
        [value("y", onnx.TensorProto.FLOAT, [1, 4])],
    )
    model = skiff.convert(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9))
    assert skiff.report(model, inputs={name: np.ones((1, 4), np.float32)}, runs=1).data["sides"]
