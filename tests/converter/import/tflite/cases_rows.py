"""Cases of reductions, of what chooses among a row's elements, and of norms."""
import numpy as np
from case_builder import add, add_typed

SOME = "f32 i8"


def reduced(c, op, axes, shape=(2, 3, 4, 2), keep=False, low=-2, high=2, like=False):
    x = c.x(*shape, low=low, high=high)
    return c.op(op, [x, c.const(axes, "int32")], like=x if like else None, keepDims=keep)


def add_reduction(name, forms, op, axes, **parameters):
    add(name, lambda c: reduced(c, op, axes, **parameters), forms)


add_reduction("mean", "f32 i8 u8 i16", "MEAN", [1, 2])
add_reduction("mean_keep", "i8", "MEAN", [1, 2], keep=True)
add_reduction("mean_last", SOME, "MEAN", [-1], keep=True)
add_reduction("mean_same_scale", "i8 u8", "MEAN", [1, 2], like=True)
add_reduction("mean_all", "f32", "MEAN", [0, 1, 2, 3])
add_reduction("mean_scalar_axis", "f32", "MEAN", 1)
add_reduction("sum", "f32 i8 u8 i16", "SUM", [1, 2])
add_reduction("sum_keep", "f32", "SUM", [0, -1], keep=True)
add_reduction("sum_repeated_axis", "f32", "SUM", [1, 1, -3])
add_reduction("reduce_prod", SOME, "REDUCE_PROD", [1], low=0.5, high=1.5)
for op in ("REDUCE_MAX", "REDUCE_MIN"):
    add_reduction(op.lower(), SOME, op, [1, 2], like=True)
    add_reduction(op.lower() + "_keep", "f32", op, [-1], keep=True)
for op, dtypes in (("SUM", "int32"), ("MEAN", "int32"), ("REDUCE_PROD", "int32"), ("REDUCE_MAX", "int32"),
                   ("REDUCE_MIN", "int32"), ("REDUCE_ANY", "bool"), ("REDUCE_ALL", "bool")):
    def whole(c, t, op=op):
        high = 1 if t == "bool" else 6
        return c.op(op, [c.input(c.integers((3, 5), 1 - high, high, t)), c.ints(1)], t, keepDims=False)
    add_typed(op.lower(), whole, dtypes)
for op in ("REDUCE_ANY", "REDUCE_ALL"):
    add_typed(op.lower() + "_of_nothing", lambda c, t, op=op: c.op(op, [c.input(np.zeros((0, 3), t)), c.ints(0)], t,
                                                                   keepDims=False), "bool")
# Axes of a scalar are ignored.
add_reduction("sum_of_scalar", SOME, "SUM", [0], shape=())
add_reduction("mean_of_scalar", "f32", "MEAN", [-1, 3], shape=(), keep=True)


# Softmax. LiteRT's takes the last axis.

def softmax(c, shape=(2, 3, 5), beta=1.0, low=-4, high=4):
    return c.op("SOFTMAX", [c.x(*shape, low=low, high=high)], "unit", beta=beta)


add("softmax", softmax, "f32 i8 u8 i16")
add("softmax_beta", lambda c: softmax(c, beta=0.5), SOME)
add("softmax_beta_0", lambda c: softmax(c, beta=0.0))
add("softmax_rank1", lambda c: softmax(c, (7,)), "f32")
add("softmax_rank4", lambda c: softmax(c, (1, 2, 2, 4)), "f32")
add("softmax_large", lambda c: softmax(c, (2, 6), low=-90, high=90), SOME)


def softmax_without_options(c):
    """Its beta is 0."""
    y = softmax(c)
    c.graph.table.operators[-1].builtinOptionsType, c.graph.table.operators[-1].builtinOptions = 0, None
    return y


add("softmax_without_options", softmax_without_options)
add("log_softmax", lambda c: c.op("LOG_SOFTMAX", [c.x(2, 5, low=-4, high=4)], "logarithm"), "f32 i8 u8")
add("log_softmax_rank3", lambda c: c.op("LOG_SOFTMAX", [c.x(2, 3, 4, low=-4, high=4)], "logarithm"))


# The place of the largest and the smallest; the first of equal ones.

for op in ("ARG_MAX", "ARG_MIN"):
    add(op.lower(), lambda c, op=op: c.op(op, [c.x(2, 5, 3), c.const(1, "int32")], "int32", outputType=2),
        SOME)
    add(op.lower() + "_int64", lambda c, op=op: c.op(op, [c.x(2, 5), c.const([-1], "int32")], "int64", outputType=4))
    add(op.lower() + "_ties", lambda c, op=op: c.op(op, [c.input(c.integers((4, 9), 0, 2).astype(np.float32)),
                                                        c.const(1, "int32")], "int32", outputType=2))
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((4, 9), 0, 2, t)), c.const(0, "int32")], "int32",
                                                   outputType=2), "int32")


