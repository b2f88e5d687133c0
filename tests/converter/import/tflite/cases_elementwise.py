"""Cases of operators that work on each element, or on pairs of elements after broadcasting."""
import numpy as np
from case_builder import LIMITS, add, add_typed, one_scale
from tflite_writer import Quant

INT = "i8 u8 i16"

# Operator, the range of its input, forms, options.
UNARY = [
    ("ABS", -3, 3, "f32 i8", {}), ("CEIL", -3, 3, "f32", {}), ("COS", -4, 4, "f32", {}), ("ELU", -4, 4, "f32 i8", {}),
    ("EXP", -3, 2, "f32 i8", {}), ("FLOOR", -3, 3, "f32", {}), ("GELU", -4, 4, "f32 i8", {"approximate": False}),
    ("HARD_SWISH", -5, 5, "f32 i8", {}), ("LEAKY_RELU", -4, 4, "f32 i8", {"alpha": 0.2}),
    ("LOG", 0.1, 5, "f32 i8", {}), ("NEG", -3, 3, "f32", {}), ("RELU", -3, 3, "f32 i8 i16", {}),
    ("RELU6", -3, 9, "f32 i8 u8", {}), ("RELU_N1_TO_1", -3, 3, "f32", {}), ("RELU_0_TO_1", -3, 3, "f32", {}),
    ("RSQRT", 0.1, 5, "f32 i8", {}), ("SIGN", -3, 3, "f32", {}), ("SIN", -4, 4, "f32", {}), ("SQRT", 0, 5, "f32", {}),
    ("SQUARE", -3, 3, "f32", {}), ("ZEROS_LIKE", -3, 3, "f32", {})]

for op, low, high, forms, options in UNARY:
    add(op.lower(), lambda c, op=op, low=low, high=high, options=options:
        c.op(op, [c.x(2, 3, 5, low=low, high=high)], **options), forms)

add("gelu_approximate", lambda c: c.op("GELU", [c.x(2, 3, 5, low=-4, high=4)], approximate=True))
add("leaky_relu_large", lambda c: c.op("LEAKY_RELU", [c.x(2, 3, 5, low=-4, high=4)], alpha=1.5), "i8")
add("leaky_relu_negative", lambda c: c.op("LEAKY_RELU", [c.x(2, 3, 5, low=-4, high=4)], alpha=-0.25))
add("logistic", lambda c: c.op("LOGISTIC", [c.x(2, 3, 5, low=-6, high=6)], "unit"), "f32 " + INT)
add("tanh", lambda c: c.op("TANH", [c.x(2, 3, 5, low=-4, high=4)], "signed_unit"), "f32 " + INT)
# Halves go to the even neighbour.
add("round", lambda c: c.op("ROUND", [c.input(np.float32([-2.5, -1.5, -0.5, -0.49, 0.5, 1.5, 2.5, 3.7]))]))
add("relu_special", lambda c: c.op("RELU", [c.input(np.float32([np.nan, np.inf, -np.inf, -0.0, 0.0]))]))
add_typed("abs", lambda c, t: c.op("ABS", [c.input(c.integers((2, 5), -9, 9, t))], t), "int32")
add_typed("neg", lambda c, t: c.op("NEG", [c.input(c.integers((2, 5), -9, 9, t))], t), "int32")
add_typed("sign", lambda c, t: c.op("SIGN", [c.input(c.integers((2, 5), -1, 1, t))], t), "int32")
add_typed("zeros_like", lambda c, t: c.op("ZEROS_LIKE", [c.input(c.integers((2, 5), -1, 1, t))], t), "int32")
add("logical_not_bool", lambda c: c.op("LOGICAL_NOT", [c.input(np.array([[True, False, True]]))], "bool"))


def cast(c, source, target):
    values = {"float32": np.float32([-3.9, -1.5, -0.2, 0, 0.7, 1.5, 99.9]), "float16": np.float16([-3.9, -0.5, 0, 1.5, 99])}
    value = values.get(source, np.array([0, 1, 2, 100, 127])).astype(source)
    return c.op("CAST", [c.input(value)], target)


