"""Cases of operators of StableHLO, which have their options in another field, and run subgraphs."""
import numpy as np
from flatbuffers import flexbuffers
from case_builder import add, add_typed
from cases_control import operator, subgraph

LOW, HIGH = np.float32(-np.inf), np.float32(np.inf)


def run(of, subgraph):
    """The options of a composite."""
    return {"name": of, "decompositionSubgraphIndex": subgraph, "compositeAttributes": list(flexbuffers.Dumps({}))}


def composite(c):
    """A composite in another one, of which both outputs are read, and one that is what it gets."""
    ports = [("float32", (2, 3))] * 2

    def outer(g, p):
        negative = operator(g, "STABLEHLO_COMPOSITE", p[:1], "float32", (2, 3), **run("inner", 2))
        return [operator(g, "SUB", [negative, p[1]], "float32", (2, 3)), p[1]]

    subgraph(c, "outer", ports, outer)
    subgraph(c, "inner", ports[:1], lambda g, p: [operator(g, "NEG", p, "float32", (2, 3))])
    x, y = c.x(2, 3), c.x(2, 3)
    first = c.op("STABLEHLO_COMPOSITE", [x, y], ["float32"] * 2, **run("outer", 1))
    second = c.op("STABLEHLO_COMPOSITE", [first[0], x], ["float32"] * 2, **run("outer", 1))
    return [c.op("ABS", [second[0]]), c.op("ABS", [second[1]])]


add("stablehlo_composite", composite)


def switch(c, index):
    ports = [("float32", (2, 3))] * 2
    for name in ("ADD", "SUB", "MUL"):
        subgraph(c, name, ports, lambda g, p, name=name: [operator(g, name, p, "float32", (2, 3))])
    return c.op("STABLEHLO_CASE", [index(c), c.x(2, 3), c.x(2, 3)], "float32", shape=(2, 3), branchSubgraphIndices=[1, 2, 3])


for place, which in (("first", 0), ("middle", 1), ("last", 2), ("behind", 7), ("in_front", -1)):
    add(f"stablehlo_case_{place}", lambda c, which=which: switch(c, lambda c: c.input(np.int32(which))))
add("stablehlo_case_known", lambda c: switch(c, lambda c: c.const(1, "int32")))


def body(c, name, dtype):
    """What joins two elements; "" for the second one."""
    def build(g, p):
        return [operator(g, name, p, dtype, ()) if name else p[1]]

    subgraph(c, name or "second", [(dtype, ())] * 2, build)


def windows(c, name, first, x, window, strides=None, dilations=None, pads=None):
    dtype = c.dtypes[x]
    body(c, name, dtype)
    rank = len(window)
    return c.op("STABLEHLO_REDUCE_WINDOW", [x, c.const(first, dtype)], dtype, windowDimensions=list(window),
                windowStrides=list(strides or [1] * rank), baseDilations=[1] * rank, windowDilations=list(dilations or [1] * rank),
                padding=list(pads or [0] * 2 * rank), bodySubgraphIndex=1)


def counted(c):
    """x of as many elements along axis 1 as a mask has bits: none."""
    places = c.op("WHERE", [c.input(np.zeros(6, bool))], "int64", shape=(3, 1))
    line = c.op("RESHAPE", [places, c.const([-1], "int32")], "int64", shape=(3,), newShape=[-1])
    return c.op("GATHER", [c.x(4, 6, 5, 5), line], "float32", shape=(4, 3, 5, 5), axis=1)


# Over three axes, channels in front; over two of them, channels behind; and over two that are no neighbours.
for form, name, neutral, another in (("max", "MAXIMUM", LOW, 0.25), ("min", "MINIMUM", HIGH, -0.25), ("sum", "ADD", 0, 0.5)):
    add(f"reduce_window_{form}_3d", lambda c, name=name, neutral=neutral: windows(
        c, name, neutral, c.x(1, 2, 5, 4, 6), (1, 1, 2, 3, 2), (1, 1, 2, 1, 2), pads=(0, 0, 0, 0, 1, 0, 1, 1, 0, 0)))
    add(f"reduce_window_{form}_dilated", lambda c, name=name, neutral=neutral: windows(
        c, name, neutral, c.x(2, 7, 6, 3), (1, 3, 2, 1), (1, 1, 2, 1), (1, 2, 3, 1), (0, 0, 1, -1, 0, 1, 0, 0)))
    add(f"reduce_window_{form}_first", lambda c, name=name, another=another: windows(
        c, name, another, c.x(4, 3, 5), (2, 1, 3), (2, 1, 1), pads=(1, 1, 0, 0, 1, 2)))
    add(f"reduce_window_{form}_large", lambda c, name=name, neutral=neutral: windows(
        c, name, neutral, c.x(2, 43), (1, 21), (1, 3), (1, 2), (0, 0, 2, 0)))
    add(f"reduce_window_{form}_open", lambda c, name=name, neutral=neutral: windows(
        c, name, neutral, c.x(2, 5, 4, 3, open_shape=[-1, -1, 4, -1]), (1, 2, 3, 1), (1, 2, 1, 1), pads=(0, 0, 1, 0, 1, 1, 0, 0)))
    add(f"reduce_window_{form}_open_large", lambda c, name=name, neutral=neutral: windows(
        c, name, neutral, c.x(2, 43, open_shape=[-1, -1]), (1, 21), (1, 3), (1, 2), (0, 0, 2, 0)))
