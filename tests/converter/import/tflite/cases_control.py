"""Cases with several subgraphs, with variables, and with signatures."""
import numpy as np
from case_builder import add
from tflite_writer import Quant, schema


def subgraph(c, name, inputs, build):
    """A subgraph over tensors of these (type, shape); `build` gets the graph and their numbers, gives its outputs."""
    graph = c.model.graph(name)
    ports = [graph.tensor(dtype, shape) for dtype, shape in inputs]
    graph.table.inputs = ports
    graph.table.outputs = build(graph, ports)


def operator(graph, name, inputs, dtype, shape, /, **options):
    result = graph.tensor(dtype, shape)
    graph.operator(name, inputs, [result], **options)
    return result


def constant(graph, value, dtype="float32"):
    value = np.asarray(value, dtype)
    return graph.tensor(dtype, value.shape, value)


def choice(c, condition):
    condition = c.input(np.array(condition))
    x, y = c.x(2, 3), c.x(2, 3)
    ports = [("float32", (2, 3))] * 2
    subgraph(c, "then", ports, lambda g, p: [operator(g, "ADD", p, "float32", (2, 3))])
    subgraph(c, "else", ports, lambda g, p: [operator(g, "MUL", [p[0], operator(g, "NEG", p[1:], "float32", (2, 3))], "float32",
                                                      (2, 3))])
    return c.op("IF", [condition, x, y], shape=(2, 3), thenSubgraphIndex=1, elseSubgraphIndex=2)


add("if_true", lambda c: choice(c, True))
add("if_false", lambda c: choice(c, False))
add("if_one_element", lambda c: choice(c, [False]))


def loop(c, times):
    """Adds x to the sum `times` times; the counter and x are carried, too."""
    ports = [("int32", ()), ("float32", (2, 3)), ("float32", (2, 3))]
    limit = times
    subgraph(c, "condition", ports, lambda g, p: [operator(g, "LESS", [p[0], constant(g, limit, "int32")], "bool", ())])

    def body(g, p):
        total = operator(g, "ADD", [p[1], p[2]], "float32", (2, 3))
        return [operator(g, "ADD", [p[0], constant(g, 1, "int32")], "int32", ()), total, p[2]]

    subgraph(c, "body", ports, body)
    results = c.op("WHILE", [c.const(0, "int32"), c.x(2, 3), c.x(2, 3)], ["int32", "float32", "float32"], condSubgraphIndex=1,
                   bodySubgraphIndex=2)
    return results[1]


add("while", lambda c: loop(c, 3))
add("while_never", lambda c: loop(c, 0))


def loop_to_input(c):
    """How often is an input."""
    ports = [("int32", ()), ("int32", ()), ("float32", (3,))]
    subgraph(c, "condition", ports, lambda g, p: [operator(g, "LESS", p[:2], "bool", ())])
    subgraph(c, "body", ports, lambda g, p: [operator(g, "ADD", [p[0], constant(g, 1, "int32")], "int32", ()), p[1],
                                             operator(g, "MUL", [p[2], constant(g, 1.5)], "float32", (3,))])
    results = c.op("WHILE", [c.const(0, "int32"), c.input(np.int32(4)), c.x(3)], ["int32", "int32", "float32"],
                   condSubgraphIndex=1, bodySubgraphIndex=2)
    return [results[0], results[2]]


add("while_counted", loop_to_input)


def handle(graph):
    result = graph.tensor("resource", ())
    graph.operator("VAR_HANDLE", [], [result], container="", sharedName="total")
    return result


def variable(c, initial):
    """One step of a counter that starts at `initial`: reads it, adds the input, writes it, gives both."""
    state = handle(c.graph)
    c.quants[state], c.dtypes[state] = None, "resource"

    def initialise(graph, _):
        graph.operator("ASSIGN_VARIABLE", [handle(graph), constant(graph, initial)], [])
        return []

    subgraph(c, "initialise", [], initialise)
    c.graph.operator("CALL_ONCE", [], [], initSubgraphIndex=1)
    before = c.op("READ_VARIABLE", [state], "float32", shape=np.shape(initial))
    after = c.op("ADD", [before, c.x(*np.shape(initial))])
    c.graph.operator("ASSIGN_VARIABLE", [state, after], [])
    again = c.op("READ_VARIABLE", [state], "float32", shape=np.shape(initial))
    return [before, again]


add("variable", lambda c: variable(c, [1.0, 2.0, 3.0]))


def variable_of_codes(c):
    """What gives the variable its integers says nothing of a scale; what reads them does."""
    def initialise(graph, _):
        graph.operator("ASSIGN_VARIABLE", [handle(graph), constant(graph, [1, 2, -3], "int8")], [])
        return []

    subgraph(c, "initialise", [], initialise)
    c.graph.operator("CALL_ONCE", [], [], initSubgraphIndex=1)
    read = c.add_tensor("int8", (3,), quant=Quant((0.25,), (5,)))
    c.graph.operator("READ_VARIABLE", [handle(c.graph)], [read])
    return [read, c.op("ADD", [c.x(3), c.op("DEQUANTIZE", [read], "float32", shape=(3,))], shape=(3,))]


add("variable_of_codes", variable_of_codes)


def assigned_variable(c):
    """Nothing but the assignment in front of it gives the variable a value."""
    state = c.add_tensor("resource", ())
    c.graph.operator("VAR_HANDLE", [], [state], container="", sharedName="kept")
    x = c.x(3)
    c.graph.operator("ASSIGN_VARIABLE", [state, x], [])
    return c.op("ABS", [c.op("READ_VARIABLE", [state], shape=(3,))])


add("variable_assigned_first", assigned_variable)


def signature(c):
    """Names of a signature in another order than the subgraph's, and an open batch."""
    x = c.x(2, 3, name="serving_default_x:0", open_shape=[-1, 3])
    y = c.x(2, 3, name="serving_default_y:0", open_shape=[-1, 3])
    total, difference = c.op("ADD", [x, y]), c.op("SUB", [x, y])
    c.graph.table.tensors[total].name = "StatefulPartitionedCall:1"
    c.graph.table.tensors[difference].name = "StatefulPartitionedCall:0"
    for index in (total, difference):
        c.graph.table.tensors[index].shapeSignature = [-1, 3]

    def named(**tensors):
        maps = []
        for name, index in tensors.items():
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, index
            maps.append(entry)
        return maps

    table = schema.SignatureDefT()
    table.signatureKey, table.subgraphIndex = "serving_default", 0
    table.inputs, table.outputs = named(right=y, left=x), named(difference=difference, total=total)
    c.model.table.signatureDefs = [table]
    return [total, difference]


add("signature", signature)
add("output_is_input", lambda c: output_is_input(c))
add("output_is_constant", lambda c: [c.op("ABS", [c.x(2, 2)]), c.const([1.0, 2.0], "float32")])
add("unused_input", lambda c: unused_input(c))
add("same_output_twice", lambda c: [c.op("ABS", [c.x(2, 2)])] * 2)
add("empty_tensor", lambda c: c.op("CONCATENATION", [c.input(np.zeros((0, 3), np.float32)), c.x(2, 3)], axis=0))


def output_is_input(c):
    x = c.x(2, 2)
    return [x, c.op("NEG", [x])]


def unused_input(c):
    c.x(3)
    return c.op("NEG", [c.x(2, 2)])