for pair in ("float32 int32", "float32 int64", "float32 bool", "float32 uint8", "float32 float16",
             "float16 float32", "int32 float32", "int64 int32", "bool float32", "bool int32",
             "uint8 float32", "int8 float32", "int32 bool"):
    source, target = pair.split()
    add(f"cast_{source}_{target}", lambda c, source=source, target=target: cast(c, source, target))


# Pairs.

def pair_of(c, op, first, second, low=-2, high=2, **options):
    return c.op(op, [c.x(*first, low=low, high=high), c.x(*second, low=low, high=high)], **options)


for op in ("ADD", "SUB", "MUL"):
    add(op.lower(), lambda c, op=op: pair_of(c, op, (2, 3, 4), (2, 3, 4)), "f32 " + INT)
    add(f"{op.lower()}_broadcast", lambda c, op=op: pair_of(c, op, (2, 3, 1, 4), (5, 4)), "f32 i8")
    for activation, forms in (("RELU", "f32 i8"), ("RELU6", "f32 u8"), ("RELU_N1_TO_1", "f32")):
        add(f"{op.lower()}_{activation.lower()}",
            lambda c, op=op, activation=activation: pair_of(c, op, (2, 3, 4), (1, 4), -4, 4, fusedActivationFunction=activation),
            forms)
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((2, 3, 4), -9, 9, t)),
                                                        c.input(c.integers((4,), -9, 9, t))], t),
              "int32 int64" if op == "MUL" else "int32")
add("mul_scalar", lambda c: c.op("MUL", [c.x(2, 3, 4), c.real_const(1.5)]), "f32 i8 u8 i16")
# The second operand is wider than the first.
add("sub_broadcast_first", lambda c: pair_of(c, "SUB", (4,), (2, 3, 4)), "f32 i8")
add("add_rank5", lambda c: pair_of(c, "ADD", (2, 1, 3, 1, 2), (2, 1, 4, 1)))
add("add_constant_channels", lambda c: c.op("ADD", [c.x(1, 3, 3, 4), c.real_const(c.uniform((4,)))]), "f32 i8")


def divide(c, first=(2, 3, 4), second=(3, 1), **options):
    return c.op("DIV", [c.x(*first, low=-3, high=3), c.x(*second, low=0.5, high=2)], **options)


add("div", divide, "f32 u8")
add("div_relu6", lambda c: divide(c, fusedActivationFunction="RELU6"))
SIGNED_PAIRS = ([-7, -6, -1, 0, 1, 6, 7, 8], [3, -3, 2, 5, -2, 4, -2, 3])
for op, dtypes in (("DIV", "int32"), ("FLOOR_DIV", "int32 float32"), ("FLOOR_MOD", "int32 float32")):
    add_typed(op.lower() + "_signs", lambda c, t, op=op: c.op(
        op, [c.input(np.array(SIGNED_PAIRS[0], t)), c.input(np.array(SIGNED_PAIRS[1], t))], t), dtypes)