# Counts are whole numbers.
add("reduce_window_sum_whole", lambda c: c.op("CAST", [windows(
    c, "ADD", 0, c.input(c.integers((2, 9, 8, 2), 0, 1).astype(np.float32)), (1, 5, 5, 1))], "int32"))
# Windows beside an infinity are finite.
INFINITE = np.arange(108, dtype=np.float32).reshape(1, 6, 6, 3)
INFINITE[0, 2, 1] = np.inf
add("reduce_window_sum_infinite", lambda c: windows(c, "ADD", 0, c.input(INFINITE), (1, 4, 4, 1)))
add("reduce_window_sum_infinite_pairs", lambda c: windows(c, "ADD", 0, c.input(INFINITE[0]), (1, 2, 1)))
for form, name, first in (("sum", "ADD", 0), ("max", "MAXIMUM", LOW)):
    add(f"reduce_window_{form}_strides", lambda c, name=name, first=first: windows(
        c, name, first, c.x(2, 5, 6, 3), (1, 1, 3, 1), (1, 2, 2, 3)))
    add(f"reduce_window_{form}_strides_none", lambda c, name=name, first=first: windows(
        c, name, first, counted(c), (1, 1, 3, 1), (1, 2, 1, 1)))
for form, name, first in (("sum", "ADD", 0), ("max", "MAXIMUM", LOW), ("product", "MUL", 0.5)):
    add(f"reduce_window_{form}_of_axes", lambda c, name=name, first=first: windows(
        c, name, first, c.x(2, 5, 4, 3), (1, 5, 4, 1), (1, 5, 4, 1)))
add("reduce_window_none", lambda c: windows(c, "ADD", 0, c.input(np.zeros((0, 5, 3), np.float32)), (1, 2, 1)))
add("reduce_window_counted", lambda c: windows(c, "MAXIMUM", LOW, counted(c), (1, 1, 2, 2)))
add("reduce_window_product", lambda c: windows(c, "MUL", 1, c.x(2, 9, 3), (1, 7, 2), (1, 2, 1), pads=(0, 0, 3, 3, 1, 0)))
for side, pads in (("", (0, 0, 6, 0)), ("_reverse", (0, 0, 0, 6))):
    add(f"reduce_window_cumsum{side}", lambda c, pads=pads: windows(c, "ADD", 0, c.x(2, 7), (1, 7), pads=pads))
    add(f"reduce_window_cumprod{side}", lambda c, pads=pads: windows(c, "MUL", 1, c.x(2, 7), (1, 7), pads=pads))
    add(f"reduce_window_cummax{side}", lambda c, pads=pads: windows(c, "MAXIMUM", np.finfo(np.float32).min, c.x(2, 7), (1, 7),
                                                                    pads=pads))
for form, name in (("sum", "ADD"), ("product", "MUL"), ("max", "MAXIMUM"), ("min", "MINIMUM")):
    add_typed(f"reduce_window_{form}", lambda c, dtype, name=name: windows(
        c, name, 3, c.input(c.integers((3, 8), -9, 9, dtype)), (2, 5), (1, 2), pads=(1, 0, 0, 1)), "int32 int64")
for form, first in (("LOGICAL_AND", True), ("LOGICAL_OR", False)):
    add(f"reduce_window_{form.lower()}", lambda c, form=form, first=first: windows(
        c, form, first, c.input(c.integers((4, 6), 0, 1).astype(bool)), (2, 3), pads=(0, 1, 1, 0)))


