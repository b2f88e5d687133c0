"""Nets over sequences of words with open batch and length: embeddings, attention as exporters spell it, recurrent layers. For
compare.py."""
from typing import NamedTuple

import numpy as np
from net import FLOAT, INT64, Net

WORDS, WIDTH = 20, 8


class Sizes(NamedTuple):
    """Of the input: lists of one, and scalars."""
    batch: str
    length: str
    length_scalar: str


def scalar(net, number):
    return net.const(number, np.int64)


def project(net, x, inputs=WIDTH, outputs=WIDTH):
    y = net.node("MatMul", [x, net.weights(inputs, outputs)])
    return net.node("Add", [y, net.weights(outputs)]) if net.chance(0.5) else y


def places(net, sizes):
    return net.node("Range", [scalar(net, 0), sizes.length_scalar, scalar(net, 1)])


def add_positions(net, sizes, x):
    table = net.weights(64, WIDTH)
    y = net.pick(lambda: net.node("Slice", [table, net.ints(0), sizes.length, net.ints(0)]),
                 lambda: net.node("Gather", [table, places(net, sizes)], axis=0),
                 lambda: net.node("Gather", [table, net.node("CumSum", [known(net, INT64), scalar(net, 1)])], axis=0))()
    return net.node("Add", [x, y])


def known(net, dtype):
    """1 where a word is not 0."""
    return net.node("Cast", [net.node("Greater", ["words", scalar(net, 0)])], to=dtype)


def normalise(net, _, x):
    centred = net.node("Sub", [x, net.node("ReduceMean", [x], axes=[-1], keepdims=1)])
    variance = net.node("ReduceMean", [net.node("Pow", [centred, net.const(2)])], axes=[-1], keepdims=1)
    y = net.node("Div", [centred, net.node("Sqrt", [net.node("Add", [variance, net.const(1e-5)])])])
    return net.node("Add", [net.node("Mul", [y, net.weights(WIDTH)]), net.weights(WIDTH)])


def mask(net, sizes, scores):
    def of_words():
        hidden = net.node("Sub", [net.const(1), net.node("Unsqueeze", [known(net, FLOAT), net.ints(1, 2)])])
        return net.node("Add", [scores, net.node("Mul", [hidden, net.const(-1e4)])])

    def of_later_places():
        row = places(net, sizes)
        seen = net.node("LessOrEqual", [net.node("Unsqueeze", [row, net.ints(0)]), net.node("Unsqueeze", [row, net.ints(1)])])
        if net.chance(0.5):
            shape = net.node("Concat", [sizes.batch, net.ints(1), sizes.length, sizes.length], axis=0)
            seen = net.node("Expand", [net.node("Unsqueeze", [seen, net.ints(0, 1)]), shape])
        return net.node("Where", [seen, scores, net.const(-1e9)])

    def of_a_triangle():
        square = net.node("Expand", [net.const(-1e4), net.node("Concat", [sizes.length, sizes.length], axis=0)])
        return net.node("Add", [scores, net.node("Trilu", [square, scalar(net, 1)], upper=1)])

    return net.pick(of_words, of_later_places, of_a_triangle, lambda: scores)()


