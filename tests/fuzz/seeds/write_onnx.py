#!/usr/bin/env python3
"""Writes seeds of fuzz_onnx: a model of each operator of the domains that no package has cases of, one of constants of each
type, as the typed field has them and as bytes, the graphs of onnx_graphs.txt (in the folder graphs), and what their syntax cannot
say. Needs the package onnx.

usage: write_onnx.py FOLDER      tests/fuzz/seeds/onnx
"""
import argparse
import os
import sys

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper, parser
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
F, U8, I8, I32, I64 = numpy.float32, numpy.uint8, numpy.int8, numpy.int32, numpy.int64
U4 = helper.tensor_dtype_to_np_dtype(TensorProto.UINT4)


class X:
    """An input of the model."""

    def __init__(self, *shape, dtype=F):
        self.shape = shape
        self.type = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))


class W:
    """A constant: small numbers that are not all alike."""

    def __init__(self, *shape, dtype=F, values=None):
        count = int(numpy.prod(shape))
        self.array = numpy.array(range(1, count + 1) if values is None else values).reshape(shape).astype(dtype)


def scale(value=0.5):
    return W(values=[value])


def zero(value=3, dtype=U8):
    return W(dtype=dtype, values=[value])


def tree(kind):
    """x0 <= 1 ? leaf 1 : leaf 2."""
    return dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[1.0, 0.0, 0.0],
                nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
                **{kind + "_treeids": [0, 0], kind + "_nodeids": [1, 2], kind + "_ids": [0, 1], kind + "_weights": [1.0, 2.0]})


SVM = dict(coefficients=[1.0, -1.0], support_vectors=[1.0, 2.0, 3.0, 4.0], kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0])
CODES = (X(2, 4, dtype=U8), scale(), zero())
PICTURE = (X(1, 2, 4, 4, dtype=U8), scale(), zero())