def scatter(c, name, x, indices, updates, window, inserted, axes, index_axis):
    body(c, name, c.dtypes[x])
    return c.op("STABLEHLO_SCATTER", [x, indices, updates], c.dtypes[x], indicesAreSorted=False, updateWindowDims=list(window),
                insertedWindowDims=list(inserted), scatterDimsToOperandDims=list(axes), indexVectorDim=index_axis,
                uniqueIndices=False, updateComputationSubgraphIndex=1)


# Some lie outside: their updates are left out. Some meet.
ROWS = np.array([[3], [-1], [0], [4], [3]], np.int32)
PLACES = np.array([[[1, 2], [0, 3], [1, 2]], [[2, 0], [0, -1], [1, 9]]], np.int32)
for form, name in (("set", ""), ("add", "STABLEHLO_ADD"), ("mul", "STABLEHLO_MULTIPLY"), ("min", "STABLEHLO_MINIMUM"),
                   ("max", "STABLEHLO_MAXIMUM")):
    add(f"stablehlo_scatter_{form}", lambda c, name=name: scatter(
        c, name, c.x(4, 3), c.input(ROWS), c.x(5, 3), (1,), (0,), (0,), 1))
add("stablehlo_scatter_known", lambda c: scatter(
    c, "STABLEHLO_ADD", c.x(4, 3), c.const(np.abs(ROWS) % 4), c.x(5, 3), (1,), (0,), (0,), 1))
add("stablehlo_scatter_places", lambda c: scatter(
    c, "STABLEHLO_ADD", c.x(3, 4), c.input(PLACES), c.x(2, 3), (), (0, 1), (0, 1), 2))
add("stablehlo_scatter_columns", lambda c: scatter(
    c, "", c.x(3, 4, 2), c.input(np.array([2, 0, 7], np.int32)), c.x(3, 3, 2), (0, 2), (1,), (1,), 1))
add("stablehlo_scatter_turned", lambda c: scatter(
    c, "STABLEHLO_ADD", c.x(4, 2, 3), c.input(PLACES), c.x(2, 2, 3), (1,), (0, 2), (2, 0), 2))
add("stablehlo_scatter_open", lambda c: scatter(
    c, "", c.x(3, 4, 2, open_shape=[-1, 4, -1]), c.input(np.array([2, 0, 7], np.int32), open_shape=[-1]), c.x(
        3, 3, 2, open_shape=[-1, -1, -1]), (0, 2), (1,), (1,), 1))
add_typed("stablehlo_scatter", lambda c, dtype: scatter(
    c, "STABLEHLO_ADD", c.input(c.integers((4, 3), -9, 9, dtype)), c.input(ROWS.astype(np.int64)),
    c.input(c.integers((5, 3), -9, 9, dtype)), (1,), (0,), (0,), 1), "int32")


def pad(c, x, value, low, high, interior):
    return c.op("STABLEHLO_PAD", [x, value], like=x, edgePaddingLow=list(low), edgePaddingHigh=list(high),
                interiorPadding=list(interior))


add("stablehlo_pad", lambda c: pad(c, c.x(2, 3), c.const(1.5, "float32"), (1, 0), (0, 2), (0, 0)))
add("stablehlo_pad_between", lambda c: pad(c, c.x(2, 3, 2), c.const(1.5, "float32"), (1, 0, 0), (2, 1, 0), (1, 0, 2)))
add("stablehlo_pad_cut", lambda c: pad(c, c.x(3, 4, 2), c.const(0.5, "float32"), (-1, -2, 3), (0, 1, -1), (0, 2, 1)))
add("stablehlo_pad_open", lambda c: pad(c, c.x(3, 4, 2, open_shape=[-1, -1, 2]), c.const(0.5, "float32"), (-1, -2, 3),
                                        (0, 1, -1), (0, 2, 1)))
add("stablehlo_pad_empty", lambda c: pad(c, c.input(np.zeros((0, 2), np.float32)), c.const(0.5, "float32"), (2, 0), (1, 0),
                                         (3, 0)))
add("stablehlo_pad_counted", lambda c: pad(c, counted(c), c.const(0.5, "float32"), (0, 1, 0, 0), (0, 3, 0, 0), (0, 2, 1, 0)))
add("stablehlo_pad_beside_nothing", lambda c: pad(c, c.input(np.zeros((3, 0), np.float32)), c.const(0.5, "float32"), (0, 1), (0, 1),
                                                  (2, 0)))
add_typed("stablehlo_pad", lambda c, dtype: pad(c, c.input(c.integers((2, 3), -9, 9, dtype)), c.const(7, dtype), (0, 1), (1, 0),
                                                (1, 2)), "int8 int32")
