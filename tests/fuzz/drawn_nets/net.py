"""An ONNX graph while it is drawn. For compare.py."""
import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
DTYPES = {FLOAT: np.float32, INT32: np.int32, INT64: np.int64, BOOL: np.bool_}


class Net:
    """Values are names, in the order in which they are made. Equal seeds give equal nets."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.outputs = [], [], []
        self.made = 0

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *choices):
        return self.random.choice(choices)

    def draw(self, moves):
        """One of (weight, function) pairs."""
        return self.random.choices([move for _, move in moves], [weight for weight, _ in moves])[0]

    def new_name(self):
        self.made += 1
        return f"v{self.made}"

    def const(self, value, dtype=np.float32):
        name = self.new_name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def weights(self, *shape):
        """Normal, and so small that a product keeps the size of its inputs."""
        return self.const(self.numbers.normal(size=shape) / max(1, np.prod(shape[1:])) ** 0.5)

    def rounded(self, value):
        """The value as the kind of net stores it."""
        return value

    def node(self, operator, inputs, outputs=1, **attributes):
        names = [self.new_name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, value, dtype=FLOAT):
        name = f"out{len(self.outputs)}"
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, None))

    def choice(self, condition, then_operator, else_operator, value):
        """An If whose branches apply an operator to a value around them."""
        branches = {}
        for branch, operator in (("then_branch", then_operator), ("else_branch", else_operator)):
            result = f"{branch}_{self.new_name()}"
            branches[branch] = helper.make_graph(
                [helper.make_node(operator, [value], [result])], branch, [], [helper.make_tensor_value_info(result, FLOAT, None)])
        return self.node("If", [condition], **branches)

    def model(self, name, dtype, extents):
        """The model with one input; extents that are names are open."""
        graph = helper.make_graph(self.nodes, "drawn", [helper.make_tensor_value_info(name, dtype, extents)], self.outputs,
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