def top(c, x, k):
    kind = "float32" if c.dtypes[x] == "float32" else c.dtypes[x]
    if c.quants[x] is None:
        return c.op("TOPK_V2", [x, c.const(k, "int32")], [kind, "int32"])
    values, places = c.result(like=x), c.result("int32")
    c.graph.operator("TOPK_V2", [x, c.const(k, "int32")], [values, places])
    return [values, places]


add("topk", lambda c: top(c, c.x(2, 3, 7), 3), SOME)
add("topk_ties", lambda c: top(c, c.input(c.integers((3, 9), 0, 2).astype(np.float32)), 5))
add_typed("topk", lambda c, t: top(c, c.input(c.integers((2, 9), 0, 3, t)), 4), "int32")


def suppression(c, version, overlap=0.5, sigma=0.5, count=6):
    """The first of six boxes, of which some overlap; four are wanted at most."""
    corners = c.uniform((6, 2), 0, 0.7)
    corners[3] = corners[1] + 0.01
    corners[5] = corners[0] - 0.01
    boxes = c.input(np.hstack([corners, corners + c.uniform((6, 2), 0.2, 0.4)]).astype(np.float32)[:count])
    scores = c.input(np.float32([0.9, 0.6, 0.1, 0.8, 0.5, 0.3])[:count])
    limits = [c.const(4, "int32"), c.const(overlap, "float32"), c.const(0.2, "float32")]
    if version == 4:
        return c.op("NON_MAX_SUPPRESSION_V4", [boxes, scores, *limits], ["int32", "int32"])
    return c.op("NON_MAX_SUPPRESSION_V5", [boxes, scores, *limits, c.const(sigma, "float32")], ["int32", "float32", "int32"])


add("non_max_suppression_v4", lambda c: suppression(c, 4))
add("non_max_suppression_v4_nothing_beside", lambda c: suppression(c, 4, 0.0))
add("non_max_suppression_v5", lambda c: suppression(c, 5))
add("hard_suppression", lambda c: suppression(c, 5, sigma=0.0))
add("hard_suppression_of_nothing", lambda c: suppression(c, 5, sigma=0.0, count=0))


# Norms.

add("l2_normalization", lambda c: c.op("L2_NORMALIZATION", [c.x(2, 3, 2, 4)], "signed_unit"), "f32 i8 u8")
add("l2_normalization_rank2", lambda c: c.op("L2_NORMALIZATION", [c.x(3, 5)], "signed_unit"))
add("l2_normalization_zero", lambda c: c.op("L2_NORMALIZATION", [c.input(np.float32([[0, 0, 0], [1e-4, 0, 0]]))]))
add("local_response", lambda c: c.op("LOCAL_RESPONSE_NORMALIZATION", [c.x(1, 2, 3, 7, low=-3, high=3)], radius=2, bias=1.5,
                                     alpha=0.3, beta=0.75))


def layer_norm(c):
    """As Keras' LayerNormalization is converted."""
    x = c.x(2, 4, 6)
    mean = c.op("MEAN", [x, c.ints(2)], keepDims=True)
    variance = c.op("MEAN", [c.op("SQUARED_DIFFERENCE", [x, mean]), c.ints(2)], keepDims=True)
    inverse = c.op("RSQRT", [c.op("ADD", [variance, c.real_const(1e-3)])])
    scale = c.op("MUL", [inverse, c.real_const(c.uniform((6,), 0.5, 1.5))])
    shift = c.op("SUB", [c.real_const(c.uniform((6,))), c.op("MUL", [mean, scale])])
    return c.op("ADD", [c.op("MUL", [x, scale]), shift])


add("layer_norm", layer_norm, "f32")


# Spectra.

def spectrum(c, shape, length, of_real=True):
    x = c.x(*shape)
    y = c.op("RFFT2D", [x, c.ints(*length)], "complex64")
    return [c.op("REAL", [y], "float32"), c.op("IMAG", [y], "float32")] if of_real else c.op("COMPLEX_ABS", [y], "float32")


add("rfft2d_abs", lambda c: spectrum(c, (2, 1, 16), (1, 16), False))
add("rfft2d_parts", lambda c: spectrum(c, (1, 4, 8), (4, 8)))
add("rfft2d_padded", lambda c: spectrum(c, (2, 1, 10), (1, 16), False))
