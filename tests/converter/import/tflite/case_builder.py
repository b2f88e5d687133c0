"""One case while it is built: the same lines of code make it in f32 and in every quantised form. For make_cases.py.

A case is built up to four times: in f32 for the ranges of its tensors (where the result is quantised), with unknown shapes
for the shapes, and finally as it is written. A dynamic-range case (`dyn`) is also built with the dequantised weights: those
give the expectation.
"""
import zlib

import numpy as np
from tflite_writer import Model, Quant, run

# The form of a case -> the type of its activations, where they are integers.
INTEGERS = {"i8": "int8", "u8": "uint8", "i16": "int16", "i8w4": "int8"}
LIMITS = {"int4": (-7, 7), "int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-2**31, 2**31 - 1),
          "int64": (-2**63, 2**63 - 1)}
# What some operators demand of their results, in each integer type.
FIXED = {"unit": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
         "signed_unit": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
         "logarithm": {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)}}


def one_scale(dtype, low, high):
    """The quantisation that covers low to high and zero."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    if high - low < 1e-6:
        high = 1.0
    if dtype == "int16":
        return Quant((np.float32(max(-low, high) / 32767),), (0,))
    first, last = LIMITS[dtype]
    scale = np.float32((high - low) / (last - first))
    return Quant((scale,), (int(np.clip(round(first - low / scale), first, last)),))


def quantised(real, dtype, quant):
    shape = [1] * np.ndim(real)
    if len(quant.scales) > 1:
        shape[quant.axis] = -1
    scales = np.reshape(np.asarray(quant.scales, np.float64), shape if len(quant.scales) > 1 else ())
    points = np.reshape(np.asarray(quant.zero_points), shape if len(quant.scales) > 1 else ())
    numbers = np.rint(np.asarray(real, np.float64) / scales) + points
    return np.clip(numbers, *LIMITS[dtype]).astype("int8" if dtype == "int4" else dtype)


def dequantised(numbers, quant):
    shape = [1] * np.ndim(numbers)
    if len(quant.scales) > 1:
        shape[quant.axis] = -1
    scales = np.reshape(np.asarray(quant.scales, np.float32), shape if len(quant.scales) > 1 else ())
    points = np.reshape(np.asarray(quant.zero_points), shape if len(quant.scales) > 1 else ())
    return ((numbers.astype(np.int64) - points) * scales).astype(np.float32)


class Case:
    """What a case's function builds with. `form`: f32, i8, u8, i16, i8w4 (weights of 4 bits), dyn, dyn4, f16."""

    def __init__(self, name, form, shapes=None, ranges=None, plain=False):
        self.form, self.shapes, self.ranges, self.plain = form, shapes, ranges, plain
        self.integer = INTEGERS.get(form)
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.model = Model(name)
        self.graph = self.model.graph("main")
        self.values = []      # of the inputs
        self.quants = {}      # of tensors
        self.dtypes = {}

    def uniform(self, shape, low=-1.0, high=1.0):
        return self.random.uniform(low, high, shape).astype(np.float32)

    def integers(self, shape, low, high, dtype="int32"):
        return self.random.integers(low, high, shape, endpoint=True).astype(dtype)

    def add_tensor(self, dtype, shape, data=None, quant=None, **more):
        index = self.graph.tensor(dtype, shape, data, quant, **more)
        self.quants[index], self.dtypes[index] = quant, dtype
        return index

    # Inputs.

    def input(self, value, quant=None, **more):
        """An input that holds exactly these elements."""
        value = np.asarray(value)
        index = self.add_tensor(value.dtype.name, value.shape, quant=quant, **more)
        self.graph.table.inputs.append(index)
        self.values.append(value)
        return index

    def real_input(self, value, quant=None, **more):
        """An input of the case's activation type."""
        if not self.integer:
            return self.input(np.asarray(value, np.float32), **more)
        quant = quant or one_scale(self.integer, np.min(value), np.max(value))
        return self.input(quantised(value, self.integer, quant), quant, **more)

    def x(self, *shape, low=-1.0, high=1.0, **more):
        return self.real_input(self.uniform(shape, low, high), **more)

    # Constants.

    def const(self, value, dtype=None, quant=None, **more):
        value = np.asarray(value, dtype)
        return self.add_tensor(value.dtype.name, value.shape, value, quant, **more)

    def ints(self, *values):
        return self.const(values, "int32")

    def real_const(self, value, quant=None):
        """A constant of the case's activation type."""
        if not self.integer:
            return self.const(value, "float32")
        quant = quant or one_scale(self.integer, np.min(value), np.max(value))
        return self.const(quantised(value, self.integer, quant), quant=quant)

    def weights(self, value, axis=0, per_tensor=False):
        """A constant of the case's weight type, with a scale for each slice of the axis where the form has that."""
        value = np.asarray(value, np.float32)
        if self.form == "f32":
            return self.const(value)
        if self.form == "f16":
            half = self.const(value.astype(np.float16))
            return self.op("DEQUANTIZE", [half], shape=value.shape)
        if self.form == "u8":
            quant = one_scale("uint8", value.min(), value.max())
            return self.const(quantised(value, "uint8", quant), quant=quant)
        dtype = "int4" if self.form in ("i8w4", "dyn4") else "int8"
        limit = 7 if dtype == "int4" else 127
        if per_tensor:
            scales = (np.float32(np.abs(value).max() / limit),)
        else:
            others = tuple(i for i in range(value.ndim) if i != axis)
            scales = tuple(np.maximum(np.abs(value).max(others), 1e-3).astype(np.float32) / np.float32(limit))
        quant = Quant(scales, (0,) * len(scales), 0 if per_tensor else axis)
        numbers = quantised(value, dtype, quant)
        if self.plain:
            return self.const(dequantised(numbers, quant))
        return self.add_tensor(dtype, numbers.shape, numbers, quant)

    def bias(self, value, x, w):
        value = np.asarray(value, np.float32)
        if self.form == "f16":
            return self.weights(value)
        if not self.integer:
            return self.const(value)
        scales = tuple(np.float32(scale * self.quants[x].scales[0]) for scale in self.quants[w].scales)
        quant = Quant(scales, (0,) * len(scales), 0)
        dtype = "int64" if self.form == "i16" else "int32"
        return self.const(quantised(value, dtype, quant), quant=quant)

    # Results.

    def result(self, kind="real", like=None, shape=None):
        """A tensor for a result. `kind`: real (the activation type over the range seen in f32), a key of FIXED, a
        Quant (for integer activations), or a type."""
        index = len(self.graph.table.tensors)
        if shape is None:
            shape = self.shapes[index] if self.shapes else ()
        if like is not None:
            return self.add_tensor(self.dtypes[like], shape, quant=self.quants[like])
        if isinstance(kind, str) and kind != "real" and kind not in FIXED:
            return self.add_tensor(kind, shape)
        if not self.integer:
            return self.add_tensor("float32", shape)
        if isinstance(kind, Quant):
            quant = kind
        elif kind in FIXED:
            scale, point = FIXED[kind][self.integer]
            quant = Quant((scale,), (point,))
        else:
            quant = one_scale(self.integer, *(self.ranges[index] if self.ranges else (-1, 1)))
        return self.add_tensor(self.integer, shape, quant=quant)

    def op(self, name, inputs, /, out="real", like=None, count=None, shape=None, intermediates=None, **options):
        """Adds an operator; gives its result, or a list of them where `out` is a list or `count` is said."""
        if isinstance(out, list):
            outputs = [self.result(kind) for kind in out]
        else:
            outputs = [self.result(out, like, shape) for _ in range(1 if count is None else count)]
        self.graph.operator(name, inputs, outputs, intermediates, **options)
        return outputs if count is not None or isinstance(out, list) else outputs[0]

    def finish(self, outputs):
        self.graph.table.outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        return self.model.bytes()


