"""Branches and loops in each other, over lists whose lengths follow from data and from other lists. For compare.py."""
import numpy as np
from net import BOOL, FLOAT, INT64, Net
from onnx import helper

END = 2**40
# Of what values there are: lists of any length, lists of three, scalars, and counts, with their types.
KINDS = {"list": (FLOAT, [None]), "three": (FLOAT, [3]), "scalar": (FLOAT, []), "count": (INT64, [])}


class Values(dict):
    """Names by kind."""

    def any(self, net, kind):
        return net.pick(*self[kind])

    def late(self, net, kind):
        """One of the last ones rather than of those around a body."""
        return self[kind][-1] if net.chance(0.7) else self.any(net, kind)

    def inside(self):
        return Values({kind: list(names) for kind, names in self.items()})


def limited(net, count, most):
    return net.node("Max", [net.node("Min", [count, net.const(most, np.int64)]), net.const(0, np.int64)])


def as_list(net, scalar):
    return net.node("Unsqueeze", [scalar, net.ints(0)])


def length(net, values):
    return net.node("Squeeze", [net.node("Shape", [values]), net.ints(0)])


def part(net, values, begin, end, step=1):
    return net.node("Slice", [values, begin, end, net.ints(0), net.ints(step)])


def join(net, values, _):
    values["list"].append(net.node("Concat", [values.any(net, "list"), values.any(net, net.pick("list", "three"))], axis=0))


def choose(net, values, _):
    x = values.any(net, "list")
    if net.chance(0.5):
        found = net.node("NonZero", [net.node("Relu", [net.node("Neg", [x]) if net.chance(0.5) else x])])
        values["list"].append(net.node("Gather", [x, net.node("Squeeze", [found, net.ints(0)])]))
    else:
        values["list"].append(net.node("Compress", [x, net.node("Greater", [x, values.any(net, "scalar")])], axis=0))


def change(net, values, _):
    x = values.any(net, "list")
    values["list"].append(net.pick(
        lambda: net.node(net.pick("Neg", "Relu", "Abs"), [x]), lambda: net.node("Add", [x, values.any(net, "scalar")]),
        lambda: net.node("CumSum", [x, net.const(0, np.int64)]), lambda: part(net, x, net.ints(-1), net.ints(-END), -1))())


def measure(net, values, _):
    x = values.late(net, "list")
    net.pick(lambda: values["scalar"].append(net.node("ReduceSum", [x], keepdims=0)),
             lambda: values["count"].append(length(net, x)),
             lambda: values["count"].append(limited(net, net.node("Cast", [values.any(net, "scalar")], to=INT64), 6)))()


def cut(net, values, _):
    x, count = values.late(net, "list"), values.late(net, "count")
    values["list"].append(net.pick(
        lambda: part(net, x, net.ints(0), as_list(net, count)), lambda: part(net, x, as_list(net, count), net.ints(END)),
        lambda: part(net, x, net.ints(0), as_list(net, net.node("Div", [length(net, x), net.const(2, np.int64)]))),
        lambda: net.node("TopK", [x, as_list(net, net.node("Min", [length(net, x), limited(net, count, 9)]))], 2)[0])())


def make(net, values, _):
    count = limited(net, values.any(net, "count"), 6)
    values["list"].append(net.pick(
        lambda: net.node("Cast", [net.node("Range", [net.const(0, np.int64), count, net.const(1, np.int64)])], to=FLOAT),
        lambda: net.node("Expand", [values.any(net, "scalar"), as_list(net, count)]))())


def take_three(net, values, _):
    values["three"].append(net.pick(
        lambda: net.node("Mul", [values.any(net, "three"), net.node("Sign", [values.any(net, "scalar")])]),
        lambda: part(net, net.node("Concat", [values.any(net, "list"), values.any(net, "three")], axis=0), net.ints(0), net.ints(3)))())


def typed(name, kind):
    return helper.make_tensor_value_info(name, *KINDS[kind])


def kinds_of(net, most):
    return [net.pick("list", "list", "three", "scalar", "count") for _ in range(net.random.randint(1, most))]