def floor_div_wide(c, dtype):
    """Multiples of the divisors lie outside of the type."""
    low, high = LIMITS[dtype]
    first, second = [high, low, high - 7, 1, low + 28, low], [-2, 7, 13 - high // 2, low, high // 2 - 3, 3]
    return c.op("FLOOR_DIV", [c.input(np.array(first, dtype)), c.input(np.array(second, dtype))], dtype)


add_typed("floor_div_wide", floor_div_wide, "int8 int16 int32")


def of_codes(c, op):
    """LiteRT takes the integers for numbers, whatever their scale is."""
    x = c.input(np.int8([50, -47, 20, -100]), Quant((0.1,), (3,)))
    return c.op(op, [x, c.input(np.int8([7, 5, -3, -9]), c.quants[x])], like=x)


for op in ("FLOOR_DIV", "FLOOR_MOD"):
    add(op.lower() + "_of_codes", lambda c, op=op: of_codes(c, op))
add("floor_mod_broadcast", lambda c: c.op("FLOOR_MOD", [c.x(2, 3, low=-5, high=5), c.x(1, 3, low=1, high=2)]))
add("pow", lambda c: c.op("POW", [c.x(2, 3, 4, low=0.1, high=2), c.x(4, low=-2, high=2)]))
add("pow_constant", lambda c: c.op("POW", [c.x(2, 3), c.const(2.0, "float32")]))
add_typed("pow", lambda c, t: c.op("POW", [c.input(c.integers((2, 3), -3, 3, t)), c.input(c.integers((3,), 0, 3, t))], t),
          "int32")
add("squared_difference", lambda c: pair_of(c, "SQUARED_DIFFERENCE", (2, 3, 4), (3, 1)), "f32 i8")
add_typed("squared_difference", lambda c, t: c.op(
    "SQUARED_DIFFERENCE", [c.input(c.integers((2, 3), -9, 9, t)), c.input(c.integers((3,), -9, 9, t))], t), "int32")
add("atan2", lambda c: pair_of(c, "ATAN2", (2, 3, 4), (2, 3, 4)))
SIGNED_ENDS = np.float32([0, -0.0, 1, -1, np.inf, -np.inf])
add("atan2_ends", lambda c: c.op("ATAN2", [c.input(np.repeat(SIGNED_ENDS, 6)), c.input(np.tile(SIGNED_ENDS, 6))]))
for op in ("MAXIMUM", "MINIMUM"):
    # The operands and the result share their quantisation.
    def same(c, op=op):
        x = c.x(2, 3, 4)
        return c.op(op, [x, c.real_input(c.uniform((3, 1)), c.quants[x])], like=x)
    add(op.lower(), same, "f32 i8")
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((2, 3), -9, 9, t)),
                                                        c.input(c.integers((3,), -9, 9, t))], t), "int32")

# StableHLO's operators are written as they are where a composite was kept; LiteRT has kernels for these.
for op in ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"):
    add(op.lower(), lambda c, op=op: pair_of(c, op, (2, 3, 4), (2, 3, 4)))
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((2, 3), -9, 9, t)),
                                                        c.input(c.integers((2, 3), -9, 9, t))], t), "int32")

for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    def compare(c, op=op):
        x = c.real_input(c.integers((2, 3, 4), -3, 3))
        return c.op(op, [x, c.real_input(c.integers((3, 1), -3, 3), c.quants[x])], "bool")
    add(op.lower(), compare, "f32 i8" if op in ("EQUAL", "LESS") else "f32")
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((2, 5), 0, 1, t)),
                                                        c.input(c.integers((5,), 0, 1, t))], "bool"),
              "int32 bool" if op in ("EQUAL", "NOT_EQUAL") else "int32")
# Operands with quantisations of their own.
add("less_rescaled", lambda c: c.op("LESS", [c.x(2, 8, low=-1, high=1), c.x(8, low=-3, high=2)], "bool"), "i8")

for op in ("LOGICAL_AND", "LOGICAL_OR"):
    add_typed(op.lower(), lambda c, t, op=op: c.op(op, [c.input(c.integers((2, 4), 0, 1, t)),
                                                        c.input(c.integers((4,), 0, 1, t))], t), "bool")
add_typed("bitwise_xor", lambda c, t: c.op("BITWISE_XOR", [c.input(c.integers((2, 4), 0, 100, t)),
                                                           c.input(c.integers((4,), 0, 100, t))], t), "int32")
add_typed("right_shift", lambda c, t: c.op("RIGHT_SHIFT", [c.input(c.integers((2, 4), -100, 100, t)),
                                                           c.input(c.integers((2, 4), 0, 6, t))], t), "int32")