def attend(net, sizes, x):
    heads = net.pick(1, 2, 4)

    def split(perm):
        shape = net.node("Concat", [sizes.batch, sizes.length, net.ints(heads, WIDTH // heads)], axis=0)
        shape = shape if net.chance(0.5) else net.ints(0, 0, heads, WIDTH // heads)
        return net.node("Transpose", [net.node("Reshape", [project(net, x), shape])], perm=perm)

    scores = net.node("MatMul", [split([0, 2, 1, 3]), split([0, 2, 3, 1])])
    scores = mask(net, sizes, net.node(net.pick("Mul", "Div"), [scores, net.const(net.pick(0.5, 2))]))
    y = net.node("MatMul", [net.node("Softmax", [scores], axis=-1), split([0, 2, 1, 3])])
    shape = net.node("Concat", [sizes.batch, sizes.length, net.ints(WIDTH)], axis=0) if net.chance(0.5) else net.ints(0, 0, -1)
    y = net.node("Reshape", [net.node("Transpose", [y], perm=[0, 2, 1, 3]), shape])
    return net.node("Add", [x, project(net, y)])


def widen(net, _, x):
    y = project(net, x, outputs=16)
    if net.chance(0.3):
        values, gates = net.node("Split", [y, net.ints(8, 8)], 2, axis=-1)
        return project(net, net.node("Mul", [values, net.node("Sigmoid", [gates])]))
    erf = net.node("Erf", [net.node("Div", [y, net.const(2**0.5)])])
    y = net.pick(lambda: net.node("Relu", [y]),
                 lambda: net.node("Mul", [net.node("Mul", [y, net.const(0.5)]), net.node("Add", [erf, net.const(1)])]))()
    return net.node("Add", [x, project(net, y, inputs=16)])


def recur(net, _, x):
    operator, gates = net.pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    direction = net.pick("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    size = WIDTH // ways
    inputs = [net.node("Transpose", [x], perm=[1, 0, 2]), net.weights(ways, gates * size, WIDTH), net.weights(ways, gates * size, size)]
    if net.chance(0.7):
        inputs.append(net.weights(ways, 2 * gates * size))
    options = {"linear_before_reset": net.pick(0, 1)} if operator == "GRU" else {}
    y = net.node(operator, inputs, hidden_size=size, direction=direction, **options)
    return net.node("Reshape", [net.node("Transpose", [y], perm=[2, 0, 1, 3]), net.ints(0, 0, -1)])


def convolve(net, _, x):
    size, groups = net.pick(1, 3, 5), net.pick(1, 2, WIDTH)
    pads = net.pick([size // 2] * 2, [size - 1, 0])
    y = net.node("Conv", [net.node("Transpose", [x], perm=[0, 2, 1]), net.weights(WIDTH, WIDTH // groups, size), net.weights(WIDTH)],
                 kernel_shape=[size], pads=pads, group=groups)
    return net.node("Transpose", [net.node("Relu", [y])], perm=[0, 2, 1])


def move(net, _, x):
    def part(begin, end, step=1):
        return net.node("Slice", [x, net.ints(begin), net.ints(end), net.ints(1), net.ints(step)])
    return net.pick(lambda: part(-1, -2**63, -1), lambda: net.node("Concat", [part(1, 2**63 - 1), part(0, 1)], axis=1),
                    lambda: net.node("Concat", [part(0, 1), part(0, -1)], axis=1))()


def look(net, sizes, x):
    """Results whose extents follow from data, or are products of open ones."""
    def of_words():
        found = net.node("NonZero", [net.node("Equal", ["words", scalar(net, net.random.randint(0, 5))])])
        return net.node("GatherND", [x, net.node("Transpose", [found], perm=[1, 0])])

    def of_best():
        sums = net.node("ReduceSum", [x, net.ints(-1)], keepdims=0)
        return net.node("TopK", [sums, net.node("Min", [sizes.length, net.ints(3)])], 2, axis=1)[0]

    net.output(net.pick(of_words, of_best, lambda: net.node("Einsum", [x, x], equation=net.pick("bsd,btd->bst", "bsd,bse->bde")))())
    return x


MOVES = ((2, normalise), (4, attend), (2, widen), (2, recur), (1, convolve), (1, move), (2, look))


def draw(seed):
    net = Net(seed)
    shape = net.node("Shape", ["words"])
    sizes = Sizes(*(net.node("Gather", [shape, place], axis=0) for place in (net.ints(0), net.ints(1), scalar(net, 1))))
    x = net.node("Gather", [net.weights(WORDS, WIDTH), "words"], axis=0)
    if net.chance(0.6):
        x = add_positions(net, sizes, x)
    for _ in range(net.random.randint(1, 6)):
        x = net.draw(MOVES)(net, sizes, x)
    net.output(net.pick(lambda: net.node("ReduceMean", [x], axes=[1], keepdims=0),
                        lambda: net.node("Gather", [x, scalar(net, net.pick(0, -1))], axis=1),
                        lambda: project(net, net.node("Reshape", [x, net.ints(-1, WIDTH)]), outputs=5), lambda: x)())
    inputs = [net.numbers.integers(0, WORDS, size) for size in ((1, 1), (2, 5), (net.random.randint(1, 3), net.random.randint(2, 11)))]
    return net.model("words", INT64, ["batch", "length"]), "words", inputs