def body(net, name, inputs, build):
    """A sub-graph of the nodes that `build` makes; it returns the outputs."""
    around, net.nodes = net.nodes, []
    outputs = build()
    inner, net.nodes = net.nodes, around
    return helper.make_graph(inner, f"{name}_{net.new_name()}", inputs, outputs)


def branch(net, values, depth):
    if depth == 0:
        return
    kinds = kinds_of(net, 2)

    def results():
        inside = values.inside()
        block(net, inside, depth - 1, net.random.randint(1, 4))
        return [typed(net.node("Identity", [inside.late(net, kind)]), kind) for kind in kinds]

    of_length = net.node("Less", [values.late(net, "count"), net.const(net.random.randint(0, 5), np.int64)])
    of_data = net.node("Greater", [values.any(net, "scalar"), net.const(net.random.randint(-2, 2))])
    bodies = {name: body(net, name, [], results) for name in ("then_branch", "else_branch")}
    made = net.node("If", [net.pick(of_length, of_data)], len(kinds), **bodies)
    for kind, name in zip(kinds, [made] if len(kinds) == 1 else made, strict=True):
        values[kind].append(name)


def repeat(net, values, depth):
    if depth == 0:
        return
    kinds = kinds_of(net, 3)
    rows = [net.pick("scalar", "three", "count") for _ in range(net.random.randint(0, 2))]
    iteration, go_on, *carried = (net.new_name() for _ in range(2 + len(kinds)))

    def results():
        inside = values.inside()
        for kind, name in [*zip(kinds, carried, strict=True), ("count", iteration)]:
            inside[kind].append(name)
        block(net, inside, depth - 1, net.random.randint(1, 5))
        ends = net.chance(0.3)
        condition = net.node("Less", [inside["scalar"][-1], net.const(20)]) if ends else net.node("Identity", [go_on])
        outputs = [helper.make_tensor_value_info(condition, BOOL, [])]
        for kind in [*kinds, *rows]:
            value = inside.late(net, kind)
            bounds = {"list": lambda value=value: part(net, value, net.ints(0), net.ints(40)),
                      "scalar": lambda value=value: net.node("Clip", [value, net.const(-50), net.const(50)])}
            outputs.append(typed(net.node("Identity", [bounds.get(kind, lambda value=value: value)()]), kind))
        return outputs

    inputs = [helper.make_tensor_value_info(iteration, INT64, []), helper.make_tensor_value_info(go_on, BOOL, []),
              *(typed(name, kind) for name, kind in zip(carried, kinds, strict=True))]
    trips = limited(net, values.any(net, "count"), net.random.randint(1, 4))
    loop = body(net, "body", inputs, results)
    # Many lists have three elements at first, and others after an iteration.
    first = [values.any(net, net.pick("list", "three") if kind == "list" else kind) for kind in kinds]
    made = net.node("Loop", [trips, "", *first], len(kinds) + len(rows), body=loop)
    made = [made] if isinstance(made, str) else made
    for kind, name in zip(kinds, made, strict=False):
        values[kind].append(name)
    for kind, name in zip(rows, made[len(kinds):], strict=True):
        flat = net.node("Reshape", [name, net.ints(-1)])
        values["list"].append(net.node("Cast", [flat], to=FLOAT) if kind == "count" else flat)


MOVES = ((2, join), (3, choose), (3, change), (3, measure), (3, cut), (2, make), (1, take_three), (2, branch), (2, repeat))


def block(net, values, depth, steps):
    for _ in range(steps):
        net.draw(MOVES)(net, values, depth)


def draw(seed):
    net = Net(seed)
    values = Values(list=["x"], three=[net.const([1, -2, 3])], scalar=[net.node("ReduceSum", ["x"], keepdims=0)],
                    count=[length(net, "x"), net.const(net.random.randint(0, 4), np.int64)])
    values["list"] += [net.const(np.zeros(0)), net.const([2, -1])]
    block(net, values, 2, net.random.randint(4, 12))
    for kind, (dtype, _) in KINDS.items():
        for value in dict.fromkeys(values[kind][-2:]):
            net.output(value, dtype)
    inputs = [net.numbers.integers(-3, 4, size).astype(np.float32) for size in (1, 2, net.random.randint(3, 6), 2)]
    return net.model("x", FLOAT, ["n"]), "x", inputs
