"""skiff.ops: every function, at once and in a graph."""

import inspect
import re

import numpy as np
import pytest

import skiff
from conftest import SOURCE_DIR
from skiff import ops

RANDOM = np.random.default_rng(1)


def reals(*shape):
    return RANDOM.uniform(0.1, 0.9, shape).astype(np.float32)


X = reals(2, 3)
Y = reals(2, 3)
PICTURE = reals(1, 4, 4, 2)
INTEGERS = np.array([[5, -3, 7]], np.int32)
BOOLS = np.array([True, False, True])
ONES = np.ones((2, 3), bool)
TABLE = RANDOM.integers(0, 256, 256, np.uint8)

# By name: arguments, keywords and, where NumPy has one, a function that computes the same.
UNARY = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "reciprocal": np.reciprocal,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "erf": None, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "sign": np.sign, "sin": np.sin, "cos": np.cos, "softplus": lambda x: np.log1p(np.exp(x)), "hard_swish": None,
    "silu": lambda x: x / (1 + np.exp(-x)), "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "asinh": np.arcsinh, "atanh": np.arctanh, "is_nan": np.isnan, "is_inf": np.isinf, "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0), "gelu": None, "leaky_relu": None, "elu": None, "hard_sigmoid": None, "softmax": None,
    "log_softmax": None, "reduce_sum": lambda x: x.sum(keepdims=True), "reduce_mean": lambda x: x.mean(keepdims=True),
    "reduce_max": lambda x: x.max(keepdims=True), "reduce_min": lambda x: x.min(keepdims=True),
    "reduce_prod": lambda x: x.prod(keepdims=True), "argmax": lambda x: x.argmax(0, keepdims=True),
    "argmin": lambda x: x.argmin(0, keepdims=True), "shape_of": lambda x: np.array(x.shape), "flatten": None, "squeeze": np.squeeze,
    "transpose": np.transpose, "non_zero": lambda x: np.array(np.nonzero(x)),
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "pow": np.power,
    "prelu": None, "equal": np.equal, "less": np.less, "less_or_equal": np.less_equal, "greater": np.greater,
    "greater_or_equal": np.greater_equal, "mod": np.mod,
}  # fmt: skip
CALLS = {
    **{name: ((X,), {}, same) for name, same in UNARY.items()},
    **{name: ((X, Y), {}, same) for name, same in BINARY.items()},
    **{name: ((INTEGERS, INTEGERS), {}, same) for name, same in {
        "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}.items()},
    **{name: ((np.array([9, 4], np.uint32), np.array([1, 2], np.uint32)), {}, same) for name, same in {
        "shift_left": np.left_shift, "shift_right": np.right_shift}.items()},
    **{name: ((BOOLS, ~BOOLS), {}, same) for name, same in {
        "and_": np.logical_and, "or_": np.logical_or, "xor": np.logical_xor}.items()},
    "not_": ((BOOLS,), {}, np.logical_not),
    "bitwise_not": ((INTEGERS,), {}, np.invert),
    "acosh": ((X + 1,), {}, np.arccosh),
    "clamp": ((X, 0.2), {"max": 0.5}, lambda x, low, max: np.clip(x, np.float32(low), max)),
    "fake_quantize": ((X,), {}, None),
    "reduce_precision": ((X, "float8_e4m3fn"), {}, None),
    "cast": ((INTEGERS, np.float64), {}, lambda x, to: x.astype(to)),
    "where": ((BOOLS, X, 0), {}, np.where),
    "conv2d": ((PICTURE, reals(3, 3, 3, 2), reals(3)), {"pads": (1, 1, 1, 1)}, None),
    "conv_transpose2d": ((PICTURE, reals(3, 2, 2, 2)), {"strides": 2 * (2,)}, None),
    "max_pool2d": ((PICTURE, (4, 4)), {}, lambda x, k: x.max((1, 2), keepdims=True)),
    "average_pool2d": ((PICTURE, (4, 4)), {}, lambda x, k: x.mean((1, 2), keepdims=True)),
    "max_pool2d_indices": ((PICTURE, (2, 2)), {"strides": (2, 2)}, None),
    "resize2d": ((PICTURE, (8, 8)), {"mode": "linear"}, None),
    "grid_sample2d": ((PICTURE, reals(1, 2, 2, 2)), {}, None),
    "roi_align": ((PICTURE, np.array([[0, 0, 2, 2]], np.float32), [0]), {"height": 2, "width": 2}, None),
    "matmul": ((X, Y.T.copy()), {}, np.matmul),
    "fully_connected": ((X, reals(4, 3)), {}, lambda x, w: x @ w.T),
    "layer_norm": ((X, reals(3), reals(3)), {}, None),
    "batch_norm": ((X, reals(3), reals(3), reals(3), reals(3)), {}, None),
    "cumsum": ((X, 1), {}, np.cumsum),
    "reshape": ((X, (3, -1)), {}, np.reshape),
    "unsqueeze": ((X, 0), {}, np.expand_dims),
    "slice": ((X, 1, 3, 1), {}, lambda x, *_: x[:, 1:3]),
    "gather": ((X, [1, 0]), {}, lambda x, i: x[i]),
    "pad": ((X, (0, 1, 0, 1)), {}, lambda x, p: np.pad(x, ((0, 0), (1, 1)))),
    "expand": ((X, (2, 2, 3)), {}, np.broadcast_to),
    "tile": ((X, (2, 2)), {}, np.tile),
    "range": ((0, np.int64(6), 2), {}, np.arange),
    "channel_shuffle": ((reals(1, 4), 2), {}, lambda x, g: x[:, [0, 2, 1, 3]]),
    "gather_elements": ((X, [[0, 1, 0]]), {}, lambda x, i: np.take_along_axis(x, np.array(i), 0)),
    "gather_nd": ((X, [[1, 2]]), {}, lambda x, i: x[[1], [2]]),
    "scatter_elements": ((X, [[1, 0, 1]], [[7, 8, 9]]), {}, None),
    "scatter_nd": ((X, [[1]], [[7, 8, 9]]), {"reduction": "add"}, lambda x, i, u, reduction: x + [[0, 0, 0], [7, 8, 9]]),
    "reverse_sequence": ((X, [2, 1, 2]), {}, None),
    "trilu": ((X,), {"upper": False}, lambda x, upper: np.tril(x)),
    "random": (((2, 3), np.int64(0)), {"seed": 3}, None),
    "tree_ensemble": (
        (X, np.array([[0, 1, 1, 2], [0, 0, 0, 1], [0, 0, 1, 2]], np.int32), np.array([0.5, 0, 0], np.float32),
         np.array([0], np.int32), np.array([0, 0], np.int32), np.array([1, 2], np.float32)),
        {}, lambda x, *_: np.where(x[:, :1] <= 0.5, 1, 2)),
    "concat": (([X, Y], 1), {}, lambda parts, axis: np.concatenate(parts, axis)),
    "split": ((X, [1, 2], 1), {}, lambda x, s, a: np.split(x, [1], a)),
    "top_k": ((X, 2), {}, None),
    "fill": (((2, 3), "i32", 7), {}, lambda s, d, v: np.full(s, v, np.int32)),
    "det": ((np.eye(3, dtype=np.float32) * 2,), {}, lambda x: np.array(8.0)),
    "non_max_suppression": (
        (np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]]], np.float32), np.array([[[0.9, 0.8, 0.7]]], np.float32), 3, 0.5),
        {}, lambda *_: np.array([[0, 0, 0], [0, 0, 2]])),
    "unique": ((np.array([3, 1, 3], np.int64),), {}, None),
    "quantize": ((X, "u8", 1 / 256), {}, None),
    "requantize": ((ops.quantize(X, "u8", 1 / 256), "i8", 1 / 128), {}, None),
    "dequantize": ((ops.quantize(X, "u8", 1 / 256),), {}, lambda x: np.rint(X * 256) / 256),
    "to_codes": ((ops.quantize(X, "u8", 1 / 256, 3),), {}, lambda x: np.rint(X * 256) + 3),
    "lookup": ((np.array([[0, 7, 255]], np.uint8), TABLE), {}, lambda x, table: table[x]),
    "from_codes": ((np.array([1, 2], np.uint8), "u8", 0.5), {}, None),
    "lstm": ((reals(3, 1, 8), reals(8, 2)), {}, None),
    "gru": ((reals(3, 1, 6), reals(6, 2)), {}, None),
    "rnn": ((reals(3, 1, 2), reals(2, 2)), {"relu": True}, None),
}  # fmt: skip
# Results of these are quantised, which functions do not return; lists of arguments are constants of a trace.
QUANTISED = ("quantize", "requantize", "from_codes")


def listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def test_every_function_is_here():
    assert sorted(CALLS) == sorted(name for name in dir(ops) if not name.startswith("_"))


def test_every_operator_has_a_function():
    table = (SOURCE_DIR / "runtime" / "ops" / "ops.def").read_text()
    operators = set(re.findall(r"^OP\(\s*\d+, (\w+),", table, re.MULTILINE))
    # Operators with bodies, effects and what only programs in C++ have are no functions of tensors alone.
    others = {"If", "While", "Stage", "Print", "Assert", "CheckNumerics", "Custom"}
    names = {name.replace("_", "") for name in dir(ops)} | {"shape"}
    assert len(operators) > 120 and others < operators
    assert {name.lower() for name in operators - others} <= names


@pytest.mark.parametrize("name", sorted(CALLS))
def test_at_once_and_in_a_graph(name):
    arguments, keywords, same = CALLS[name]
    operator = getattr(ops, name)
    eager = listed(operator(*arguments, **keywords))
    if same is not None:
        for one, expected in zip(eager, listed(same(*arguments, **keywords))):
            np.testing.assert_allclose(one.numpy(), expected, rtol=1e-5, atol=1e-6)
    quantised = name in QUANTISED

    @skiff.function
    def traced(x):
        # Operands are constants but for the first tensor, so that the graph has something to compute.
        places = [i for i, argument in enumerate(arguments) if isinstance(argument, np.ndarray)]
        own = list(arguments)
        if places:
            own[places[0]] = x
        results = listed(operator(*own, **keywords))
        return [ops.dequantize(one) for one in results] if quantised else results

    given = next((argument for argument in arguments if isinstance(argument, np.ndarray)), np.zeros(1, np.float32))
    for one, expected in zip(traced(given), eager):
        want = ops.dequantize(expected) if quantised else expected
        np.testing.assert_allclose(one.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
        assert one.dtype == want.dtype


def test_calls_are_checked_as_pythons_are():
    with pytest.raises(TypeError, match=r"conv2d\(\) misses the argument 'weights'"):
        ops.conv2d(PICTURE)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stride'"):
        ops.conv2d(PICTURE, X, stride=2)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        ops.exp(X, x=X)
    with pytest.raises(TypeError, match=r"exp\(\) takes 1 arguments but 2 were given"):
        ops.exp(X, X)
    with pytest.raises(skiff.InvalidArgument, match=r"ops_test\.py:\d+: conv2d: 'groups' is 'two'; expected int"):
        ops.conv2d(PICTURE, X, groups="two")
    with pytest.raises(skiff.InvalidArgument, match="gelu: 'approximate' is 'fast'; expected one of 'erf', 'tanh'"):
        ops.gelu(X, approximate="fast")
    with pytest.raises(skiff.InvalidArgument, match="no array that NumPy can read"):
        skiff.Tensor([[1, 2], [3]])
    with pytest.raises(skiff.InvalidArgument, match="there is no dtype 'f31'"):
        ops.cast(X, "f31")
    with pytest.raises(skiff.InvalidArgument, match=r"ops_test\.py:\d+: MatMul: the inner extents differ: 3 and 2"):
        ops.matmul(X, X)
    with pytest.raises(skiff.InvalidArgument, match=r"ops_test\.py:\d+: nothing says which dtype the number 2 has; write skiff\.Tensor"):
        ops.exp(2)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: ops.concat([], 0), "Concat: 0 operands were given; expected 1 or more"),
        (lambda: ops.quantize(X, "f32", 0.5), "its dtype cannot be quantised"),
        (lambda: ops.quantize(X, "u32", 0.5), "its dtype cannot be quantised"),
        (lambda: ops.requantize(ops.quantize(X, "i8", 1), "f32", 0.5), "its dtype cannot be quantised"),
        (lambda: ops.from_codes(np.ones(1000, np.int8), "i8", [0.1], [0], 0), "another number of scales"),
        (lambda: ops.quantize(X, "i8", [0.1] * 3, [0] * 2, 1), "2 zero points were given for 3 scales"),
        (lambda: ops.quantize(X, "i8", [0.1] * 3, 0, 2), r"axis is 2, which f32\[2, 3\] does not have"),
        (lambda: ops.quantize(X, "i8", [0.1] * 3, 0, 2**31 - 1), "axis is 2147483647"),
        (lambda: ops.quantize(X, "i8", 0), "a scale is not a positive number"),
        (lambda: ops.quantize(X, "i8", float("nan")), "a scale is not a positive number"),
        (lambda: ops.quantize(X, "i8", 0.1, 1000), "a zero point is outside of its dtype"),
        (lambda: ops.quantize(X, "i8", 0.1, 2**40), "zero_point is 1099511627776; expected a whole number of 32 bits"),
        (lambda: ops.quantize(X, "i8", [1.0, "a"], 0, 0), "scale is 'a'; expected a number"),
        (lambda: skiff.Tensor([1, 2], "i4"), "the value cannot be i4"),
        (lambda: skiff.Tensor(X)[2**63], "an index is 9223372036854775808; expected a whole number of 64 bits"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(skiff.InvalidArgument, match=words):
        call()


def test_a_negative_axis_of_scales_counts_from_the_last():
    scales = [0.1, 0.2, 0.3]
    last, same = (ops.to_codes(ops.quantize(X, "i8", scales, 0, axis)).numpy() for axis in (-1, 1))
    np.testing.assert_array_equal(last, same)


def test_one_number_stands_for_all_of_an_attribute():
    weights = reals(2, 3, 3, PICTURE.shape[3])
    one, all_ = ops.conv2d(PICTURE, weights, strides=2, pads=1), ops.conv2d(PICTURE, weights, strides=(2, 2), pads=(1, 1, 1, 1))
    np.testing.assert_array_equal(one.numpy(), all_.numpy())
    np.testing.assert_array_equal(ops.max_pool2d(PICTURE, 2).numpy(), ops.max_pool2d(PICTURE, (2, 2)).numpy())
    assert ops.reduce_sum(X, axes=1).shape == ops.reduce_sum(X, axes=(1,)).shape


def test_signatures_are_told():
    assert ops.softmax.__doc__.startswith("softmax(x: typing.Any, axis: int = -1) -> skiff._skiff.Tensor")
    assert "strides: int | collections.abc.Sequence[int] = (1, 1)" in ops.conv2d.__doc__
    assert inspect.getdoc(skiff.Tensor) and inspect.getdoc(ops)
    from skiff.ops import matmul

    assert matmul is ops.matmul
