"""Python functions that run eagerly or as graphs."""

import collections
import enum
import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import skiff
from skiff import ops


def rows(n, value=1.0):
    return np.full((n, 4), value, np.float32)


def line_of(code):
    """Of the first line of a function's body, as errors have it."""
    return f"function_test.py:{code.__code__.co_firstlineno + 1}"


# Tensors.


def test_a_tensor_is_a_copy_with_numpys_types():
    source = np.arange(6, dtype=np.int16).reshape(2, 3)
    tensor = skiff.Tensor(source)
    source[:] = 0
    assert tensor.shape == (2, 3) and tensor.dtype == np.int16 and tensor.rank == 2 and tensor.dim(-1) == 3
    assert tensor.numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and not tensor.numpy().flags.writeable
    assert np.shares_memory(tensor.numpy(), tensor.numpy())
    view = tensor.numpy()
    del tensor
    gc.collect()
    assert view.sum() == 15
    for value, dtype in ((True, np.bool_), (2, np.int64), (2.5, np.float32)):
        assert skiff.Tensor(value).dtype == dtype and skiff.Tensor(value).item() == value
    assert skiff.Tensor([1, 2], "f16").dtype == np.float16 and skiff.Tensor([1.5], np.float64).item() == 1.5
    assert repr(skiff.Tensor([1.0, 2.0])) == "<skiff.Tensor f32[2]: [1. 2.]>"
    assert np.asarray(skiff.Tensor([1, 2]), dtype=np.float32).dtype == np.float32
    with pytest.raises(skiff.InvalidArgument, match="has 2 elements, where exactly one is needed"):
        skiff.Tensor([1, 2]).item()


