"""The page about a model."""

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
    with pytest.raises(skiff.InvalidArgument, match="made from this source"):
        skiff.report(model, NET, runs=2)
    with pytest.raises(skiff.IoError):
        skiff.report(tmp_path / "none.skiff")
