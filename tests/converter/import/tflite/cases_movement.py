"""Cases of operators that move elements, and of those that work on shapes."""
import numpy as np
from case_builder import add, add_typed

SOME = "f32 i8"


def moved(op, shape, operands=lambda c: [], forms="f32", name=None, **options):
    """An operator whose result has its first operand's quantisation; `operands` makes the others."""
    def function(c):
        x = c.x(*shape)
        return c.op(op, [x, *operands(c)], like=x, **options)
    add(name or op.lower(), function, forms)


moved("RESHAPE", (2, 3, 4), lambda c: [c.ints(6, 4)], "f32 i8")
moved("RESHAPE", (2, 3, 4), lambda c: [c.ints(2, -1)], name="reshape_minus_one")
moved("RESHAPE", (2, 3, 4), name="reshape_by_option", newShape=[4, 6])
moved("RESHAPE", (2, 3, 4), lambda c: [c.const(0, "int32")], name="reshape_by_option_beside_a_scalar", newShape=[4, 6])
moved("RESHAPE", (1, 1), lambda c: [c.const([], "int32")], name="reshape_to_scalar")
moved("SQUEEZE", (1, 3, 1, 4), forms=SOME)
moved("SQUEEZE", (1, 3, 1, 4), name="squeeze_one", squeezeDims=[-2])
moved("EXPAND_DIMS", (2, 3), lambda c: [c.const(1, "int32")], SOME)
moved("EXPAND_DIMS", (2, 3), lambda c: [c.const([-1], "int32")], name="expand_dims_last")
moved("TRANSPOSE", (2, 3, 4), lambda c: [c.ints(2, 0, 1)], "f32 i8")
moved("TRANSPOSE", (2, 3, 4, 2), lambda c: [c.ints(0, 3, 1, 2)], name="transpose_to_nchw")
moved("TRANSPOSE", (2, 3, 4), lambda c: [c.ints(-1, 0, -2)], name="transpose_from_the_end")
moved("TRANSPOSE", (2, 1, 3, 2, 2, 2), lambda c: [c.ints(5, 1, 3, 0, 4, 2)], name="transpose_rank6")
moved("PAD", (2, 3, 4), lambda c: [c.const([[0, 1], [2, 0], [1, 1]], "int32")], "f32 i8 u8")
moved("PAD", (1, 3, 4, 2), lambda c: [c.const([[0, 0], [1, 2], [0, 1], [0, 0]], "int64")], name="pad_image")
moved("PADV2", (2, 3), lambda c: [c.const([[1, 1], [0, 2]], "int32"), c.const(-3.5, "float32")])
for mode, name in ((0, "reflect"), (1, "symmetric")):
    moved("MIRROR_PAD", (3, 4), lambda c: [c.const([[1, 2], [2, 0]], "int32")], SOME, f"mirror_pad_{name}", mode=mode)
moved("TILE", (2, 3), lambda c: [c.ints(2, 3)], SOME)
moved("REVERSE_V2", (2, 3, 4), lambda c: [c.ints(1)])
moved("REVERSE_V2", (2, 3, 4), lambda c: [c.ints(-1)], name="reverse_v2_last")
moved("REVERSE_SEQUENCE", (3, 4, 2), lambda c: [c.const([2, 4, 1], "int32")], seqDim=1, batchDim=0)
moved("REVERSE_SEQUENCE", (4, 3, 2), lambda c: [c.const([2, 4, 0], "int64")], name="reverse_sequence_time_major", seqDim=0,
      batchDim=1)
moved("BROADCAST_TO", (3, 1), lambda c: [c.ints(2, 3, 4)], SOME)
moved("SLICE", (2, 4, 5), lambda c: [c.ints(0, 1, 2), c.ints(2, 2, -1)], SOME)
moved("SLICE", (2, 4), lambda c: [c.const([1, 0], "int64"), c.const([1, 3], "int64")], name="slice_int64")
moved("GATHER", (3, 4, 2), lambda c: [c.const([[2, 0], [1, 1]], "int32")], SOME)
moved("GATHER", (3, 4, 2), lambda c: [c.input(np.int64([2, 0, 3]))], name="gather_axis", axis=1)
moved("GATHER", (3, 4, 2), lambda c: [c.input(np.int32([1, 0]))], name="gather_last", axis=-1)
moved("GATHER", (3, 4), lambda c: [c.const(2, "int32")], name="gather_scalar", axis=1)
moved("GATHER", (2, 3, 4), lambda c: [c.input(np.int32([[2, 0], [1, 1]]))], name="gather_batched", axis=1, batchDims=1)
moved("GATHER_ND", (3, 4, 2), lambda c: [c.input(np.int32([[2, 0], [0, 3]]))], SOME)
moved("GATHER_ND", (3, 4), lambda c: [c.input(np.int64([[[2, 0]], [[1, 1]]]))], name="gather_nd_elements")
moved("DYNAMIC_UPDATE_SLICE", (3, 4), lambda c: [c.x(2, 2), c.input(np.int32([1, 1]))])
# A start beyond the end moves back until the update fits.
moved("DYNAMIC_UPDATE_SLICE", (3, 4), lambda c: [c.x(2, 2), c.input(np.int32([2, 7]))], name="dynamic_update_slice_clamped")
moved("MATRIX_DIAG", (2, 3))
moved("MATRIX_SET_DIAG", (2, 3, 4), lambda c: [c.x(2, 3)])
for axis in (0, -1):
    moved("CUMSUM", (3, 4), lambda c, axis=axis: [c.const(axis, "int32")], name=f"cumsum_{'last' if axis else 'first'}")
