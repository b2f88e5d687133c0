"""Parity, eager mode, measurements: what judges a model."""

import pickle

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS, OPEN

ONES = np.ones((2, 3), np.float32)


def test_parity_of_a_model_and_of_a_conversion_here():
    model = skiff.convert(ADD)
    for report in (skiff.parity(ADD, model), skiff.parity(ADD), skiff.parity(ADD, model.to_bytes())):
        assert report and report.ok and report.raise_if_failed() is report
        (case,) = report.cases
        assert [backend.backend for backend in case.backends] == ["xnnpack", "reference"]
        assert {row.name for row in report.outputs} == {"sum", "twice"}
        assert report.worst.ok and report.verdict.startswith("PARITY OK") and "PARITY OK" in str(report)


def test_a_model_of_other_weights_fails():
    source = b"graph g { input x: f32[2, 4] const w: f32[4, 8] = seed 3 y = MatMul(x, w) output y }"
    other = skiff.convert(source.replace(b"seed 3", b"seed 4"))
    report = skiff.parity(source, other, layers=True)
    assert not report and report.verdict.startswith("PARITY FAILED") and "'y'" in report.verdict
    assert not report.worst.ok and report.worst.name == "y" and report.worst.outside > 0
    assert not report.layers[-1].ok
    with pytest.raises(skiff.ParityError, match="PARITY FAILED") as caught:
        report.raise_if_failed()
    assert isinstance(caught.value, AssertionError)
    assert skiff.parity(source, other, atol=1000)


def test_layers_and_backends():
    report = skiff.parity(CHARACTERS / "characters.onnx", layers=True, backends=["xnnpack"])
    assert report and len(report.cases[0].backends) == 1
    assert len(report.layers) > 3 and all(row.op for row in report.layers)
    with pytest.raises(skiff.InvalidArgument, match="'fast'"):
        skiff.parity(ADD, backends="fast")


def test_sizes():
    model = skiff.convert(OPEN, dims={"n": (1, 64)})
    assert [case.sizes for case in skiff.parity(OPEN, model, at=[{"n": 3}, {"n": 5}]).cases] == ["n=3", "n=5"]
    swept = skiff.parity(OPEN, model, sweep=True)
    assert swept and {"n=1", "n=2", "n=63", "n=64"} <= {case.sizes for case in swept.cases}
    assert "calls" in swept.verdict
    with pytest.raises(skiff.InvalidArgument, match="'m'"):
        skiff.parity(OPEN, model, at={"m": 3})
    with pytest.raises(skiff.Error, match="65"):
        skiff.parity(OPEN, model, at={"n": 65})
    with pytest.raises(skiff.InvalidArgument, match="arrays have one size"):
        skiff.parity(OPEN, model, inputs={"x": np.ones((3, 4), np.float32)}, sweep=True)


def test_where_inputs_come_from(tmp_path):
    x = np.full((3, 4), 0.5, np.float32)
    model = skiff.convert(OPEN)
    seen = []

    def expect(x):
        seen.append(x)
        return skiff.eager(OPEN)(x)[0]

    skiff.parity(OPEN, model, inputs={"x": x}, expect=expect).raise_if_failed()
    np.testing.assert_array_equal(seen[0], x)
    assert skiff.parity(OPEN, inputs={"x": x}).cases[0].sizes in ("", "n=3")
    skiff.parity(OPEN, model, inputs=lambda sizes: {"x": np.ones((sizes["n"], 4), np.float32)}, at={"n": 2}, expect=expect)
    assert seen[1].shape == (2, 4) and seen[1][0, 0] == 1
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", skiff.eager(OPEN)(x).y)
    assert skiff.parity(OPEN, model, inputs=tmp_path, expect=tmp_path)
    skiff.parity(OPEN, model, inputs="random:7:0..1", at={"n": 9}, expect=expect)
    assert 0 <= seen[2].min() and seen[2].max() < 1 and seen[2].shape == (9, 4)
    for text in ("random:x", "random:1:3..2", "random:", "random:1:2"):
        with pytest.raises(skiff.InvalidArgument, match="random:SEED"):
            skiff.parity(OPEN, model, inputs=text)
    with pytest.raises(skiff.InvalidArgument, match="inputs is ndarray; expected arrays by name"):
        skiff.parity(OPEN, model, inputs=x)
    for wrong, given in (({"y": x}, "'y'"), (lambda sizes: {}, "nothing")):
        with pytest.raises(skiff.InvalidArgument, match=f"inputs lacks 'x'; given was {given}"):
            skiff.parity(OPEN, model, inputs=wrong)


