"""Conversion, its options and what it says; what a Model tells of itself."""

import os
import pickle
import shutil
import stat

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS, OPEN, SOURCE_DIR


def test_from_path_bytes_and_proto(tmp_path):
    onnx = pytest.importorskip("onnx")
    path = CHARACTERS / "characters.onnx"
    content = path.read_bytes()
    files = [
        skiff.convert(source).to_bytes()
        for source in (path, str(path), content, bytearray(content), memoryview(content), onnx.load(path))
    ]
    assert all(file == files[0] for file in files)


def test_saved_models_open_again(tmp_path):
    model = skiff.convert(ADD)
    path = tmp_path / "add.skiff"
    model.save(path)
    opened = skiff.Model(path)
    assert opened.to_bytes() == model.to_bytes() == path.read_bytes()
    opened.save(tmp_path / "again.skiff")
    assert (tmp_path / "again.skiff").read_bytes() == model.to_bytes()
    opened.save(path)  # Itself.
    assert path.read_bytes() == model.to_bytes()
    for other in (opened, skiff.Model(model.to_bytes()), pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(opened))):
        assert other(np.ones((2, 3)).astype(np.float32), np.ones((2, 3), np.float32)).sum[0, 0] == 2
    with pytest.raises(skiff.IoError) as caught:
        model.save(tmp_path / "none" / "add.skiff")
    assert isinstance(caught.value, OSError)
    path.write_bytes(b"other")
    with pytest.raises(skiff.IoError, match="another file than the one that was opened"):
        opened.to_bytes()


def test_sources_are_not_overwritten(tmp_path):
    """Those on disk, however their paths are spelled, and the files beside them that weights are in."""
    onnx = pytest.importorskip("onnx")
    source = tmp_path / "net.onnx"
    shutil.copy(CHARACTERS / "characters.onnx", tmp_path / "small.onnx")
    net = onnx.load(tmp_path / "small.onnx")
    onnx.save(net, source, save_as_external_data=True, location="weights.bin", size_threshold=0)
    labels = tmp_path / "labels.txt"
    shutil.copy(CHARACTERS / "labels.txt", labels)
    (tmp_path / "link").symlink_to(source)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    model = skiff.convert(source, labels=labels)
    for place, what in (("net.onnx", "the source"), ("link", "the source"), ("weights.bin", "weights of the source"), ("labels.txt", "the labels")):
        for write in (model.save, lambda path: model.report(path, source), lambda path: skiff.report(model.to_bytes(), source, path)):
            if what == "the labels" and write != model.save:
                continue
            with pytest.raises(skiff.InvalidArgument, match=f"{place}: would overwrite {what}, '.*'; choose another path"):
                write(tmp_path / place)
    with pytest.raises(skiff.InvalidArgument, match="weights.bin: would overwrite weights of the source"):
        skiff.quantize(source, "random:1", report=tmp_path / "weights.bin")
    model.save(tmp_path / "net.skiff")
    opened = skiff.Model(tmp_path / "net.skiff")
    report = opened.report(runs=1)
    for write in (report.save, opened.report):
        with pytest.raises(skiff.InvalidArgument, match="net.skiff: would overwrite the model, '.*net.skiff'; choose another path"):
            write(tmp_path / "net.skiff")
    with pytest.raises(skiff.InvalidArgument, match="small.onnx: would overwrite the source"):
        skiff.convert(tmp_path / "small.onnx").save(f"{tmp_path}/../{tmp_path.name}/small.onnx")
    assert {file: file.read_bytes() for file in before} == before