moved("CUMSUM", (3, 4), lambda c: [c.const(1, "int32")], name="cumsum_exclusive_reverse", exclusive=True, reverse=True)
add_typed("transpose", lambda c, t: c.op("TRANSPOSE", [c.input(c.integers((2, 3), 0, 1, t)), c.ints(1, 0)], t), "bool")
add_typed("gather", lambda c, t: c.op("GATHER", [c.input(c.integers((5,), 0, 9, t)), c.const([4, 0, 0], "int32")], t), "int64")
add_typed("tile", lambda c, t: c.op("TILE", [c.input(c.integers((2,), 0, 1, t)), c.ints(3)], t), "int32")
add_typed("pad", lambda c, t: c.op("PAD", [c.input(c.integers((2,), 1, 9, t)), c.const([[1, 2]], "int32")], t), "int32")
add_typed("cumsum", lambda c, t: c.op("CUMSUM", [c.input(c.integers((2, 4), 1, 9, t)), c.const(1, "int32")], t), "int32")


def strided(name, shape, begin, end, strides, forms="f32", **masks):
    moved("STRIDED_SLICE", shape, lambda c: [c.ints(*begin), c.ints(*end), c.ints(*strides)], forms, f"strided_slice_{name}",
          **masks)


strided("plain", (3, 4, 5), (0, 1, 1), (2, 4, 5), (1, 2, 3), SOME)
strided("begin_end", (3, 4, 5), (9, 1, 9), (9, 9, 3), (1, 1, 1), beginMask=5, endMask=3)
strided("negative", (3, 4, 5), (-1, 3, -2), (-4, 0, -5), (-1, -2, -1))
strided("reverse_all", (3, 4), (0, 0), (0, 0), (-1, -1), beginMask=3, endMask=3)
strided("shrink", (3, 4, 5), (1, 0, 2), (2, 4, 5), (1, 1, 1), shrinkAxisMask=1)
strided("shrink_negative", (3, 4, 5), (0, -1, 0), (3, 0, 5), (1, 1, 1), shrinkAxisMask=2)
strided("shrink_masked", (3, 4, 5), (1, 2, 2), (2, 4, 5), (1, 1, 1), beginMask=3, shrinkAxisMask=2)
strided("shrink_all", (3, 4), (1, 2), (2, 3), (1, 1), shrinkAxisMask=3)
strided("new_axis", (3, 4), (0, 0, 1), (3, 0, 3), (1, 1, 1), newAxisMask=2)
strided("ellipsis", (2, 3, 4, 2), (0, 0), (0, 1), (1, 1), ellipsisMask=1)
strided("ellipsis_shrink", (2, 3, 4, 2), (1, 0, 0), (2, 0, 1), (1, 1, 1), ellipsisMask=2, shrinkAxisMask=5)
strided("ellipsis_new_axis", (2, 3, 4), (0, 0, 1), (0, 0, 3), (1, 1, 1), ellipsisMask=1, newAxisMask=2)
strided("few", (3, 4, 5), (1,), (3,), (1,))
strided("out_of_bounds", (3, 4), (-9, 1), (9, 99), (1, 1))
strided("empty", (3, 4), (2, 0), (1, 4), (1, 1))
strided("rank5", (2, 2, 3, 2, 3), (0, 0, 0, 0, 2), (2, 2, 3, 2, -4), (1, 1, 2, 1, -1))
moved("STRIDED_SLICE", (5, 4), lambda c: [c.ints(1, 1), c.ints(3, 2), c.ints(1, 1)], name="strided_slice_with_offset",
      offset=True)