# The operator; the names of its outputs; its inputs, None where one is left out; its attributes.
NODES = {
    ML: [
        ("ArrayFeatureExtractor", "y", (X(2, 3), W(2, dtype=I64, values=[2, 0])), {}),
        ("Binarizer", "y", (X(2, 3),), dict(threshold=0.5)),
        ("FeatureVectorizer", "y", (X(2, 1), X(2, 3)), dict(inputdimensions=[1, 3])),
        ("Imputer", "y", (X(2, 3),), dict(imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))),
        ("LabelEncoder", "y", (X(2, 3, dtype=I64),), dict(keys_int64s=[0, 1, 2], values_floats=[1.0, 2.0, 3.0], default_float=9.0)),
        ("LinearClassifier", "yz", (X(2, 3),), dict(classlabels_ints=[4, 5], coefficients=[1.0, 2.0, 3.0, -1.0, -2.0, -3.0],
                                                    intercepts=[0.5, -0.5], post_transform="SOFTMAX", multi_class=1)),
        ("LinearRegressor", "y", (X(2, 3),), dict(coefficients=[1.0, 2.0, 3.0], intercepts=[0.5], targets=1)),
        ("Normalizer", "y", (X(2, 3),), dict(norm="L2")),
        ("OneHotEncoder", "y", (X(2, 3, dtype=I64),), dict(cats_int64s=[0, 1, 2], zeros=1)),
        ("Scaler", "y", (X(2, 3),), dict(offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0])),
        ("SVMClassifier", "yz", (X(2, 2),), dict(SVM, classlabels_ints=[0, 1], vectors_per_class=[1, 1], rho=[0.25], prob_a=[1.0],
                                                 prob_b=[0.5], post_transform="NONE")),
        ("SVMRegressor", "y", (X(2, 2),), dict(SVM, n_supports=2, rho=[0.25])),
        ("TreeEnsemble", "y", (X(2, 1),), dict(
            tree_roots=[0], n_targets=2, nodes_featureids=[0], nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [1], [0]),
            nodes_splits=helper.make_tensor("s", TensorProto.FLOAT, [1], [1.0]), nodes_truenodeids=[0], nodes_trueleafs=[1],
            nodes_falsenodeids=[1], nodes_falseleafs=[1], leaf_targetids=[0, 1],
            leaf_weights=helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]))),
        ("TreeEnsembleClassifier", "yz", (X(2, 1),), dict(tree("class"), classlabels_int64s=[0, 1], post_transform="LOGISTIC")),
        ("TreeEnsembleRegressor", "y", (X(2, 1),), dict(tree("target"), n_targets=2, aggregate_function="SUM")),
        ("ZipMap", "y", (X(2, 2),), dict(classlabels_int64s=[0, 1])),
    ],
    MICROSOFT: [
        ("Attention", "y", (X(1, 3, 4), W(4, 12), W(12), W(1, 3, dtype=I32)), dict(num_heads=2, unidirectional=1)),
        ("BiasGelu", "y", (X(2, 4), W(4)), {}),
        ("CDist", "y", (X(2, 3), X(4, 3)), dict(metric="euclidean")),
        ("DequantizeLinear", "y", (X(2, 4, dtype=U8), scale(), zero()), {}),
        ("DynamicQuantizeMatMul", "y", (X(2, 4), W(4, 3, dtype=U8), scale(), zero(), W(3)), {}),
        ("DynamicQuantizeLSTM", "yz", (X(2, 1, 3), W(1, 3, 8, dtype=I8), W(1, 2, 8, dtype=I8), *5 * (None,), scale(), zero(dtype=I8),
                                       scale(), zero(dtype=I8)), dict(hidden_size=2)),
        ("EmbedLayerNormalization", "yz", (X(1, 3, dtype=I32), X(1, 3, dtype=I32), W(5, 4), W(3, 4), W(2, 4), W(4), W(4),
                                           X(1, 3, dtype=I32)), dict(epsilon=1e-5)),
        ("FastGelu", "y", (X(2, 4), W(4)), {}),
        ("FusedConv", "y", (X(1, 2, 4, 4), W(2, 2, 3, 3), W(2), X(1, 2, 2, 2)), dict(activation="LeakyRelu", activation_params=[0.5])),
        ("FusedGemm", "y", (X(2, 4), W(3, 4), W(3)), dict(activation="Relu", transB=1)),
        ("FusedMatMul", "y", (X(2, 4), X(3, 4)), dict(transB=1, alpha=0.5)),
        ("FusedMatMulActivation", "y", (X(2, 4), W(4, 3)), dict(activation="Sigmoid")),
        ("GatherBlockQuantized", "y", (W(2, 3, dtype=U4), X(2, dtype=I64), W(2, 2)), dict(block_size=2)),
        ("Gelu", "y", (X(2, 4),), {}),
        ("GroupQueryAttention", "yzw", (X(1, 2, 4), X(1, 2, 2), X(1, 2, 2), X(1, 1, 1, 2), X(1, 1, 1, 2), X(1, dtype=I32),
                                        W(1, dtype=I32, values=[3]), W(4, 1), W(4, 1)),
         dict(num_heads=2, kv_num_heads=1, do_rotary=1, local_window_size=2, softcap=5.0)),
        ("MatMulIntegerToFloat", "y", (X(2, 4, dtype=U8), W(4, 3, dtype=I8), scale(), W(3), zero(), W(3, dtype=I8), W(3)), {}),
        ("MatMulNBits", "y", (X(2, 32), W(3, 2, 8, dtype=U8), W(6), W(3, dtype=U8)), dict(K=32, N=3, bits=4, block_size=16, accuracy_level=4)),
        ("MultiHeadAttention", "yzw", (X(1, 2, 4), X(1, 2, 2, 2, 2), None, W(12), X(1, 3, dtype=I32), X(1, 2, 2, 3), X(1, 2, 1, 2), X(1, 2, 1, 2)),
         dict(num_heads=2, unidirectional=1)),
        ("QAttention", "y", (X(1, 3, 4, dtype=U8), W(4, 12, dtype=I8), W(12), scale(), scale(), W(1, dtype=I32, values=[3]), zero(),
                             zero(dtype=I8)), dict(num_heads=2)),
        ("QGemm", "y", (*CODES, W(4, 3, dtype=I8), W(3), W(3, dtype=I8), W(3, dtype=I32), scale(), zero()), dict(alpha=0.5)),
        ("QLinearAdd", "y", (*CODES, X(4, dtype=U8), scale(2.0), zero(), scale(), zero()), {}),
        ("QLinearAveragePool", "y", (*PICTURE, scale(), zero()), dict(kernel_shape=[2, 2], strides=[2, 2])),
        ("QLinearConcat", "y", (scale(), zero(), *CODES, X(2, 1, dtype=U8), scale(2.0), zero()), dict(axis=1)),
        ("QLinearConv", "y", (*PICTURE, W(2, 2, 3, 3, dtype=I8), W(2), W(2, dtype=I8, values=[0, 0]), scale(), zero(), W(2, dtype=I32)),
         dict(pads=[1, 1, 1, 1])),
        ("QLinearGlobalAveragePool", "y", (*PICTURE, scale(), zero()), dict(channels_last=1)),
        ("QLinearLeakyRelu", "y", (*CODES, scale(), zero()), dict(alpha=0.25)),
        ("QLinearMul", "y", (*CODES, X(4, dtype=U8), scale(2.0), zero(), scale(), zero()), {}),
        ("QLinearReduceMean", "y", (*CODES, scale(), zero()), dict(axes=[1], keepdims=0)),
        ("QLinearSigmoid", "y", (*CODES, scale(), zero()), {}),
        ("QLinearSoftmax", "y", (*CODES, scale(), zero()), dict(axis=-1, opset=13)),
        ("QLinearWhere", "y", (X(2, 4, dtype=bool), *CODES, X(2, 4, dtype=U8), scale(), zero(), scale(), zero()), {}),
        ("QuantizeLinear", "y", (X(2, 4), scale(), zero()), {}),
        ("QuickGelu", "y", (X(2, 4),), dict(alpha=1.7)),
        ("RotaryEmbedding", "y", (X(1, 3, 4), W(1, 3, dtype=I64, values=[0, 1, 2]), W(4, 1), W(4, 1)), dict(num_heads=2)),
        ("SkipLayerNormalization", "y", (X(1, 3, 4), X(1, 3, 4), W(4), W(4), W(4)), dict(epsilon=1e-5)),
        ("SkipSimplifiedLayerNormalization", "y", (X(1, 3, 4), X(1, 3, 4), W(4)), dict(epsilon=1e-5)),
    ],
}