def test_what_is_expected():
    model = skiff.convert(ADD)
    ones = {"a": ONES, "b": ONES}
    right = {"sum": ONES * 2, "twice": ONES * 4}
    for expect in (right, lambda a, b: right, lambda a, b: (a + b, 2 * (a + b)), lambda a, b: {"twice": 2 * (a + b)}):
        assert skiff.parity(ADD, model, inputs=ones, expect=expect)
    report = skiff.parity(ADD, model, inputs=ones, expect={"sum": ONES * 3})
    assert not report and "expected" in report.verdict
    with pytest.raises(skiff.InvalidArgument, match="none of the outputs 'sum', 'twice'"):
        skiff.parity(ADD, model, inputs=ones, expect=lambda a, b: {"other": a})
    for expect, given in (({"other": ONES}, "'other'"), ({}, "nothing")):
        with pytest.raises(skiff.InvalidArgument, match=f"none of the outputs 'sum', 'twice'; it gave {given}"):
            skiff.parity(ADD, model, inputs=ones, expect=expect)
    with pytest.raises(skiff.InvalidArgument, match="torch module"):
        skiff.parity(ADD, model, expect="torch")


def test_a_tolerance_is_a_number():
    for tolerance in ({"rtol": float("nan")}, {"atol": float("nan")}, {"rtol": float("inf")}, {"atol": -1}):
        (name,) = tolerance
        with pytest.raises(skiff.InvalidArgument, match=name):
            skiff.parity(ADD, inputs={"a": ONES, "b": ONES}, expect={"sum": 7 * ONES}, **tolerance)


def test_names_that_nothing_has():
    with pytest.raises(skiff.InvalidArgument, match="expect: there is no output 'twise'.*'sum', 'twice'"):
        skiff.parity(ADD, inputs={"a": ONES, "b": ONES}, expect={"sum": 2 * ONES, "twise": ONES})
    with pytest.raises(skiff.InvalidArgument, match="inputs: there is no input 'c'.*'a', 'b'"):
        skiff.parity(ADD, skiff.convert(ADD), inputs={"a": ONES, "b": ONES, "c": ONES})


def test_a_file_that_was_replaced_is_no_model_of_the_report(tmp_path):
    negative = b"graph g { input x: f32[3] y = Neg(x) output y }"
    positive = b"graph g { input x: f32[3] y = Exp(x) output y }"
    path = tmp_path / "net.skiff"
    skiff.convert(negative).save(path)
    model = skiff.Model(path)
    assert skiff.parity(negative, model) and pickle.loads(pickle.dumps(model))([1, 2, 3]).y[0] == -1
    skiff.convert(positive).save(path)
    assert model([1, 2, 3]).y[0] == -1
    with pytest.raises(skiff.IoError, match="another file than the one that was opened"):
        skiff.parity(positive, model)
    with pytest.raises(skiff.IoError, match="another file than the one that was opened"):
        pickle.dumps(model)


def test_a_page_at_sizes_of_dimensions_with_odd_names():
    from skiff._parity import _sizes_of

    assert _sizes_of("") == {} and _sizes_of("batch=2, seq=7") == {"batch": 2, "seq": 7}
    assert _sizes_of("a=1=3, b, c=4") == {"a=1": 3, "b, c": 4}


