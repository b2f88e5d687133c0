"""Cases of products: fully connected layers, matrices, look-ups in tables, sparse weights."""
import numpy as np
from case_builder import add
from tflite_writer import schema

SOME = "f32 i8"


def fully_connected(c, x=(3, 5), channels=4, bias=True, keep=False, activation="NONE", per_tensor=False, constant=True):
    x_tensor = c.x(*x)
    values = c.uniform((channels, x[-1]))
    w = c.weights(values, 0, per_tensor) if constant else c.real_input(values)
    inputs = [x_tensor, w, c.bias(c.uniform((channels,)), x_tensor, w) if bias else None]
    return c.op("FULLY_CONNECTED", inputs, keepNumDims=keep, fusedActivationFunction=activation)


for name, forms, parameters in [
        ("fully_connected", "f32 i8 u8 i16 i8w4 dyn dyn4 f16", {}),
        ("fully_connected_no_bias", SOME, {"bias": False}),
        ("fully_connected_relu", SOME, {"activation": "RELU"}),
        ("fully_connected_relu6", "f32 i8 u8", {"activation": "RELU6"}),
        ("fully_connected_relu_n1_to_1", "f32", {"activation": "RELU_N1_TO_1"}),
        ("fully_connected_keep", "f32 i8 dyn", {"x": (2, 3, 5), "keep": True}),
        ("fully_connected_flattens", SOME, {"x": (2, 3, 5)}),
        ("fully_connected_per_tensor", "i8 dyn", {"per_tensor": True}),
        ("fully_connected_one", "f32", {"x": (1, 7), "channels": 1}),
        ("fully_connected_two_inputs", "f32", {"bias": False, "constant": False})]:
    add(name, lambda c, parameters=parameters: fully_connected(c, **parameters), forms)


def fully_connected_wide(c):
    """Each row of weights takes two rows of the input: what is flattened is counted in elements of the weights."""
    x = c.x(4, 2, 3)
    w = c.weights(c.uniform((5, 6)), 0)
    return c.op("FULLY_CONNECTED", [x, w, c.bias(c.uniform((5,)), x, w)])


add("fully_connected_regroups", fully_connected_wide, SOME)




def matmul(c, x=(2, 3, 4), y=(2, 4, 5), adj_x=False, adj_y=False, constant=False):
    first = c.x(*x)
    second = c.real_const(c.uniform(y)) if constant else c.x(*y)
    return c.op("BATCH_MATMUL", [first, second], adjX=adj_x, adjY=adj_y)


for name, forms, parameters in [
        ("batch_matmul", "f32 i8 i16", {}), ("batch_matmul_adj_x", "f32", {"x": (2, 4, 3), "adj_x": True}),
        ("batch_matmul_adj_y", "f32", {"y": (2, 5, 4), "adj_y": True}),
        ("batch_matmul_both", SOME, {"x": (2, 4, 3), "y": (2, 5, 4), "adj_x": True, "adj_y": True}),
        ("batch_matmul_broadcast", "f32", {"x": (2, 1, 3, 4), "y": (3, 4, 2)}),
        ("batch_matmul_constant", SOME, {"y": (4, 5), "constant": True}),
        ("batch_matmul_rank2", "f32", {"x": (3, 4), "y": (4, 2)})]:
    add(name, lambda c, parameters=parameters: matmul(c, **parameters), forms)


def matmul_of_integers(c, adj_x, adj_y, constant):
    """Bytes without a scale; the sums are plain, too."""
    x = c.input(c.integers((2, 4, 3) if adj_x else (2, 3, 4), -128, 127, "int8"))
    y = c.integers((2, 5, 4) if adj_y else (2, 4, 5), -128, 127, "int8")
    return c.op("BATCH_MATMUL", [x, c.const(y) if constant else c.input(y)], "int32", adjX=adj_x, adjY=adj_y)


add("batch_matmul_int8", lambda c: matmul_of_integers(c, False, False, False))
add("batch_matmul_int8_both", lambda c: matmul_of_integers(c, True, True, False))
add("batch_matmul_int8_constant", lambda c: matmul_of_integers(c, False, False, True))


# Tables.

add("embedding_lookup", lambda c: c.op("EMBEDDING_LOOKUP", [c.input(np.int32([3, 0, 3])), c.const(c.uniform((5, 4)))]))


def lookup_dequantised(c):
    """The table is of bytes, the result of floats: a scale for the whole table."""
    table = c.weights(c.uniform((5, 4)), per_tensor=True)
    return c.op("EMBEDDING_LOOKUP", [c.input(np.int32([3, 0, 3])), table], "float32")


add("embedding_lookup", lookup_dequantised, "dyn")


def lookup_alike(c):
    table = c.real_const(c.uniform((5, 4)))
    return c.op("EMBEDDING_LOOKUP", [c.input(np.int32([3, 0, 3])), table], like=table)


add("embedding_lookup", lookup_alike, "i8 u8")


# Sparse weights.

def densify(c, compressed_rows=True):
    """A matrix of 3 x 4 in compressed rows: three numbers that are not zero."""
    dense = np.float32([[0, 2, 0, 0], [0, 0, 0, 0], [1.5, 0, 0, -3]])
    w = c.const(np.float32([2, 1.5, -3]))
    tensor = c.graph.table.tensors[w]
    tensor.shape = [3, 4]
    sparsity = schema.SparsityParametersT()
    sparsity.traversalOrder = [0, 1]
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = schema.DimensionType.DENSE, 3
    columns.format = schema.DimensionType.SPARSE_CSR
    for field, values in (("Segments", [0, 1, 1, 3]), ("Indices", [1, 0, 3])):
        vector = schema.Int32VectorT()
        vector.values = values
        setattr(columns, f"array{field}Type", schema.SparseIndexVector.Int32Vector)
        setattr(columns, f"array{field}", vector)
    sparsity.dimMetadata = [rows, columns]
    tensor.sparsity = sparsity
    y = c.op("DENSIFY", [w], shape=dense.shape)
    return c.op("FULLY_CONNECTED", [c.x(2, 4), y, None])


add("densify", densify)


def attention(c):
    """One head: scores, softmax, weighted sum."""
    query, key, value = c.x(1, 3, 4), c.x(1, 5, 4), c.x(1, 5, 4)
    scores = c.op("MUL", [c.op("BATCH_MATMUL", [query, key], adjY=True), c.real_const(0.5)])
    return c.op("BATCH_MATMUL", [c.op("SOFTMAX", [scores], "unit", beta=1.0), value])


add("attention", attention, "f32 i8")