def test_what_is_no_file_is_not_replaced(tmp_path, add):
    """By a pipe somebody waits at its other end, a folder has files in it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    report = add.report(runs=1)
    for place, kind in ((pipe, "a pipe"), (tmp_path / "link", "a pipe"), (tmp_path, "a folder")):
        for write in (add.save, report.save, add.report):
            with pytest.raises(skiff.IoError, match=f"cannot be written: it is {kind}; the path of a file was expected"):
                write(place)
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and (tmp_path / "link").is_symlink()


def test_a_file_that_is_open_may_be_replaced(tmp_path, add):
    """Its Model and its Sessions go on with what they have opened; a link stays one."""
    path = tmp_path / "net.skiff"
    skiff.convert(CHARACTERS / "characters.onnx").save(path)
    (tmp_path / "link.skiff").symlink_to(path)
    opened = skiff.Model(path)
    image = np.ones((1, 3, 32, 32), np.float32)
    before = opened(image).logits
    add.save(tmp_path / "link.skiff")
    assert (tmp_path / "link.skiff").is_symlink() and path.read_bytes() == add.to_bytes()
    np.testing.assert_array_equal(opened(image).logits, before)
    np.testing.assert_array_equal(opened.session()(image).logits, before)
    with pytest.raises(skiff.IoError, match="another file than the one that was opened"):
        opened.save(path)
    assert path.read_bytes() == add.to_bytes()


def test_what_a_model_tells():
    model = skiff.convert(OPEN, dims={"n": skiff.Dim(8, 64, multiple=8)}, buckets={"n": [8, (16, 32)]})
    (x,) = model.inputs
    assert (x.name, x.dtype, x.shape) == ("x", np.dtype("float32"), ("n", 4))
    assert model.outputs[0].shape == ("n", 8)
    assert model.symbols == (skiff.Symbol("n", 8, 64, 8),)
    assert [(plan.kind, dict(plan.ranges)) for plan in model.plans] == [
        ("relaxed", {"n": (8, 64)}),
        ("exact", {"n": (8, 8)}),
        ("relaxed", {"n": (16, 32)}),
    ]
    assert list(model.signatures) == ["main"] and model.signatures["main"].inputs == model.inputs
    assert model.file_bytes == len(model.to_bytes()) and 0 < model.weights_bytes < model.file_bytes
    assert model.producer.startswith("skiff") and "input Port('x': float32 [n, 4])" in repr(model)
    assert skiff.convert(OPEN).symbols[0].max is None


@pytest.mark.parametrize(
    "sizes, text",
    [
        (7, "7"),
        ((1, 512), "1..512"),
        ((1, None), "1.."),
        (None, "1.."),
        (range(1, 9), "1..8"),
        (range(8, 65, 8), "8..64,multiple=8"),
        (skiff.Dim(8, 64, 8), "8..64,multiple=8"),
        (skiff.Dim(7), "7"),
        (np.int64(7), "7"),
        ([np.int32(2), np.int32(4)], "2..4"),
    ],
)
def test_sizes_as_the_tool_spells_them(sizes, text):
    from skiff._convert import dim_of

    assert str(dim_of(sizes)) == text


def test_options_reach_the_converter():
    source = b"graph g { input x: f32[2] input rate: f32[1] y = Mul(x, rate) z = Neg(y) output z }"
    with pytest.raises(skiff.InvalidArgument, match="rate"):  # The text form has no inputs to fix, and says so.
        skiff.convert(source, constants={"rate": 2})
    assert skiff.convert(ADD, strip=True).file_bytes < skiff.convert(ADD).file_bytes
    reference = skiff.convert(OPEN, dims={"n": 2}, xnnpack=False).session(profile=True)
    reference(np.ones((2, 4), np.float32))
    assert {node.delegate for node in reference.profile()} == {"reference"}
    targets = {plan.target for plan in skiff.convert(ADD, target="vulkan").plans}
    assert targets == {"cpu", "vulkan"}


def test_constants_of_an_onnx_model():
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "rate"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"]),
            helper.make_tensor_value_info("rate", TensorProto.FLOAT, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    model = skiff.convert(proto, constants={"rate": 3}, dims={"n": (1, 4)})
    assert [port.name for port in model.inputs] == ["x"]
    np.testing.assert_array_equal(model(np.array([1, 2], np.float32)).y, [3, 6])
    onnx.checker.check_model(proto)
    report = skiff.parity(proto, model, at={"n": 2})
    assert report, report


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"dims": {"m": 2}}, "'m'"),
        ({"dims": {"n": (5, 2)}}, "--dim n=5..2"),
        ({"dims": {"n": range(0)}}, "no range of sizes"),
        ({"dims": "n=1"}, r"dims is 'n=1'; expected a dict by name, as dims=\{\"batch\": 1\}"),
        ({"dims": ["n=1"]}, "expected a dict by name"),
        ({"dims": {"n": "1..8"}}, r"'1\.\.8' is no size; expected a number, \(min, max\)"),
        ({"dims": {"n": (1, 2, 3)}}, "is no size"),
        ({"dims": {"n": 2.5}}, "2.5 is no size"),
        ({"shapes": "x=1x4"}, "shapes is 'x=1x4'; expected a dict"),
        ({"shapes": {"x": "1x4"}}, "shapes: 'x' is '1x4'; expected its extents"),
        ({"buckets": "n=2,4"}, "buckets is 'n=2,4'"),
        ({"constants": "rate=3"}, "constants is 'rate=3'"),
        ({"state": "x=z"}, "state is 'x=z'"),
        ({"shapes": {"y": [1, 4]}}, "'y'"),
        ({"shapes": {"x": [2, 5]}}, "x"),
        ({"buckets": {"n": [2, 2]}}, "each range once"),
        ({"state": {"x": "z"}}, "z"),
        ({"disable_passes": ["nothing"]}, "nothing"),
        ({"disable_passes": "infer-shapes"}, "infer-shapes"),
        ({"target": "npu"}, "'cpu', 'vulkan'"),
        ({"signatures": "other"}, "other"),
        ({"image": skiff.Image((32, 32))}, "32"),
        ({"image": skiff.Image((32, 32), mean=0.5, scale=3)}, "--mean"),
        ({"image": skiff.Image(32)}, r"an Image of size 32; expected \(width, height\)"),
        ({"labels": ["one", "two"]}, "label"),
        ({"labels": "no_such_file.txt"}, "no_such_file.txt"),
        ({"example_inputs": [1]}, "torch"),
    ],
)
def test_mistakes_in_options_are_named(arguments, words):
    with pytest.raises(skiff.Error, match=words):
        skiff.convert(OPEN, **arguments)


def test_an_image_takes_its_size_from_the_input():
    source = b"graph g { input x: f32[1, 24, 48, 3] y = Neg(x) output y }"
    (port,) = skiff.convert(source, image=skiff.Image(mean=[0.5] * 3, std=[0.25] * 3)).inputs
    assert (port.image.width, port.image.height) == (48, 24)
    assert port.image.mean == (127.5,) * 3
    assert skiff.convert(source, image=skiff.Image()).inputs[0].image.width == 48
    with pytest.raises(skiff.InvalidArgument, match="--image-size"):
        skiff.convert(b"graph g { symbol h: 1.. input x: f32[1, h, 48, 3] y = Neg(x) output y }", image=skiff.Image())


def test_sources_that_are_none(tmp_path):
    for source, kind, words in (
        (b"", skiff.InvalidModel, "the model in memory"),
        (b"not a model", skiff.InvalidModel, "the model in memory"),
        (tmp_path / "none.onnx", skiff.IoError, "none.onnx: cannot be opened"),
        (skiff.convert(ADD).to_bytes(), skiff.InvalidArgument, "the model in memory: is a converted model already"),
        (3.5, skiff.InvalidArgument, "got float"),
        (b"graph g { input x: f32[2] y = NoSuch(x) output y }", skiff.Error, "NoSuch"),
    ):
        with pytest.raises(kind, match=words) as caught:
            skiff.convert(source)
        assert "/proc/" not in str(caught.value)
    for damaged in (b"", b"SKIFF", skiff.convert(ADD).to_bytes()[:-100]):
        with pytest.raises(skiff.InvalidModel):
            skiff.Model(damaged)
    with pytest.raises(skiff.IoError, match="none.skiff"):
        skiff.Model(tmp_path / "none.skiff")


def test_progress_and_what_it_raises():
    steps = []
    skiff.convert(ADD, progress=steps.append)
    assert "import" in steps and "write" in steps

    class Enough(Exception):
        pass

    def stop(step):
        if step == "write":
            raise Enough

    with pytest.raises(Enough):
        skiff.convert(ADD, progress=stop)
    assert skiff.convert(ADD, progress=True).file_bytes > 0


def test_wrong_keywords_say_which_was_meant():
    for wrong, meant in ({"dim": {"n": 1}}, "'dims'"), ({"quantise": "i8"}, "'quantize'"), ({"calibrat": "photos"}, "'calibrate'"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(wrong))}'; did you mean {meant}"):
            skiff.convert(OPEN, **wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'$"):
        skiff.convert(OPEN, zzz=1)
    with pytest.raises(skiff.InvalidArgument, match="calibrate says how a net is quantised"):
        skiff.convert(OPEN, calibrate="photos")
    with pytest.raises(skiff.InvalidArgument, match=r"image is \(224, 224\); expected a skiff.Image"):
        skiff.convert(OPEN, image=(224, 224))


def test_hints_and_explanations():
    model = skiff.convert(OPEN)
    assert any("--dim" in hint for hint in model.hints) and model.notes == ()
    assert "runs as" in model.explain()
    with pytest.raises(skiff.InvalidArgument, match="convert"):
        skiff.Model(model.to_bytes()).explain()


def test_a_closed_model_is_named(tmp_path):
    model = skiff.convert(ADD)
    session = model.session()
    with model:
        pass
    with pytest.raises(skiff.InvalidArgument, match="the model is closed"):
        model.session()
    one = np.ones((2, 3), np.float32)
    assert session(one, one).sum[0, 0] == 2  # It has the model still.


def test_a_cache_folder(tmp_path):
    path = tmp_path / "net.skiff"
    skiff.convert(CHARACTERS / "characters.onnx").save(path)
    cache = tmp_path / "cache"
    cache.mkdir()
    with skiff.Model(path, cache_folder=cache) as model:
        inputs = skiff.random_inputs(model)
        first = model(**inputs)
        model.save_cache()
    assert any(cache.iterdir())
    with skiff.Model(path, cache_folder=cache) as model:
        second = model(**inputs)
    np.testing.assert_array_equal(first[0], second[0])


def test_pictures_and_labels(characters):
    (port,) = characters.inputs
    assert port.image.width == 32 and port.image.channels == "rgb" and port.image.fit == "stretch"
    picture = sorted((CHARACTERS / "images").glob("*.png"))[0]
    tensor = characters.preprocess(port.name, picture)
    image = pytest.importorskip("PIL.Image").open(picture)
    np.testing.assert_array_equal(characters.preprocess(port.name, image), tensor)
    np.testing.assert_array_equal(characters.preprocess(port.name, np.asarray(image.convert("RGB"))), tensor)
    outputs = characters(tensor)
    best = characters.top(outputs, 3)
    assert len(best) == 3 and best[0].score >= best[1].score >= best[2].score
    assert best[0].index == int(np.argmax(outputs[0])) and best[0].label == characters.outputs[0].labels[best[0].index]
    assert abs(sum(one.score for one in characters.top(outputs[0], 10**6, softmax=True)) - 1) < 1e-6
    for picture, words in (
        (np.zeros((4, 4), np.float32), "uint8"),
        (np.zeros((4, 4, 2), np.uint8), "1, 3 or 4 channels"),
        (CHARACTERS / "labels.txt", "labels.txt"),
    ):
        with pytest.raises(skiff.Error, match=words):
            characters.preprocess(port.name, picture)
    with pytest.raises(skiff.InvalidArgument, match="no input 'other'"):
        characters.preprocess("other", image)
    with pytest.raises(skiff.InvalidArgument):
        characters.top(outputs, 0)


def test_classes_of_what_pooling_leaves():
    model = skiff.convert(b"graph g { input x: f32[1, 10, 1, 1] y = Neg(x) output y }")
    outputs = model(np.arange(10, dtype=np.float32).reshape(1, 10, 1, 1))
    assert [one.index for one in model.top(outputs, 5)] == [0, 1, 2, 3, 4]
    for wrong in ({"k": 2**64}, {"row": "a"}, {"row": -1}, {"row": 2**64}):
        with pytest.raises(skiff.InvalidArgument, match=next(iter(wrong))):
            model.top(outputs, **wrong)


def test_pictures_of_16_bits(characters, tmp_path):
    pil = pytest.importorskip("PIL.Image")
    (port,) = characters.inputs
    path = tmp_path / "deep.png"
    deep = np.arange(1024, dtype=np.uint16).reshape(32, 32) * 64
    pil.fromarray(deep).save(path)
    from_path = characters.preprocess(port.name, path)
    assert 0 < from_path.std()
    np.testing.assert_array_equal(characters.preprocess(port.name, pil.open(path)), from_path)
    np.testing.assert_array_equal(characters.preprocess(port.name, pil.fromarray(deep)), from_path)
    for other in (deep.astype(np.int32), deep.astype(np.float32)):
        with pytest.raises(skiff.InvalidArgument, match="mode '[IF]', which does not say what white is"):
            characters.preprocess(port.name, pil.fromarray(other))


def test_quantised_ports():
    source = b"""graph g {
      input x: i8[4] {scale=0.5, zero_point=3}
      y: i8[4] {scale=0.25} = Requantize(x)
      output y
    }"""
    model = skiff.convert(source)
    port = model.inputs[0]
    assert port.quantization == skiff.Quantization((0.5,), (3,))
    integers = model.quantize("x", [-1, 0, 0.5, 1000])
    np.testing.assert_array_equal(integers, np.array([1, 3, 4, 127], np.int8))
    outputs = model(integers)
    np.testing.assert_array_equal(model.dequantize("y", outputs.y), [-1, 0, 0.5, 31.75])
    with pytest.raises(skiff.InvalidArgument, match="not quantised"):
        skiff.convert(ADD).quantize("a", [1])


def test_elements_that_are_not_aligned():
    def moved(array):
        return np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)

    model = skiff.convert(b"""graph g {
      input x: i16[4] {scale=0.5}
      y: i16[4] {scale=0.25} = Requantize(x)
      output y
    }""")
    reals = np.array([-1, 0, 0.5, 1000], np.float32)
    np.testing.assert_array_equal(model.quantize("x", moved(reals)), [-2, 0, 1, 2000])
    np.testing.assert_array_equal(model.dequantize("y", moved(np.array([-4, 0, 2, 4000], np.int16))), reals)
    classes = skiff.convert(b"graph g { input x: f32[1, 10] y = Neg(x) output y }")
    scores = moved(np.arange(10, dtype=np.float32).reshape(1, 10))
    assert [one.index for one in classes.top(scores, 3)] == [9, 8, 7]


def test_build_info():
    info = skiff.build_info()
    assert info["version"] == skiff.__version__
    assert "xnnpack" in info["delegates"]


def test_typed_and_documented():
    import inspect

    assert os.path.exists(os.path.join(os.path.dirname(skiff.__file__), "py.typed"))
    for name in skiff.__all__:
        assert inspect.getdoc(getattr(skiff, name)), name
    for kind in (skiff.Model, skiff.Session, skiff.ParityReport, skiff.Outputs):
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_") and (callable(member) or isinstance(member, property)) and name in vars(kind):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"


@pytest.mark.parametrize("command, function", [("convert", skiff.convert), ("quantize", skiff.quantize)])
def test_every_option_of_the_tool_has_its_keyword(command, function):
    import inspect
    import re
    import subprocess
    import sys

    from skiff._convert import ConvertKeywords
    from skiff._quantize import QuantizeKeywords

    help_text = subprocess.run(
        [sys.executable, "-m", "skiff", command, "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = set(re.findall(r"^  (?:-\w,)?--([a-z-]+)", help_text, re.MULTILINE))
    keyword = {
        "dim": "dims", "shape": "shapes", "bucket": "buckets", "set": "constants", "signature": "signatures",
        "disable-pass": "disable_passes", "no-xnnpack": "xnnpack", "custom-library": "custom_libraries", "image-size": "image",
        "input-range": "input_ranges", "no-bias-correction": "bias_correction", "no-equalisation": "equalisation",
    }
    image = {"mean", "std", "scale", "channels", "fit", "resize", "filter", "fill"}
    # What is the answer itself here (save(), explain()), or the tool's own.
    elsewhere = {"help", "output", "explain", "list-passes", "json"}
    own = set(inspect.signature(function).parameters)
    # The function's own, and those that it passes on to the other.
    names = own | set((QuantizeKeywords if function is skiff.convert else ConvertKeywords).__annotations__)
    missing = {
        option
        for option in options - image - elsewhere
        if keyword.get(option, option.replace("-", "_")) not in names
    }
    assert len(options) > 30 and not missing
    assert image <= set(inspect.signature(skiff.Image).parameters)


def test_the_keywords_that_one_function_passes_to_the_other():
    import inspect

    from skiff._convert import ConvertKeywords
    from skiff._quantize import QuantizeKeywords

    converts = set(inspect.signature(skiff.convert).parameters)
    quantizes = set(inspect.signature(skiff.quantize).parameters)
    assert set(ConvertKeywords.__annotations__) == converts - {"source", "quantize", "quantising"}
    assert set(QuantizeKeywords.__annotations__) == quantizes - {"source", "format", "conversion"}
