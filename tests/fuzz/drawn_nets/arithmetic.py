"""Arithmetic on sizes, with numbers up to the ends of i64 and i32, which becomes extents and a condition. For compare.py.

Left out because ONNX Runtime rounds them or takes what the processor gives: sums and products of a list in i64, and reals beyond
an integer type.
"""
from typing import NamedTuple

import numpy as np
from net import BOOL, DTYPES, FLOAT, INT32, INT64, Net

LARGE = {INT64: (255, 65536, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -2**63), INT32: (255, 65536, 2**31 - 1, -2**31)}
LONGEST = 6


class List(NamedTuple):
    value: str
    dtype: int
    count: int


def numbers(net, dtype, count):
    values = [net.pick(*LARGE[dtype]) if net.chance(0.3) else net.random.randint(-3, 8) for _ in range(count)]
    return List(net.const(values, DTYPES[dtype]), dtype, count)


def partner(net, lists, of):
    """Another list that can be broadcast with this one, or numbers."""
    fitting = [other for other in lists if other.dtype == of.dtype and (other.count in (1, of.count) or of.count == 1)]
    return net.random.choice(fitting) if net.chance(0.5) else numbers(net, of.dtype, net.pick(1, of.count))


def pairwise(net, lists, x):
    other = partner(net, lists, x)
    operands = [x.value, other.value]
    if net.chance(0.3):
        operands.reverse()
    return List(net.node(net.pick("Add", "Sub", "Mul", "Min", "Max"), operands), x.dtype, max(x.count, other.count))


def divide(net, _, x):
    divisors = net.const([net.random.randint(1, 9) for _ in range(x.count)], DTYPES[x.dtype])
    if net.chance(0.5):
        return List(net.node("Div", [x.value, divisors]), x.dtype, x.count)
    return List(net.node("Mod", [x.value, divisors], fmod=net.pick(0, 1)), x.dtype, x.count)


def cast(net, _, x):
    dtype = net.pick(INT32, INT64)
    return List(net.node("Cast", [x.value], to=dtype), dtype, x.count)


def gather(net, _, x):
    places = [net.random.randrange(-x.count, x.count) for _ in range(net.random.randint(1, 3))]
    return List(net.node("Gather", [x.value, net.ints(*places)], axis=0), x.dtype, len(places))


def join(net, lists, x):
    other = partner(net, lists, x)
    if x.count + other.count > LONGEST:
        return None
    return List(net.node("Concat", [x.value, other.value], axis=0), x.dtype, x.count + other.count)


def least(net, _, x):
    return List(net.node(net.pick("ReduceMin", "ReduceMax"), [x.value], axes=[0], keepdims=1), x.dtype, 1)


def select(net, _, x):
    which = net.node(net.pick("Less", "Greater", "Equal"), [x.value, numbers(net, x.dtype, net.pick(1, x.count)).value])
    if net.chance(0.3):
        return List(net.node("Cast", [net.node("Cast", [which], to=BOOL)], to=INT64), INT64, x.count)
    other = numbers(net, x.dtype, net.pick(1, x.count))
    return List(net.node("Where", [which, x.value, other.value]), x.dtype, x.count)


MOVES = ((5, pairwise), (2, divide), (2, cast), (1, gather), (1, join), (1, least), (1, select))


def draw(seed):
    net = Net(seed)
    lists = [List(net.node("Shape", ["x"]), INT64, 3)]
    for _ in range(net.random.randint(3, 14)):
        made = net.draw(MOVES)(net, lists, net.random.choice(lists[-4:]))
        if made:
            lists.append(made)
    for made in lists[-3:]:
        net.output(made.value, made.dtype)
    wide = net.node("Cast", [lists[-1].value], to=INT64)
    smallest = net.node("ReduceMin", [wide], axes=[0], keepdims=0)
    condition = net.node("Less", [smallest, net.const(net.pick(0, 1, 5), np.int64)])
    net.output(net.choice(condition, "Neg", "Abs", "x"))
    small = net.node("Min", [net.node("Max", [wide, net.ints(0)]), net.ints(6)])
    net.output(net.node("ConstantOfShape", [small]))
    inputs = [np.ones(shape, np.float32) for shape in ((1, 1, 4), (3, 2, 4), (5, 7, 4))]
    return net.model("x", FLOAT, ["a", "b", 4]), "x", inputs