def tensors_after(data, values):
    """Shape and range of every tensor of the first subgraph after a run."""
    interpreter = run(data, values, keep_all=True)
    shapes, ranges = {}, {}
    for tensor in interpreter.get_tensor_details():
        shapes[tensor["index"]] = tuple(int(extent) for extent in tensor["shape"])
        try:
            value = interpreter.get_tensor(tensor["index"])
        except ValueError:
            continue
        if value.dtype == np.float32 and value.size:
            ranges[tensor["index"]] = (value.min(), value.max())
    return shapes, ranges


def build(function, name, form):
    """The file, the inputs and the expected outputs of a case."""
    ranges = None
    if form in INTEGERS:
        case = Case(name, "f32")
        data = case.finish(function(case))
        ranges = tensors_after(data, case.values)[1]
    # Of the dynamic-range forms LiteRT would quantise the activations on the fly: what is computed is the float model.
    plain = form in ("dyn", "dyn4")
    case = Case(name, form, None, ranges, plain)
    data = case.finish(function(case))
    shapes = tensors_after(data, case.values)[0]
    expected = run(data, case.values)
    outputs = [expected.get_tensor(port["index"]) for port in expected.get_output_details()]
    case = Case(name, form, shapes, ranges)
    return case.finish(function(case)), case.values, outputs


CASES = {}


def add(name, function, forms="f32"):
    """Registers NAME_FORM for every form; `function` takes a Case and returns its outputs."""
    for form in forms.split():
        key = f"{name}_{form}"
        if key in CASES:
            raise ValueError(f"two cases are called {key}")
        CASES[key] = (function, form)


def add_typed(name, function, dtypes):
    """Registers NAME_DTYPE for every type of elements that is no form; `function` takes a Case and the type."""
    for dtype in dtypes.split():
        CASES[f"{name}_{dtype}"] = (lambda c, dtype=dtype: function(c, dtype), "f32")
