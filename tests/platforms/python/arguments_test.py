"""What callers are told who pass something of another kind: which argument it is and what it takes, never what went wrong inside."""

import os

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS, OPEN

WRONG = [None, 3, 3.5, "text", b"x", [1], (1, 2, 3), {"a": 1}, {1: 2}, object(), np.float32(1), lambda *all, **named: None]
ONES = np.ones((2, 3), np.float32)
NET = CHARACTERS / "characters.onnx"
MODEL = skiff.convert(ADD)
OPEN_MODEL = skiff.convert(OPEN)
SESSION = MODEL.session()
CLASSIFIER = skiff.convert(NET, image=skiff.Image((32, 32), mean=127.5, scale=1 / 128))
SCORES = CLASSIFIER(np.zeros((1, 3, 32, 32), np.float32))


def keywords(function, names, **given):
    """Calls with each keyword in turn."""
    return {f"{function.__name__}({name}=)": lambda wrong, name=name: function(**{**given, name: wrong}) for name in names.split()}


def parts(function, names, key, **given):
    """The same with dictionaries of something wrong."""
    return {f"{function.__name__}({name}[])": lambda wrong, name=name: function(**{**given, name: {key: wrong}}) for name in names.split()}


CALLS = {
    "Model": skiff.Model,
    "Model(cache_folder=)": lambda wrong: skiff.Model("none.skiff", wrong),
    "convert": skiff.convert,
    **keywords(skiff.convert, "dims shapes buckets constants state signatures image labels target disable_passes strip copy_state", source=OPEN),
    **keywords(skiff.convert, "dump_after custom_libraries quantize xnnpack example_inputs", source=OPEN),
    **parts(skiff.convert, "dims shapes buckets constants state", "n", source=OPEN),
    **{
        f"Image({name}=)": lambda wrong, name=name: skiff.convert(NET, image=skiff.Image(**{"size": (32, 32), name: wrong}))
        for name in "size mean std scale channels fit resize filter fill".split()
    },
    "Dim": lambda wrong: skiff.convert(OPEN, dims={"n": skiff.Dim(wrong)}),
    "Dim(max=)": lambda wrong: skiff.convert(OPEN, dims={"n": skiff.Dim(1, wrong)}),
    **keywords(MODEL.session, "signature threads pool target backend fall_back memory_limit kept_shapes exact profile state_of"),
    "session()": lambda wrong: SESSION(wrong, ONES),
    **keywords(SESSION.run, "inputs"),
    "run(copy=)": lambda wrong: SESSION.run({"a": ONES, "b": ONES}, copy=wrong),
    "bind": lambda wrong: SESSION.bind(wrong, ONES),
    "input": SESSION.input,
    "set_state": SESSION.set_state,
    "explain": MODEL.explain,
    "save": lambda wrong: MODEL.save(wrong) if not isinstance(wrong, (str, bytes)) else None,
    "preprocess": lambda wrong: CLASSIFIER.preprocess("image", wrong),
    **keywords(CLASSIFIER.top, "k softmax row signature", output=SCORES),
    "top": CLASSIFIER.top,
    "ThreadPool": skiff.ThreadPool,
    "empty": skiff.empty,
    "parity": skiff.parity,
    **keywords(skiff.parity, "inputs input_ranges expect backends layers at steps repeat threads rtol atol", source=ADD, model=MODEL),
    **parts(skiff.parity, "at", "n", source=OPEN, model=OPEN_MODEL),
    **parts(skiff.parity, "input_ranges", "x", source=OPEN, model=OPEN_MODEL),
    "parity(inputs=function)": lambda wrong: skiff.parity(OPEN, OPEN_MODEL, inputs=lambda sizes: wrong),
    "parity(expect=function)": lambda wrong: skiff.parity(ADD, MODEL, expect=lambda **inputs: wrong),
    "bench": skiff.bench,
    **keywords(skiff.bench, "inputs seed sizes input_ranges signature backend threads exact top cache_folder", model=MODEL, runs=1, warmup=0),
    **keywords(skiff.bench, "runs warmup", model=MODEL),
    **keywords(skiff.random_inputs, "model"),
    **keywords(skiff.random_inputs, "seed sizes range input_ranges signature", model=OPEN_MODEL),
    **parts(skiff.random_inputs, "sizes", "n", model=OPEN_MODEL),
    "inspect": skiff.inspect,
    "propose_buckets": lambda wrong: skiff.propose_buckets(wrong, uniform={"n": (1, 2)}),
    **keywords(skiff.propose_buckets, "shapes uniform", source=OPEN),
    "propose_buckets([])": lambda wrong: skiff.propose_buckets(OPEN, [wrong]),
    "eager": skiff.eager,
    **keywords(skiff.eager, "signature constants", source=ADD),
    **parts(skiff.eager, "constants", "a", source=ADD),
    "report": skiff.report,
    **keywords(skiff.report, "source against backends inputs seed sizes input_ranges signature threads exact", model=MODEL, runs=1),
    **parts(skiff.report, "sizes input_ranges", "a", model=MODEL, runs=1),
    "quantize": lambda wrong: skiff.quantize(wrong, "random:1"),
    **keywords(skiff.quantize, "samples input_ranges keep format", source=ADD, calibrate="random:1"),
    "functions_to_model": skiff.functions_to_model,
    "functions_to_model[]": lambda wrong: skiff.functions_to_model({"f": wrong}),
    "cond": lambda wrong: skiff.cond(skiff.Tensor(True), wrong, wrong) if not callable(wrong) else None,
    "while_loop": lambda wrong: skiff.while_loop(wrong, wrong, skiff.Tensor(1.0)) if not callable(wrong) else None,
}