strided("with_offset_from_the_end", (6, 5, 4), (-2, 4, 0), (2, -3, 3), (1, -1, 1), beginMask=4, offset=True)
moved("STRIDED_SLICE", (6, 4), lambda c: [c.input(np.int32([-3, 1])), c.ints(2, 2), c.ints(1, 1)],
      name="strided_slice_with_offset_from_a_computed_start", offset=True)
add_typed("strided_slice", lambda c, t: c.op("STRIDED_SLICE", [c.input(c.integers((6,), 0, 1, t)), c.ints(4), c.ints(0),
                                                               c.ints(-2)], t), "int32")


def codes(c):
    """A result without a scale has the same integers as its operand; they are plain ones from there on."""
    x = c.x(3, 4)
    part = c.op("STRIDED_SLICE", [x, c.ints(1, 0), c.ints(3, 2), c.ints(1, 1)], c.integer or "float32")
    return c.op("CAST", [part], "float32")


add("strided_slice_without_scale", codes, "u8 i8")


def joined(c, axis, shapes, **options):
    """The operands have quantisations of their own, which only u8 may; the result covers all of them."""
    return c.op("CONCATENATION", [c.x(*shape, low=-1 - i, high=1 + i) for i, shape in enumerate(shapes)], axis=axis, **options)


add("concatenation", lambda c: joined(c, 1, [(2, 3, 2), (2, 1, 2), (2, 2, 2)]), "f32 u8")
add("concatenation_last", lambda c: joined(c, -1, [(2, 3), (2, 2)]))


def joined_alike(c):
    x = c.x(2, 3)
    return c.op("CONCATENATION", [x, c.real_input(c.uniform((2, 2)), c.quants[x])], like=x, axis=1)


add("concatenation_alike", joined_alike, "i8 i16")
add("concatenation_constant", lambda c: joined_constant(c), "f32")
add_typed("concatenation", lambda c, t: c.op("CONCATENATION", [c.input(c.integers((2,), 0, 9, t)), c.input(
    c.integers((3,), 0, 9, t))], t, axis=0), "int64")


def joined_constant(c):
    x = c.x(1, 2, 3)
    return c.op("CONCATENATION", [c.const(c.uniform((1, 1, 3))), x], axis=1)


def list_update(c, rows):
    """list[1] = element, as it was written before there was DYNAMIC_UPDATE_SLICE; more rows than one make the list longer."""
    x = c.x(4, 3)
    element = c.real_input(c.uniform((rows, 3)), c.quants[x])
    index = c.input(np.int32(1))

    def place(number, rest):
        return c.op("CONCATENATION", [c.op("RESHAPE", [number, c.ints(1)], "int32"), c.ints(rest)], "int32", axis=0)

    before = c.op("SLICE", [x, c.ints(0, 0), place(index, -1)], like=x)
    following = c.op("ADD", [index, c.const(1, "int32")], "int32")
    behind = c.op("SLICE", [x, place(following, 0), c.ints(-1, -1)], like=x)
    return c.op("CONCATENATION", [before, element, behind], like=x, axis=0)


add("list_update", lambda c: list_update(c, 1), SOME)
add("list_update_of_rows", lambda c: list_update(c, 2))


def packed(c, axis, count=3):
    x = c.x(2, 3)
    others = [c.real_input(c.uniform((2, 3)), c.quants[x]) for _ in range(count - 1)]
    return c.op("PACK", [x, *others], like=x, axis=axis, valuesCount=count)


add("pack", lambda c: packed(c, 0), SOME)
add("pack_last", lambda c: packed(c, -1))


def parted(c, op, shape, count, before=(), after=(), **options):
    x = c.x(*shape)
    return c.op(op, [*(c.const(value, "int32") for value in before), x, *(c.const(value, "int32") for value in after)], like=x,
                count=count, **options)


add("split", lambda c: parted(c, "SPLIT", (2, 6), 3, before=[1], numSplits=3), SOME)
add("split_negative", lambda c: parted(c, "SPLIT", (4, 2, 3), 2, before=[-3], numSplits=2))
add("split_v", lambda c: parted(c, "SPLIT_V", (2, 6), 3, after=[[1, 3, 2], 1], numSplits=3), SOME)
add("split_v_rest", lambda c: parted(c, "SPLIT_V", (6, 2), 2, after=[[2, -1], 0], numSplits=2))
add("unpack", lambda c: parted(c, "UNPACK", (2, 3, 4), 3, axis=1, num=3), SOME)
add("unpack_last", lambda c: parted(c, "UNPACK", (2, 3), 3, axis=-1, num=3))


