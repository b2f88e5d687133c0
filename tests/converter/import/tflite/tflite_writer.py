"""Writes TFLite files tensor by tensor, and runs them with LiteRT's reference kernels. For make_cases.py."""
from typing import NamedTuple

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {"float32": schema.TensorType.FLOAT32, "float16": schema.TensorType.FLOAT16, "float64": schema.TensorType.FLOAT64,
         "int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8, "int16": schema.TensorType.INT16,
         "uint16": schema.TensorType.UINT16, "int32": schema.TensorType.INT32, "uint32": schema.TensorType.UINT32,
         "int64": schema.TensorType.INT64, "uint64": schema.TensorType.UINT64, "bool": schema.TensorType.BOOL,
         "complex64": schema.TensorType.COMPLEX64, "int4": schema.TensorType.INT4, "resource": schema.TensorType.RESOURCE}

# The table of options for an operator, where it is not the operator's name.
OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2D", "MAX_POOL_2D": "Pool2D", "L2_POOL_2D": "Pool2D", "CONV_2D": "Conv2D",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "CONV_3D": "Conv3D", "CONV_3D_TRANSPOSE": "Conv3D",
    "L2_NORMALIZATION": "L2Norm", "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalization",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND", "SPACE_TO_BATCH_ND": "SpaceToBatchND", "TOPK_V2": "TopKV2",
    "MEAN": "Reducer", "SUM": "Reducer", "REDUCE_MAX": "Reducer", "REDUCE_MIN": "Reducer", "REDUCE_PROD": "Reducer",
    "REDUCE_ANY": "Reducer", "REDUCE_ALL": "Reducer", "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM", "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTM", "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNN",
    "LSTM": "LSTM", "RNN": "RNN", "SVDF": "SVDF", "BATCH_MATMUL": "BatchMatMul", "RFFT2D": "Rfft2d", "ATAN2": "ATan2",
    "SQUARE": "Square", "STABLEHLO_COMPOSITE": "StableHLOComposite"}

# Operators that the interpreter only knows from a later version on.
VERSIONS = {"BROADCAST_TO": 2}

# LiteRT 2.3.0 registers no reference kernel for the first five. SUM's is wrong for i8 and i16 (it reads memory that was
# never set), and the window of LOCAL_RESPONSE_NORMALIZATION's lacks its last channel. Its ordinary kernels are taken.
NOT_IN_REFERENCE = {getattr(schema.BuiltinOperator, name) for name in (
    "CEIL", "ELU", "ROUND", "SEGMENT_SUM", "STABLEHLO_CASE", "SUM", "LOCAL_RESPONSE_NORMALIZATION")}


class Quant(NamedTuple):
    """real = scale * (q - zero point), with one scale, or one for each slice of an axis."""
    scales: tuple
    zero_points: tuple
    axis: int = 0


def options_of(operator, values):
    """The field that the options stand in, the number of their table and the table itself; (0, None) where the schema has
    none."""
    name = OPTIONS.get(operator) or "".join(word.capitalize() for word in operator.split("_"))
    table = getattr(schema, name + "OptionsT", None)
    if table is None:
        if values:
            raise ValueError(f"{operator} has no options, but {sorted(values)} were given")
        return "builtinOptions", 0, None
    table = table()
    for key, value in values.items():
        if not hasattr(table, key):
            raise ValueError(f"{operator} has no option {key}")
        if isinstance(value, str) and key == "padding":
            value = getattr(schema.Padding, value)
        elif key == "fusedActivationFunction":
            value = getattr(schema.ActivationFunctionType, value)
        setattr(table, key, value)
    if hasattr(schema.BuiltinOptions2, name + "Options"):
        return "builtinOptions2", getattr(schema.BuiltinOptions2, name + "Options"), table
    return "builtinOptions", getattr(schema.BuiltinOptions, name + "Options"), table


def packed_int4(data):
    """Two numbers a byte, the first in the low half."""
    flat = data.astype(np.uint8).reshape(-1) & 15
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8)


class Graph:
    """A subgraph while it is written. Tensors are numbers, in the order in which they are made."""

    def __init__(self, model, name):
        self.model = model
        self.table = schema.SubGraphT()
        self.table.name = name
        self.table.tensors, self.table.operators, self.table.inputs, self.table.outputs = [], [], [], []

    def tensor(self, dtype, shape, data=None, quant=None, name=None, variable=False, open_shape=None):
        tensor = schema.TensorT()
        index = len(self.table.tensors)
        tensor.name = name or f"{self.table.name}_{index}"
        tensor.type = TYPES[dtype]
        tensor.shape = list(shape)
        tensor.shapeSignature = open_shape
        tensor.hasRank = True
        tensor.isVariable = variable
        tensor.buffer = 0 if data is None else self.model.buffer(packed_int4(data) if dtype == "int4" else data)
        if quant is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = [float(scale) for scale in quant.scales]
            tensor.quantization.zeroPoint = [int(point) for point in quant.zero_points]
            tensor.quantization.quantizedDimension = quant.axis
        self.table.tensors.append(tensor)
        return index

    def operator(self, name, inputs, outputs, /, intermediates=None, **options):
        operator = schema.OperatorT()
        operator.opcodeIndex = self.model.operator_code(name)
        operator.inputs = [-1 if index is None else index for index in inputs]
        operator.outputs = list(outputs)
        operator.intermediates = intermediates
        field, kind, table = options_of(name, options)
        setattr(operator, field + "Type", kind)
        setattr(operator, field, table)
        self.table.operators.append(operator)


class Model:
    """A file while it is written."""

    def __init__(self, description):
        self.table = schema.ModelT()
        self.table.version = 3
        self.table.description = description
        self.table.operatorCodes, self.table.subgraphs, self.table.signatureDefs = [], [], None
        self.table.buffers = [schema.BufferT()]
        self.codes = {}

    def graph(self, name):
        graph = Graph(self, name)
        self.table.subgraphs.append(graph.table)
        return graph

    def buffer(self, data):
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
        self.table.buffers.append(buffer)
        return len(self.table.buffers) - 1

    def operator_code(self, name):
        if name not in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, name)
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)
            code.version = VERSIONS.get(name, 1)
            self.codes[name] = len(self.table.operatorCodes)
            self.table.operatorCodes.append(code)
        return self.codes[name]

    def bytes(self):
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.table.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def run(data, inputs, keep_all=False):
    """The interpreter after one run of LiteRT's reference kernels, without delegates; inputs in the model's order."""
    resolver = OpResolverType.BUILTIN_REF
    if NOT_IN_REFERENCE & operators_of(data):
        resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver, num_threads=1,
                              experimental_preserve_all_tensors=keep_all)
    interpreter.allocate_tensors()
    for port, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(port["index"], value)
    interpreter.invoke()
    return interpreter


def operators_of(data):
    table = schema.ModelT.InitFromPackedBuf(data, 0)
    return {code.builtinCode for code in table.operatorCodes}