def test_arithmetic_broadcasts_and_promotes_nothing():
    x = skiff.Tensor([[1.0, 2.0], [3.0, 4.0]])
    one = np.ones(2, np.float32)
    for got, expected in [
        (x + 1, [[2, 3], [4, 5]]), (1 - x, [[0, -1], [-2, -3]]), (x * one, [[1, 2], [3, 4]]), (one + x, [[2, 3], [4, 5]]),
        (x / 2, [[0.5, 1], [1.5, 2]]), (2 / x, [[2, 1], [2 / 3, 0.5]]), (x % 2, [[1, 0], [1, 0]]), (x**2, [[1, 4], [9, 16]]),
        (x @ x, [[7, 10], [15, 22]]), (-x, [[-1, -2], [-3, -4]]), (abs(-x), [[1, 2], [3, 4]]), (x + [10, 20], [[11, 22], [13, 24]]),
        (x > 2, [[False, False], [True, True]]), (2 >= x, [[True, True], [False, False]]), (x == 1, [[True, False], [False, False]]),
        (~(x != 1), [[True, False], [False, False]]), ((x > 1) & (x < 4), [[False, True], [True, False]]),
    ]:  # fmt: skip
        np.testing.assert_allclose(got.numpy(), np.array(expected), rtol=1e-6)
    with pytest.raises(skiff.InvalidArgument, match=r"function_test\.py:\d+: Add: .*\(operands: f32\[2, 2\], f64\[2\]\)"):
        x + np.ones(2)
    with pytest.raises(skiff.InvalidArgument, match=r"0\.5 cannot be a number of dtype i32.*skiff\.ops\.cast\(\) that one"):
        skiff.Tensor([1], "i32") + 0.5
    assert (skiff.Tensor([0], "i64") + 2**62).item() == 2**62
    assert (x == None) is False and (x != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        x + "1"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


KEYS = [
    np.s_[0], np.s_[-1], np.s_[1, 2], np.s_[:, 1], np.s_[..., 0], np.s_[1:], np.s_[:, ::2], np.s_[::-1], np.s_[:, 2:0:-1], np.s_[None],
    np.s_[:, None, 1], np.s_[..., None], np.s_[0:0], np.s_[-2:-1, -3:],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_are_numpys(key):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = array[key]
    x = skiff.Tensor(array)
    np.testing.assert_array_equal(x[key].numpy(), expected)
    np.testing.assert_array_equal(skiff.function(lambda x: x[key])(x).numpy(), expected)
    opened = skiff.function(lambda x: x[key], input_signature=["f32[n, 4]"])
    np.testing.assert_array_equal(opened(x).numpy(), expected)


def test_indices_that_are_tensors_and_those_that_are_wrong():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = skiff.Tensor(array)
    np.testing.assert_array_equal(x[skiff.Tensor([2, 0])].numpy(), array[[2, 0]])
    np.testing.assert_array_equal(x[:, skiff.Tensor(1)].numpy(), array[:, 1])
    take = skiff.function(lambda x, n: x[:n])
    np.testing.assert_array_equal(take(x, skiff.Tensor(2)).numpy(), array[:2])
    assert [row.numpy().tolist() for row in x] == array.tolist() and len(x) == 3
    with pytest.raises(IndexError, match=r"index 3 is out of range: axis 0 of f32\[3, 4\] has 3 elements"):
        x[3]
    with pytest.raises(skiff.InvalidArgument, match=r"3 indices are too many for f32\[3, 4\]"):
        x[0, 0, 0]
    with pytest.raises(skiff.InvalidArgument, match="cannot be indexed with 'a'"):
        x["a"]
    with pytest.raises(skiff.InvalidArgument, match="rank 0 has no rows"):
        list(skiff.Tensor(1))


# Traces.


def test_one_trace_for_equal_types_and_one_that_is_open():
    runs = []

    @skiff.function
    def mse(a, b):
        """The mean squared error."""
        runs.append(1)
        return ops.reduce_mean((a - b) * (a - b), keep_dims=False)

    assert mse(rows(2), rows(2, 3)).item() == 4 and mse(rows(2), rows(2, 2)).item() == 1
    assert len(runs) == mse.trace_count == 1
    for n in (3, 5, 8, 1):
        assert mse(rows(n), rows(n, 3)).item() == 4
    assert mse.trace_count == 2 and mse.statistics.hits == 4
    assert [one.signature for one in mse.concrete_functions] == [
        "mse(a: f32[2, 4], b: f32[2, 4]) -> (f32[])",
        "mse(a: f32[a#0, 4], b: f32[a#0, 4]) -> (f32[])",
    ]
    assert mse.__name__ == "mse" and mse.__doc__ == "The mean squared error." and repr(mse) == "<skiff.Function mse(a, b)>"
    graph = mse.concrete_functions[0].graph
    assert graph.startswith("graph mse {") and "Sub(a, b)" in graph and graph in str(mse.concrete_functions[0])


def test_values_of_other_arguments_are_part_of_the_key():
    Way = enum.Enum("Way", "UP DOWN")

    @skiff.function(retrace_warning=0)
    def f(x, times=1, way=Way.UP, scale=None):
        for _ in range(times):
            x = x + 1 if way is Way.UP else x - 1
        return x if scale is None else x * scale

    x = rows(1)
    assert f(x).numpy()[0, 0] == 2 and f(x, 3).numpy()[0, 0] == 4 and f(x, times=3).numpy()[0, 0] == 4
    assert f(x, 1, Way.DOWN).numpy()[0, 0] == 0 and f(x, scale=0.5).numpy()[0, 0] == 1 and f(x, True).numpy()[0, 0] == 2
    assert f.trace_count == 5
    with pytest.raises(TypeError, match=r"f\(\) got an unexpected keyword argument 'time'"):
        f(x, time=3)


def test_structures_of_arguments_and_results():
    Pair = collections.namedtuple("Pair", "first second")

    @skiff.function
    def f(pair, lists, *more, **named):
        return {"sum": pair.first + lists["a"][0] + more[0], "rest": (Pair(named["x"], 7), None, [pair.second])}

    given = (Pair(rows(1), rows(1, 2)), {"a": [rows(1, 3), rows(1)]}, rows(1, 5))
    for _ in range(2):
        result = f(*given, x=rows(1, 9))
        assert result["sum"].numpy()[0, 0] == 9 and result["rest"][0].first.numpy()[0, 0] == 9
        assert result["rest"][0].second.item() == 7 and result["rest"][1] is None and result["rest"][2][0].numpy()[0, 0] == 2
    assert f.trace_count == 1
    assert "pair.first: f32[1, 4]" in f.concrete_functions[0].signature and "named.x: f32" not in f.concrete_functions[0].signature
    with pytest.raises(skiff.InvalidArgument, match="'<lambda>' returned set; expected tensors"):
        skiff.function(lambda x: {1})(rows(1))
    assert skiff.function(lambda: skiff.Tensor([1.0]) + 1)().numpy()[0] == 2


def test_an_input_signature_is_one_trace_and_refuses_the_rest():
    @skiff.function(input_signature=["f32[n<=8, 4]", "f32[n, 4]"], buckets=[{"n": (1, 4)}, {"n": skiff.Dim(8)}])
    def f(a, b):
        return a + b

    for n in range(1, 9):
        np.testing.assert_array_equal(f(rows(n), rows(n)).numpy(), rows(n, 2))
    assert f.trace_count == 1
    with pytest.raises(skiff.InvalidArgument, match=r"'f' was called with \(f32\[9, 4\], f32\[9, 4\]\), which its input_signature"):
        f(rows(9), rows(9))
    with pytest.raises(skiff.InvalidArgument, match="equal names mean equal sizes"):
        f(rows(2), rows(3))
    for wrong in ("f32", "f31[2]", "f32[n<=]"):
        with pytest.raises(skiff.InvalidArgument, match="is not understood"):
            skiff.function(input_signature=[wrong])(lambda x: x)
    with pytest.raises(skiff.InvalidArgument, match="needs a largest size"):
        skiff.function(buckets=[{"n": (1, None)}])(lambda x: x)


def test_code_that_needs_a_number_keeps_a_trace_per_size():
    @skiff.function
    def f(x):
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total + x[i]
        return total

    for n in (2, 3, 4):
        assert f(rows(n)).numpy()[0] == n
    assert f.trace_count == 3

    opened = skiff.function(lambda x: x.shape[0], input_signature=["f32[n, 4]"])
    with pytest.raises(skiff.InvalidArgument, match=r"extent 0 of 'x', an argument of '<lambda>', \(f32\[n, 4\]\) is open.*ops\.shape_of"):
        opened(rows(2))
    seen = []
    skiff.function(lambda x: seen.append((x.shape[-1], len(x.shape), repr(x.shape))) or x, input_signature=["f32[n, 4]"])(rows(2))
    assert seen == [(4, 2, "<the shape of f32[n, 4]>")]
    last = skiff.function(lambda x: ops.reshape(x, (0, 2, -1)), input_signature=["f32[n, 4]"])
    assert last(rows(3)).shape == (3, 2, 2)


def test_the_retrace_advice_is_one_warning_with_the_remedy(caplog):
    f = skiff.function(relax_shapes=False, retrace_warning=3)(lambda x: x + 1)
    g = skiff.function(retrace_warning=3)(lambda x, k: x + k)
    with caplog.at_level(logging.WARNING, "skiff"):
        for n in range(1, 6):
            f(rows(n)), g(rows(1), n)
    first, second = [record.message for record in caplog.records]
    assert "extent 0 of argument 'x' was 1, 2, 3" in first and 'input_signature=["f32[n0, 4]"] traces once' in first
    assert "k=1 | k=2 | k=3" in second and "pass what varies as skiff.Tensor(..)" in second


def test_traces_are_dropped_beyond_the_limit():
    f = skiff.function(max_concrete_functions=2, retrace_warning=0)(lambda x, k: (x + k, k))
    for k in range(5):
        assert f(rows(1), k)[0].numpy()[0, 0] == 1 + k
    assert len(f.concrete_functions) == 2 and f.statistics.dropped == 3


def test_methods_have_traces_of_their_object():
    class Layer:
        def __init__(self, k):
            self.k = k

        @skiff.function
        def call(self, x):
            """Doc."""
            return x * self.k

    two, three = Layer(2), Layer(3)
    assert two.call(rows(1)).numpy()[0, 0] == 2 and three.call(rows(1)).numpy()[0, 0] == 3
    assert two.call is two.call and two.call.trace_count == 1 and Layer.call.__doc__ == "Doc."
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_functions_call_functions():
    double = skiff.function(lambda x: x * 2)
    outer = skiff.function(lambda x: double(x) + double(x))
    assert outer(rows(1)).numpy()[0, 0] == 4 and double.trace_count == 0 and double.statistics.inlined_calls == 2


# Choices and loops.


def test_a_traced_tensor_is_no_bool_and_says_cond():
    def code(x):
        y = x > 0
        return x if y else -x

    where = line_of(code)
    with pytest.raises(skiff.InvalidArgument, match=rf"the trace of 'code' made at {where} is used as a Python bool.*Use skiff\.cond\(\)"):
        skiff.function(code)(skiff.Tensor(1.0))
    with pytest.raises(skiff.InvalidArgument, match="'x', an argument of 'loop', is used as a Python bool.*skiff.while_loop()"):

        @skiff.function
        def loop(x):
            while x:
                x = x - 1

        loop(skiff.Tensor(1.0))
    with pytest.raises(skiff.InvalidArgument, match="has no elements yet.*skiff.print()"):
        skiff.function(lambda x: x.numpy())(rows(1))
    assert bool(skiff.Tensor(1.0)) and not skiff.Tensor(False)


def test_cond():
    @skiff.function
    def f(x, y):
        return skiff.cond(x > 0, lambda: {"a": x + y, "b": (y,)}, lambda: {"a": x - y, "b": (-y,)})

    for eager in (False, True):
        with skiff.ScopedRunEagerly(eager):
            assert f(skiff.Tensor(2.0), skiff.Tensor(3.0))["a"].item() == 5
            assert f(skiff.Tensor(-2.0), skiff.Tensor(3.0))["b"][0].item() == -3
    assert f.trace_count == 1 and "If(" in f.concrete_functions[0].graph
    assert skiff.cond(True, lambda: 1, lambda: 2).item() == 1
    with pytest.raises(skiff.InvalidArgument, match=r"function_test\.py:\d+: the branches of Cond return 1 and 2 tensors"):
        skiff.function(lambda x: skiff.cond(x > 0, lambda: x, lambda: (x, x)))(skiff.Tensor(1.0))
    with pytest.raises(skiff.InvalidArgument, match="the condition must be a bool of one element, not f32"):
        skiff.cond(skiff.Tensor(1.0), lambda: 1, lambda: 2)
    with pytest.raises(ZeroDivisionError):
        skiff.function(lambda x: skiff.cond(x > 0, lambda: 1 // 0, lambda: x))(skiff.Tensor(1.0))


def test_while_loop():
    power = skiff.function(
        lambda x, n: skiff.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, p @ x), (0, np.eye(2, dtype=np.float32)))[1]
    )
    halve = skiff.function(lambda x: skiff.while_loop(lambda x: x > 1, lambda x: x / 2, x))
    x = np.array([[1, 1], [0, 1]], np.float32)
    for eager in (False, True):
        with skiff.ScopedRunEagerly(eager):
            assert power(x, skiff.Tensor(5)).numpy()[0, 1] == 5 and power(x, skiff.Tensor(0)).numpy()[0, 1] == 0
            assert halve(skiff.Tensor(10.0)).item() == 0.625
    assert power.trace_count == 1
    with pytest.raises(skiff.InvalidArgument, match="takes 2 variables and returns 1"):
        skiff.while_loop(lambda i, p: i < 2, lambda i, p: (i,), (0, 1.0))
    with pytest.raises(skiff.Error, match=r"function_test\.py:\d+: .*variable 0"):
        skiff.function(lambda x: skiff.while_loop(lambda v: v < 3, lambda v: ops.cast(v, "i32"), x))(skiff.Tensor(1.0))


# Effects and state.


def test_print_assert_and_check_numerics_act_at_every_call(capsys):
    runs = []

    @skiff.function
    def root(x):
        runs.append(1)
        skiff.print("x is", x, {"a": 1})
        skiff.assert_(x >= 0, "a root needs x >= 0, got", x)
        return skiff.check_numerics(ops.log(ops.sqrt(x)), "log of the root")

    for eager in (False, True):
        with skiff.ScopedRunEagerly(eager):
            assert root(skiff.Tensor(1.0)).item() == 0
            with pytest.raises(skiff.InvalidArgument, match=r"at function_test\.py:\d+: a root needs x >= 0, got -1"):
                root(skiff.Tensor(-1.0))
            with pytest.raises(skiff.InvalidArgument, match="log of the root"):
                root(skiff.Tensor(0.0))
        assert capsys.readouterr().err.splitlines() == ["x is 1 {'a': 1}", "x is -1 {'a': 1}", "x is 0 {'a': 1}"]
    assert len(runs) == 4


def test_check_every_result_names_the_first():
    f = skiff.function(lambda x: ops.exp(ops.log(x)) + 1)
    with skiff.ScopedCheckEveryResult():
        assert skiff.checks_every_result()
        with pytest.raises(skiff.InvalidArgument, match=r"Log at function_test\.py:\d+"):
            f(skiff.Tensor(0.0))
    assert not skiff.checks_every_result() and f(skiff.Tensor(0.0)).item() == 1


def test_variables():
    total = skiff.Variable("total", 0.0)

    @skiff.function
    def add(x):
        total.assign_add(x)
        return total + 0

    for i, x in enumerate((1.0, 2.0, 3.0)):
        assert add(skiff.Tensor(x)).item() == (1, 3, 6)[i]
    assert total.read().item() == 6 and total.numpy() == 6 and add.trace_count == 1
    total.assign(0)
    assert (total * 2).item() == 0 and total.shape == () and repr(total) == "<skiff.Variable 'total' f32[]>"

    @skiff.function
    def fails(x):
        total.assign(x)
        skiff.assert_(x > 0, "never")

    with pytest.raises(skiff.InvalidArgument):
        fails(skiff.Tensor(-1.0))
    assert total.numpy() == 0  # A traced call that fails assigns nothing.
    with pytest.raises(skiff.InvalidArgument, match=r"function_test\.py:\d+: variable 'total' is f32\[\] and cannot become f32\[2\]"):
        total.assign([1.0, 2.0])
    with pytest.raises(skiff.InvalidArgument, match=r"variable 'inside' is created while 'make' is traced"):

        @skiff.function
        def make(x):
            return x + skiff.Variable("inside", 0.0)

        make(skiff.Tensor(1.0))


def test_tensors_of_a_trace_that_is_over_are_errors():
    kept = []
    skiff.function(lambda x: kept.extend((x, x + 1)))(rows(1))
    for tensor, what in zip(kept, ("is an argument of the trace of '<lambda>'", r"was made at function_test\.py:\d+ by the trace")):
        with pytest.raises(skiff.InvalidArgument, match=rf"{what}.*which is over"):
            tensor + 1


# Modes.


def test_run_eagerly_by_scope_by_function_and_for_all():
    runs = []
    f = skiff.function(lambda x: runs.append(x.symbolic) or x + 1)
    f(rows(1))
    f.run_eagerly()
    f(rows(1))
    with skiff.ScopedRunEagerly(False):
        f(rows(1))
    f.run_eagerly(False)
    f(rows(1))
    assert runs == [True, False]
    g = skiff.function(lambda x: runs.append(x.symbolic) or x + 1)
    skiff.set_run_functions_eagerly(True)
    try:
        assert skiff.functions_run_eagerly()
        g(rows(1)), f(rows(1))  # The function's own setting comes first.
    finally:
        skiff.set_run_functions_eagerly(False)
    assert runs == [True, False, False] and g.statistics.eager_calls == 1 and not g._results
    assert skiff.function(lambda x: x.numpy().sum(), run_eagerly=True)(rows(2)).item() == 8


def test_errors_of_python_code_pass_through():
    class Own(Exception):
        pass

    def raises(x):
        raise Own("mine")

    for eager in (False, True):
        with pytest.raises(Own, match="mine") as caught:
            skiff.function(raises, run_eagerly=eager)(rows(1))
        assert caught.traceback[-1].name == "raises"


def test_threads_share_a_function():
    f = skiff.function(lambda x: ops.reduce_sum(x * 2, keep_dims=False))
    wrong = []

    def work(n):
        for i in range(40):
            if f(rows(n, i)).item() != n * 8 * i:
                wrong.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and f.trace_count <= 4


# Files.


def test_functions_become_a_model_with_named_signatures(tmp_path):
    count = skiff.Variable("count", 0, "i32")

    @skiff.function(input_signature=["f32[n, 4]"])
    def step(x):
        count.assign_add(1)
        return {"doubled": x * 2, "count": count.read()}

    @skiff.function
    def reset():
        count.assign(0)

    step(rows(2))
    model = skiff.functions_to_model({"step": step, "reset": reset.concrete()})
    model.save(tmp_path / "net.skiff")
    opened = skiff.Model(tmp_path / "net.skiff")
    assert list(opened.signatures) == ["step", "reset"] and opened.variables[0].name == "count"
    assert opened.inputs[0].name == "x" and [port.name for port in opened.outputs] == ["doubled", "count"]
    session = opened.session("step")
    assert session(rows(3)).doubled.shape == (3, 4) and session(rows(1)).count == 3  # It was 1 when it was written.
    opened.session("reset", state_of=session)()
    assert session(rows(1)).count == 1
    assert skiff.functions_to_model(step).inputs[0].shape == ("n", 4)


def test_concrete_says_which_types_are_meant():
    f = skiff.function(lambda x, layers: [x + i for i in range(layers)])
    one = f.concrete("f32[n<=8, 4]", 2)
    assert one.signature == "<lambda>(x: f32[n<=8, 4], layers=2) -> (f32[n, 4], f32[n, 4])" and one.calls == 0
    assert f.concrete("f32[n<=8, 4]", layers=2) is one
    f(rows(3), 2)
    assert one.calls == 1 and one.compile_seconds > 0 and f.trace_count == 1
    f(rows(9), 2)
    with pytest.raises(skiff.InvalidArgument, match=r"has 2 traces; say which types are meant"):
        f.concrete()
    nested = skiff.function(lambda xs: xs["a"][0] + xs["a"][1])
    assert nested.concrete({"a": ["f32[2]", rows(1)[0, :2]]}).signature == "<lambda>(xs.a.0: f32[2], xs.a.1: f32[2]) -> (f32[2])"
    with pytest.raises(skiff.InvalidArgument, match="no tensor|has 0 traces"):
        skiff.functions_to_model({"f": skiff.function(lambda x: x)})


def test_backends_and_passes():
    x = rows(2, 0.5)
    expected = None
    for keywords in ({}, {"backend": "reference"}, {"disable_passes": "fold-constants"}, {"threads": 1, "kept_shapes": 1}):
        got = skiff.function(lambda x: ops.tanh(x) @ np.ones((4, 3), np.float32), **keywords)(x).numpy()
        expected = got if expected is None else expected
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    for wrong in ({"backend": "fast"}, {"target": "cuda"}, {"threads": 0}):
        with pytest.raises(skiff.InvalidArgument):
            skiff.function(lambda x: x, **wrong)
    with pytest.raises(skiff.InvalidArgument, match="no-such-pass"):
        skiff.function(lambda x: x, disable_passes=["no-such-pass"])(x)


def test_static_arguments_that_look_alike_are_others():
    def scaled(factor):
        class Kind:
            scale = factor

        return Kind

    @skiff.function
    def by_kind(x, kind):
        return x * kind.scale

    class Mode(enum.Enum):
        HALF = 0.5
        TWICE = 2.0

        def __str__(self):
            return "mode"

    @skiff.function
    def by_mode(x, mode):
        return x * mode.value

    x = skiff.Tensor([1.0])
    assert [by_kind(x, scaled(factor)).item() for factor in (2.0, 3.0)] == [2, 3]
    assert [by_mode(x, mode).item() for mode in Mode] == [0.5, 2]


@pytest.mark.parametrize("scope", (skiff.ScopedRunEagerly, skiff.ScopedCheckEveryResult))
def test_scopes_may_lie_in_themselves(scope):
    seen = []

    @skiff.function
    def watched(x):
        seen.append(isinstance(x, skiff.Tensor))
        return ops.log(x)

    def is_on():
        if scope is skiff.ScopedRunEagerly:
            before = len(seen)
            watched(skiff.Tensor([1.0]))
            watched(skiff.Tensor([1.0]))
            return len(seen) == before + 2
        try:
            ops.log(skiff.Tensor([-1.0]))
        except skiff.Error:
            return True
        return False

    own = scope()
    watched(skiff.Tensor([1.0]))
    with own:
        with own:
            assert is_on()
        assert is_on()
    assert not is_on()


def test_indices_and_numbers_that_do_not_fit():
    x = skiff.Tensor([1.0, 2.0, 3.0])
    assert x[np.int64(1)].item() == 2
    for slices in (slice(None, None, []), slice([0, 1], None), slice(None, None, np.array([], np.int64))):
        with pytest.raises(skiff.InvalidArgument, match="expected one"):
            x[slices]
    for dtype, value in (("i8", 300), ("u8", -1), ("i32", float("inf")), ("i64", float("nan"))):
        with pytest.raises(skiff.InvalidArgument, match="cannot hold"):
            ops.fill([1], dtype, value)
    assert ops.fill([2], "i8", -128).numpy().tolist() == [-128, -128]
    assert ops.fill([1], "u64", 1.5e19).item() == 15 * 10**18 and np.isinf(ops.fill([1], "f32", float("inf")).item())


def test_functions_of_two_threads_share_a_variable():
    total = skiff.Variable("total", np.zeros(4, np.float32))

    def adder():
        @skiff.function
        def add(x):
            total.assign_add(x)
            return total.read()

        return add

    ones = skiff.Tensor(np.ones(4, np.float32))
    stop = threading.Event()
    wrong = []

    def work(add):
        while not stop.is_set():
            values = add(ones).numpy()
            if not (values == values[0]).all():
                wrong.append(values)

    threads = [threading.Thread(target=work, args=(adder(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        value = total.numpy()
        assert (value == value[0]).all()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