# By less than nothing and by more bits than there are.
add_typed("right_shift_far", lambda c, t: c.op("RIGHT_SHIFT", [c.input(c.integers((6, 6), -100, 100, t)),
                                                               c.input(c.integers((6, 6), -3, 70, t))], t), "int8 int16 int32")


# Choices.

def select(c, op, condition, shape):
    x = c.x(*shape)
    flags = c.input(c.integers(condition, 0, 1, "bool"))
    return c.op(op, [flags, x, c.real_input(c.uniform(shape), c.quants[x])], like=x)


add("select", lambda c: select(c, "SELECT", (2, 3, 4), (2, 3, 4)), "f32 i8")
add("select_rows", lambda c: select(c, "SELECT", (4,), (4, 3)), "f32")
add("select_v2", lambda c: select(c, "SELECT_V2", (2, 3, 4), (2, 3, 4)), "f32 i8")
add("select_v2_broadcast", lambda c: select(c, "SELECT_V2", (3, 1), (2, 3, 4)), "f32")
add("select_v2_scalar", lambda c: c.op("SELECT_V2", [c.input(c.integers((2, 4), 0, 1, "bool")), c.x(4),
                                                     c.const(-1.0, "float32")]))
add_typed("select_v2", lambda c, t: c.op("SELECT_V2", [c.input(c.integers((2, 4), 0, 1, "bool")), c.input(c.integers(
    (2, 4), 0, 9, t)), c.input(c.integers((1, 4), 0, 9, t))], t), "int32")


def prelu(c, alpha):
    return c.op("PRELU", [c.x(1, 3, 2, 4, low=-3, high=3), c.real_const(c.uniform(alpha, 0, 0.5))])


add("prelu", lambda c: prelu(c, (1, 1, 4)), "f32 i8")
add("prelu_full", lambda c: prelu(c, (3, 2, 4)))


def add_many(c):
    x = c.x(2, 3)
    return c.op("ADD_N", [x, c.x(2, 3), c.x(2, 3)])


add("add_n", add_many)
add("bitcast_f32", lambda c: c.op("BITCAST", [c.x(2, 3)], "int32"))
add("bitcast_u8", lambda c: c.op("BITCAST", [c.input(c.integers((2, 4), 0, 255, "uint8"))], "int32"))


# Numbers into integers and back.

add("fake_quant", lambda c: c.op("FAKE_QUANT", [c.x(2, 3, 4, low=-2, high=2)], min=-1.0, max=1.5, numBits=8, narrowRange=False))
for bits in (4, 8):
    add(f"fake_quant_even_{bits}", lambda c, bits=bits: c.op("FAKE_QUANT", [c.x(2, 3, 4, low=-2, high=2)], min=-1.0, max=1.0,
                                                             numBits=bits, narrowRange=False))


def quantize(c):
    """Some numbers are outside of what the integers can say."""
    x = c.input(c.uniform((2, 3, 5), -3, 3))
    return c.op("QUANTIZE" if c.integer else "NEG", [x], one_scale(c.integer, -2.5, 2.9) if c.integer else "real")


add("quantize", quantize, INT)
add("dequantize", lambda c: c.op("DEQUANTIZE" if c.integer else "NEG", [c.x(2, 3, 5)], "float32"), INT)
add("dequantize_f16", lambda c: c.op("DEQUANTIZE", [c.input(c.uniform((2, 3)).astype(np.float16))], "float32"))


def requantize(c):
    x = c.input(np.arange(-128, 128, 3).astype(np.int8), Quant((0.02,), (5,)))
    y = c.add_tensor("int8", c.shapes[1] if c.shapes else (), quant=Quant((0.033,), (-20,)))
    z = c.add_tensor("uint8", c.shapes[2] if c.shapes else (), quant=Quant((0.02,), (133,)))
    c.graph.operator("QUANTIZE", [x], [y])
    c.graph.operator("QUANTIZE", [x], [z])
    return [y, z]


add("requantize", requantize)