def model_of(domain, op, outputs, operands, attributes):
    inputs, constants, names = [], [], []
    for number, operand in enumerate(operands):
        names.append("" if operand is None else f"i{number}")
        if isinstance(operand, X):
            inputs.append(helper.make_tensor_value_info(names[-1], operand.type, operand.shape))
        elif isinstance(operand, W):
            constants.append(numpy_helper.from_array(operand.array, names[-1]))
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], op, inputs, [onnx.ValueInfoProto(name=name) for name in outputs], constants)
    version = 1 if domain == MICROSOFT else 5 if op == "TreeEnsemble" else 3
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(domain, version)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


# Types whose numbers are packed, by two or four.
PACKED = {"INT4": 2, "UINT4": 2, "FLOAT4E2M1": 2, "INT2": 4, "UINT2": 4}


def model_of_type(name):
    """y = a + b, of the same numbers."""
    number = getattr(TensorProto, name)
    typed = helper.make_tensor("a", number, [2, 2], [0, 1, 1, 0])
    raw = TensorProto(name="b", data_type=number, dims=[2, 2])
    raw.raw_data = bytes(4 // PACKED[name]) if name in PACKED else numpy_helper.to_array(typed).tobytes()
    nodes = [helper.make_node("Cast", [x], ["f" + x], to=TensorProto.FLOAT) for x in "ab"] + [helper.make_node("Add", ["fa", "fb"], ["y"])]
    graph = helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name="y")], [typed, raw])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


OPSETS = '"": 22, "ai.onnx.ml": 3, "com.microsoft": 1, "fuzz": 1'


def model_of_text(text, opsets=OPSETS):
    return parser.parse_model(f"<ir_version: 10, opset_import: [{opsets}]> g {text}")


def graphs_of_file(path):
    """Names and models of a file's lines: name: ["domain": version] graph."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, _, rest = line.strip().partition(": ")
                opsets, _, text = rest[1:].partition("] ") if rest[0] == "[" else (OPSETS, "", rest)
                yield name, model_of_text(text, opsets)


def models_without_syntax():
    """Names and models."""
    sparse = model_of_text("(float[2] x) => (float[] y) { y = Add(x, w) }")
    made = sparse.graph.sparse_initializer.add(dims=[2])
    made.values.CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]))
    made.indices.CopyFrom(helper.make_tensor("i", TensorProto.INT64, [1], [1]))
    yield "sparse", sparse
    segments = model_of_text("(float[2] x) => (float[] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    segments.graph.initializer[0].segment.begin = 1
    yield "segments", segments
    for name, tensor in (("attribute_complex", helper.make_tensor("v", TensorProto.COMPLEX64, [1], [1j])),
                         ("packed_short", TensorProto(data_type=TensorProto.INT4, dims=[2, 2], int32_data=[1], float_data=[1, 2]))):
        model = model_of_text("() => (float[] y) { y = Constant() }")
        model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))
        yield name, model


def with_damaged_default():
    """A function whose attribute_proto (field 11) is no message; functions are field 25 of the model."""
    nodes, opsets = [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 22)]
    function = helper.make_function("fuzz", "f", ["a"], ["b"], nodes, opsets).SerializeToString() + b"\x5a\x02\xff\xff"
    model = model_of_text("(float[2] x) => (float[] y) { y = fuzz.f(x) }").SerializeToString()
    return model + b"\xca\x01" + bytes([len(function)]) + function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    for domain, nodes in NODES.items():
        for op, *rest in nodes:
            onnx.save(model_of(domain, op, *rest), os.path.join(folder, f"{domain.rpartition('.')[2]}_{op}.onnx"))
    for name, number in TensorProto.DataType.items():
        if number not in (TensorProto.UNDEFINED, TensorProto.STRING):
            onnx.save(model_of_type(name), os.path.join(folder, f"type_{name.lower()}.onnx"))
    graphs = os.path.join(folder, "graphs")
    os.makedirs(graphs, exist_ok=True)
    texts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_graphs.txt")
    for name, model in [*graphs_of_file(texts), *models_without_syntax()]:
        onnx.save(model, os.path.join(graphs, name + ".onnx"))
    with open(os.path.join(graphs, "damaged_default.onnx"), "wb") as file:
        file.write(with_damaged_default())


if __name__ == "__main__":
    main()