@pytest.mark.parametrize("name", CALLS)
def test_the_argument_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wrong in WRONG:
        try:
            CALLS[name](wrong)
        except skiff.Error as error:
            assert not isinstance(error, skiff.InternalError) and str(error)
        except TypeError as error:  # What nanobind says has the names of the arguments and what they take.
            assert "incompatible function arguments" in str(error), f"{name} of {wrong!r}: {error}"


def refused(call, *arguments, **named):
    with pytest.raises(skiff.InvalidArgument) as caught:
        call(*arguments, **named)
    return str(caught.value)


def test_sentences(tmp_path):
    assert refused(skiff.convert, OPEN, dims="batch=1") == "dims is 'batch=1'; expected a dict by name, as dims={\"batch\": 1}"
    assert refused(skiff.convert, OPEN, strip=1) == "strip is 1; expected True or False"
    assert refused(skiff.convert, OPEN, image=(224, 224)).startswith("image is (224, 224); expected a skiff.Image, as skiff.Image((224, 224)")
    assert refused(MODEL.session, threads="2") == "threads is '2'; expected a whole number, or None for the usable cores, at most 4"
    assert refused(MODEL.session, threads=0) == "threads is 0; expected 1 or more, or None for the usable cores, at most 4"
    assert refused(MODEL.session, pool=2) == "pool is 2; expected a skiff.ThreadPool, as skiff.ThreadPool(2)"
    assert refused(skiff.functions_to_model, {"f": None}) == "signatures: 'f' is None; expected a skiff.Function, or one of its concrete()"
    assert refused(MODEL.save, None) == "path is None; expected a path, as a str or a pathlib.Path"
    assert refused(skiff.parity, OPEN, at={"n": "3"}) == "at: 'n' is '3'; expected a whole number"
    assert refused(skiff.report, MODEL, input_ranges={"a": 1}) == "input_ranges: 'a' is 1; expected its ends, as {'a': (0, 1)}"
    assert refused(skiff.random_inputs, MODEL, seed=-1) == "seed is -1; expected 0 or more"
    assert refused(CLASSIFIER.top, SCORES, k=1.5) == "k is 1.5; expected a whole number"
    assert "whose name is not in UTF-8" in refused(skiff.Model, os.fsdecode(b"\xff.skiff"))
    assert "a path has no zeros" in refused(skiff.convert, "a\0.onnx")
    assert "the picture has elements of type object" in refused(CLASSIFIER.preprocess, "image", None)
    outputs = SESSION(ONES, ONES)
    with pytest.raises(IndexError, match="there is no output 2; there are 2: 'sum', 'twice'"):
        outputs[2]
    with pytest.raises(TypeError, match="an output is chosen by its name or its place, not by None; there are 'sum', 'twice'"):
        outputs[None]
    assert MODEL.session(threads=np.int64(1)).threads == 1