def test_state_over_several_steps():
    source = b"graph g { input x: f32[2] input s: f32[2] t = Add(x, s) output y = t output t }"
    model = skiff.convert(source, state={"s": "t"})
    report = skiff.parity(source, model, steps=3)
    assert report and [case.step for case in report.cases] == [1, 2, 3]


def test_onnxruntime():
    pytest.importorskip("onnxruntime")
    assert skiff.parity(CHARACTERS / "characters.onnx", expect="onnxruntime")


def test_onnxruntime_with_a_constant_of_halves():
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    half = onnx.TensorProto.FLOAT16
    ports = [onnx.helper.make_tensor_value_info(name, half, [3] if name != "k" else []) for name in "xky"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Mul", ["x", "k"], ["y"])], "g", ports[:2], ports[2:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    assert skiff.parity(model, constants={"k": 2}, expect="onnxruntime")


def test_progress_may_stop_it():
    class Enough(Exception):
        pass

    def stop(step):
        raise Enough

    with pytest.raises(Enough):
        skiff.parity(ADD, progress=stop)


def test_eager():
    eager = skiff.eager(OPEN)
    assert eager.inputs == ["x"] and eager.outputs == ["y"]
    x = np.ones((3, 4), np.float32)
    outputs = eager(x)
    np.testing.assert_allclose(outputs.y, skiff.convert(OPEN)(x).y, rtol=1e-6)
    np.testing.assert_array_equal(eager(x=x.tolist()).y, outputs.y)
    np.testing.assert_array_equal(eager.tensors(x)["y"], outputs.y)
    for call, words in (
        (lambda: eager(), "input 'x' was not given"),
        (lambda: eager(x, x), "2 arrays were given"),
        (lambda: eager(x, x=x), "given twice"),
        (lambda: eager(z=x), "no input 'z'"),
        (lambda: eager(x[:, :3]), "x"),
        (lambda: eager(x.astype(np.int32)), "x"),
    ):
        with pytest.raises(skiff.Error, match=words):
            call()


def test_random_inputs():
    model = skiff.convert(OPEN, dims={"n": (1, 64)})
    first = skiff.random_inputs(model)
    assert first["x"].shape == (64, 4) and first["x"].dtype == np.float32
    np.testing.assert_array_equal(first["x"], skiff.random_inputs(model.to_bytes(), 1)["x"])
    assert (first["x"] != skiff.random_inputs(model, 2)["x"]).any()
    small = skiff.random_inputs(model, sizes={"n": 3}, range=(5, 6))["x"]
    assert small.shape == (3, 4) and 5 <= small.min() and small.max() < 6
    with pytest.raises(skiff.InvalidArgument, match="'y'"):
        skiff.random_inputs(model, input_ranges={"y": (0, 1)})


def test_ranges_that_are_none():
    integers = b"graph g { input x: i64[3] y = Neg(x) output y }"
    for source, low, high in ((integers, 4, 3), (integers, 7, 3), (OPEN, 5, 1), (OPEN, float("nan"), 1), (OPEN, -1e308, 1e308)):
        given = {"input_ranges": {"x": (low, high)}}
        for judge in (lambda: skiff.random_inputs(skiff.convert(source), **given), lambda: skiff.parity(source, **given)):
            with pytest.raises(skiff.InvalidArgument, match="x=.*the lower one first"):
                judge()
        with pytest.raises(skiff.InvalidArgument, match="x=.*the lower one first"):
            skiff.bench(skiff.convert(source), runs=1, **given)
    model = skiff.convert(OPEN)
    for span in ((5, 1), (float("nan"), 1), (float("-inf"), 1)):
        with pytest.raises(skiff.InvalidArgument, match="the lower one first"):
            skiff.random_inputs(model, range=span)
    with pytest.raises(skiff.InvalidArgument, match="expected its ends"):
        skiff.random_inputs(model, range=(1,))
    with pytest.raises(skiff.InvalidArgument, match="seed"):
        skiff.random_inputs(model, seed=2**64)
    assert skiff.random_inputs(skiff.convert(integers), input_ranges={"x": (3, 3)})["x"].tolist() == [3, 3, 3]


def test_names_that_are_no_text():
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in ("a-b", "y"))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["a-b"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    model = skiff.convert(model.SerializeToString().replace(b"a-b", b"a\xffb"))
    inputs = skiff.random_inputs(model)
    assert list(inputs) == ["a\ufffdb"]
    np.testing.assert_array_equal(model(**inputs).y, -inputs["a\ufffdb"])


def test_bench():
    model = skiff.convert(OPEN, dims={"n": (1, 64)})
    report = skiff.bench(model, runs=3, warmup=1, sizes={"n": 7}, threads=1)
    assert report["threads"] == 1 and "n=7" in str(report)
    own = skiff.bench(model, runs=2, inputs={"x": np.ones((5, 4), np.float32)}, backend="reference")
    assert "n=5" in str(own)
    with pytest.raises(skiff.InvalidArgument, match="runs is 0"):
        skiff.bench(model, runs=0)


def test_inspect(tmp_path):
    path = tmp_path / "open.skiff"
    skiff.convert(OPEN).save(path)
    facts = skiff.inspect(path)
    assert facts["signatures"][0]["inputs"][0]["shape"] == ["n", 4] and str(path) in str(facts)
    assert skiff.inspect(skiff.Model(path)) == facts
    assert "MatMul" in str(skiff.inspect(path, nodes=True)) or "FullyConnected" in str(skiff.inspect(path, nodes=True))
    source = skiff.inspect(OPEN)
    assert source["file"] == "the model in memory" and "/proc/" not in str(source)
    onnx = skiff.inspect(CHARACTERS / "characters.onnx")
    assert "characters.onnx" in str(onnx)


def test_propose_buckets():
    proposal = skiff.propose_buckets(OPEN, uniform={"n": (1, 16)}, max_plans=2, threads=1)
    assert proposal.symbol == "n" and proposal.dims == {"n": (1, 16)} and proposal.buckets[-1].largest == 16
    again = skiff.propose_buckets(OPEN, [{"n": 3, "count": 5}, {"n": 16}], threads=1)
    assert again.dims == {"n": (3, 16)}
    skiff.convert(OPEN, dims=again.dims, buckets=again.buckets_option)
    for arguments, words in (({}, "one of them"), ({"uniform": {"n": (1, None)}}, "largest size"), ({"uniform": {"m": (1, 2)}}, "m")):
        with pytest.raises(skiff.InvalidArgument, match=words):
            skiff.propose_buckets(OPEN, **arguments)


def test_propose_buckets_of_multiples():
    proposal = skiff.propose_buckets(OPEN, uniform={"n": skiff.Dim(4, 16, multiple=4)}, max_plans=2, threads=1)
    assert proposal.dims == {"n": skiff.Dim(4, 16, multiple=4)}
    assert all(bucket.largest % 4 == 0 for bucket in proposal.buckets)
    skiff.convert(OPEN, dims=proposal.dims, buckets=proposal.buckets_option)


def test_names_do_nothing_to_a_terminal():
    onnx = pytest.importorskip("onnx")
    hostile = "\x1b[2J\x07\n\x85"
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x" + hostile], ["y" + hostile], name="relu" + hostile)],
        "g" + hostile,
        [value("x" + hostile, onnx.TensorProto.FLOAT, ["n" + hostile, 4])],
        [value("y" + hostile, onnx.TensorProto.FLOAT, ["n" + hostile, 4])],
    )
    source = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    model = skiff.convert(source)
    wrong = {"y" + hostile: np.full((2, 4), 9, np.float32)}
    given = {"x" + hostile: np.ones((2, 4), np.float32)}
    failed = skiff.parity(source, model, inputs=given, expect=wrong)
    assert not failed.ok
    for shown in (model, model.inputs, skiff.inspect(model), skiff.inspect(source), skiff.bench(model, runs=1), failed.verdict, failed, skiff.parity(source)):
        assert not {"\x1b", "\x07", "\x85"} & set(str(shown)), repr(str(shown))