# Shapes and numbers that are not data.

add("shape", lambda c: c.op("SHAPE", [c.x(2, 3, 4)], "int32", outType=2))
add("shape_int64", lambda c: c.op("SHAPE", [c.x(2, 3, 4)], "int64", outType=4))
add("rank", lambda c: c.op("RANK", [c.x(2, 3, 4)], "int32"))
add("fill", lambda c: c.op("FILL", [c.ints(2, 3), c.input(np.float32(1.5))]))
add("fill_int64", lambda c: c.op("FILL", [c.const([2, 2], "int64"), c.const(7, "int64")], "int64"))
add("range", lambda c: c.op("RANGE", [c.const(value, "int32") for value in (3, -8, -2)], "int32"))
add("range_float", lambda c: c.op("RANGE", [c.const(value, "float32") for value in (0.5, 3, 0.75)]))
for name, numbers in (("tenths", (0, 0.3, 0.1)), ("inexact", (0.5, 5, 0.45)), ("down", (1, -1.4, -0.3))):
    add(f"range_float_{name}", lambda c, numbers=numbers: c.op("RANGE", [c.const(value, "float32") for value in numbers]))
add("broadcast_args", lambda c: c.op("BROADCAST_ARGS", [c.input(np.int32([2, 1, 4])), c.input(np.int32([3, 1]))], "int32"))
add("one_hot", lambda c: c.op("ONE_HOT", [c.input(np.int32([[1, 3], [0, 7], [-1, 2]])), c.const(4, "int32"),
                                          c.const(2.0, "float32"), c.const(-1.0, "float32")], axis=-1))
add("one_hot_first", lambda c: c.op("ONE_HOT", [c.input(np.int64([1, 3, 0])), c.const(4, "int32"), c.const(1, "int32"),
                                                c.const(0, "int32")], "int32", axis=0))
add("one_hot_bool", lambda c: c.op("ONE_HOT", [c.input(np.int32([1, 3])), c.const(4, "int32"), c.const(True), c.const(False)],
                                   "bool", axis=1))
# Indices that repeat add up.
add("scatter_nd", lambda c: c.op("SCATTER_ND", [c.input(np.int32([[4], [1], [4]])), c.x(3, 2), c.ints(6, 2)]))
add("scatter_nd_elements", lambda c: c.op("SCATTER_ND", [c.input(np.int32([[0, 1], [2, 2]])), c.input(np.int32([5, 6])),
                                                         c.ints(3, 3)], "int32"))
add("sparse_to_dense", lambda c: c.op("SPARSE_TO_DENSE", [c.const([[0, 1], [2, 0]], "int32"), c.ints(3, 2), c.x(2),
                                                          c.const(-1.0, "float32")], validateIndices=False))
add("segment_sum", lambda c: c.op("SEGMENT_SUM", [c.x(5, 2), c.const([0, 0, 1, 1, 2], "int32")]))
for operation in ("SUM", "MAX", "MIN", "PROD"):
    add(f"unsorted_segment_{operation.lower()}", lambda c, operation=operation: c.op(
        f"UNSORTED_SEGMENT_{operation}", [c.x(5, 2), c.input(np.int32([3, 0, 0, 1, 3])), c.const(4, "int32")]))
add("bucketize", lambda c: c.op("BUCKETIZE", [c.input(np.float32([-3, -1, -0.5, 0, 1, 9]))], "int32",
                                boundaries=[-1.0, 0.0, 1.0]))
add("bucketize_nan", lambda c: c.op("BUCKETIZE", [c.input(np.float32([np.nan, -np.inf, np.inf]))], "int32",
                                    boundaries=[-1.0, 0.0, 1.0]))
add("where", lambda c: c.op("WHERE", [c.input(np.array([[True, False, True], [False, False, True]]))], "int64"))


def unique(c):
    x = c.real_input([3, 1, 3, 2, 1])
    results = [c.result(like=x), c.result("int32")]
    c.graph.operator("UNIQUE", [x], results, idxOutType=2)
    return results


add("unique", unique, SOME)


def flatten_by_shape(c):
    """What Keras' Flatten becomes where the batch is open."""
    x = c.x(2, 3, 4)
    shape = c.op("SHAPE", [x], "int32", outType=2)
    batch = c.op("STRIDED_SLICE", [shape, c.ints(0), c.ints(1), c.ints(1)], "int32", shrinkAxisMask=1)
    return c.op("RESHAPE", [x, c.op("PACK", [batch, c.const(12, "int32")], "int32", axis=0, valuesCount=2)])


add("flatten_by_shape", flatten_by_shape)
