"""Nets of convolutions, pools, moves and what exporters write between them, with open batch and extents. For compare.py."""
from typing import NamedTuple

import numpy as np
from net import FLOAT, Net

MOST_CHANNELS = 32


class Picture(NamedTuple):
    value: str       # [batch, channels, height, width]
    channels: int
    shape: int       # Equal numbers: equal heights and widths.
    least: int       # No extent is smaller at any size that is run.


def new_shape(net):
    net.shapes += 1
    return net.shapes


def window(net, x, largest):
    """Size, stride, pad and the least extent of a result, or nothing where the window might not fit."""
    size, stride, pad = net.random.randint(1, largest), net.pick(1, 1, 2), net.random.randint(0, 1)
    pad = min(pad, size // 2)
    rest = x.least + 2 * pad - size
    return (size, stride, pad, rest // stride + 1) if rest >= 0 else None


def convolve(net, _, x):
    fitted = window(net, x, 5)
    if not fitted:
        return []
    size, stride, pad, least = fitted
    groups = net.pick(1, 1, x.channels, 2 if x.channels % 2 == 0 else 1)
    channels = groups * (net.pick(1, 2, 4, 6) if groups < x.channels or groups == 1 else net.pick(1, 2))
    if channels > MOST_CHANNELS:
        return []
    inputs = [x.value, net.weights(channels, x.channels // groups, size, size)]
    if net.chance(0.7):
        inputs.append(net.weights(channels))
    keeps = stride == 1 and 2 * pad == size - 1
    y = net.node("Conv", inputs, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups)
    return [Picture(y, channels, x.shape if keeps else new_shape(net), least)]


def convolve_alike(net, _, x):
    dilation = net.pick(1, 1, 2)
    groups = net.pick(1, x.channels)
    padding = {"pads": [dilation] * 4} if dilation == 2 or net.chance(0.5) else {"auto_pad": net.pick("SAME_UPPER", "SAME_LOWER")}
    y = net.node("Conv", [x.value, net.weights(x.channels, x.channels // groups, 3, 3), net.weights(x.channels)],
                 kernel_shape=[3, 3], dilations=[dilation] * 2, group=groups, **padding)
    return [x._replace(value=y)]


def convolve_back(net, _, x):
    stride, size = net.pick(1, 2), net.random.randint(2, 4)
    channels = net.pick(1, 2, 4)
    y = net.node("ConvTranspose", [x.value, net.weights(x.channels, channels, size, size)], kernel_shape=[size] * 2,
                 strides=[stride] * 2, output_padding=[stride - 1] * 2)
    return [Picture(y, channels, new_shape(net), x.least)]


def pool(net, _, x):
    fitted = window(net, x, 3)
    if not fitted:
        return []
    size, stride, pad, least = fitted
    operator = net.pick("MaxPool", "AveragePool")
    options = {"count_include_pad": net.pick(0, 1)} if operator == "AveragePool" else {}
    y = net.node(operator, [x.value], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=net.pick(0, 0, 1),
                 **options)
    return [Picture(y, x.channels, new_shape(net), least)]


def activate(net, _, x):
    v = x.value
    y = net.pick(
        lambda: net.node(net.pick("Relu", "HardSwish", "Sigmoid", "Tanh", "LeakyRelu", "Abs"), [v]),
        lambda: net.node("Clip", [v, net.const(0), net.const(6)]),
        lambda: net.node("Mul", [v, net.node("Sigmoid", [v])]),
        lambda: net.node("PRelu", [v, net.weights(x.channels, 1, 1)]),
        lambda: net.node("Softmax", [v], axis=net.pick(1, -1)),
        lambda: net.node("Mul", [net.node("Mul", [v, net.const(0.5)]), net.node("Add", [
            net.node("Erf", [net.node("Div", [v, net.const(2**0.5)])]), net.const(1)])]))()
    return [x._replace(value=y)]


def combine(net, pictures, x):
    other = net.random.choice([p for p in pictures if p.shape == x.shape and (p.channels in (1, x.channels) or x.channels == 1)])
    y = net.node(net.pick("Add", "Mul", "Sub", "Max"), [x.value, other.value])
    return [x._replace(value=y, channels=max(x.channels, other.channels))]


def join(net, pictures, x):
    other = net.random.choice([p for p in pictures if p.shape == x.shape])
    if x.channels + other.channels > MOST_CHANNELS:
        return []
    return [x._replace(value=net.node("Concat", [x.value, other.value], axis=net.pick(1, -3)), channels=x.channels + other.channels)]


def scale(net, _, x):
    factors = np.abs(net.numbers.normal(size=net.pick((x.channels, 1, 1), (1, x.channels, 1, 1), ()))) + 0.5
    return [x._replace(value=net.node(net.pick("Add", "Mul", "Sub", "Div"), [x.value, net.const(factors)]))]


def normalise(net, _, x):
    deviation = net.const(np.abs(net.numbers.normal(size=x.channels)) + 0.5)
    per_channel = [net.weights(x.channels), net.weights(x.channels)]
    if net.chance(0.7):
        return [x._replace(value=net.node("BatchNormalization", [x.value, *per_channel, net.weights(x.channels), deviation]))]
    return [x._replace(value=net.node("InstanceNormalization", [x.value, *per_channel]))]


def cut(net, _, x):
    if x.channels % 2 == 0 and net.chance(0.5):
        halves = net.node("Split", [x.value], 2, axis=1)
        return [x._replace(value=half, channels=x.channels // 2) for half in halves]
    axis, step = net.pick(2, 3), net.pick(1, 1, 2)
    y = net.node("Slice", [x.value, net.ints(net.pick(0, 1)), net.ints(net.pick(2**31, -1)), net.ints(axis), net.ints(step)])
    least = (x.least - 2) // step
    return [Picture(y, x.channels, new_shape(net), least)] if least > 0 else []


def pad(net, _, x):
    sides = [net.random.randint(0, 1) for _ in range(4)]
    y = net.node("Pad", [x.value, net.ints(0, 0, *sides[:2], 0, 0, *sides[2:])], mode=net.pick("constant", "reflect", "edge"))
    return [Picture(y, x.channels, new_shape(net), x.least)] if x.least > 1 else []


def resize(net, _, x):
    mode = net.pick("nearest", "linear", "cubic")
    options = {"nearest_mode": net.pick("floor", "round_prefer_floor")} if mode == "nearest" else {}
    y = net.node("Resize", [x.value, "", net.const([1, 1, net.pick(2, 2, 3), 2])], mode=mode,
                 coordinate_transformation_mode=net.pick("half_pixel", "asymmetric", "align_corners"), **options)
    return [Picture(y, x.channels, new_shape(net), x.least * 2)]


def last_axis(net, _, x):
    y = net.node("Transpose", [x.value], perm=[0, 2, 3, 1])
    channels = net.pick(2, 4, x.channels)
    y = net.pick(lambda: net.node("MatMul", [y, net.weights(x.channels, channels)]),
                 lambda: net.node("Softmax", [net.node("MatMul", [y, net.weights(x.channels, channels)])], axis=-1))()
    return [x._replace(value=net.node("Transpose", [y], perm=[0, 3, 1, 2]), channels=channels)]


def shuffle(net, _, x):
    if x.channels % 2:
        return []
    shape = net.node("Shape", [x.value])
    batch, extents = (net.node("Slice", [shape, net.ints(a), net.ints(b), net.ints(0)]) for a, b in ((0, 1), (2, 4)))
    y = net.node("Reshape", [x.value, net.node("Concat", [batch, net.ints(2, x.channels // 2), extents], axis=0)])
    y = net.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
    return [x._replace(value=net.node("Reshape", [y, net.node("Concat", [batch, net.ints(x.channels), extents], axis=0)]))]


def excite(net, _, x):
    y = net.pick(lambda: net.node("GlobalAveragePool", [x.value]),
                 lambda: net.node("ReduceMean", [x.value], axes=[2, 3], keepdims=1),
                 lambda: net.node("ReduceMax", [x.value], axes=[-1, -2], keepdims=1))()
    y = net.node("Sigmoid", [net.node("Conv", [y, net.weights(x.channels, x.channels, 1, 1)])])
    return [x._replace(value=net.node("Mul", [x.value, y]))]


def attend(net, _, x):
    rows = net.node("Reshape", [x.value, net.ints(0, 0, -1)])
    weights = net.node("Softmax", [net.node("MatMul", [rows, net.node("Transpose", [rows], perm=[0, 2, 1])])], axis=-1)
    return [x._replace(value=net.node("Reshape", [net.node("MatMul", [weights, rows]), net.node("Shape", [x.value])]))]


def unfold(net, _, x):
    if x.channels % 4:
        return []
    y = net.node("DepthToSpace", [x.value], blocksize=2, mode=net.pick("DCR", "CRD"))
    return [Picture(y, x.channels // 4, new_shape(net), x.least * 2)]


MOVES = ((5, convolve), (3, convolve_alike), (1, convolve_back), (2, pool), (3, activate), (2, combine), (1, join), (1, scale),
         (1, normalise), (1, cut), (1, pad), (1, resize), (1, last_axis), (1, shuffle), (1, excite), (1, attend), (1, unfold))


def draw(seed, net=None):
    net = net or Net(seed)
    net.shapes = 0
    smallest = 9
    pictures = [Picture(net.rounded("x"), 4, 0, smallest)]
    for _ in range(net.random.randint(3, 12)):
        made = net.draw(MOVES)(net, pictures, net.random.choice(pictures[-3:]))
        pictures += [one._replace(value=net.rounded(one.value)) if net.chance(0.9) else one for one in made]
    net.output(pictures[-1].value)
    net.output(net.node("ReduceMean", [net.random.choice(pictures).value], axes=[2, 3], keepdims=0))
    extents = net.pick(["n", 4, "h", "w"], ["n", 4, 12, 10], [1, 4, 12, 10])
    shapes = [(1, 4, 12, 10)]
    if extents[2] == "h":
        shapes.append((net.random.randint(1, 3), 4, net.random.randint(smallest, 17), net.random.randint(smallest, 17)))
    elif extents[0] == "n":
        shapes.append((2, 4, 12, 10))
    return net.model("x", FLOAT, extents), "x", [net.numbers.normal(size=shape).astype(np.float32) for shape in shapes]
