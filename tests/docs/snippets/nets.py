"""The files that the documentation's Python has beside it."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def write(path, nodes, inputs, outputs, constants):
    typed = lambda ports: [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in ports]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", typed(inputs), typed(outputs), tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def random(*shape):
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


def write_bert(path="bert.onnx"):
    """ids and mask [batch, seq] to logits [batch, seq, 3]. Returns such inputs."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Cast", ["mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["masked"]),
        helper.make_node("MatMul", ["masked", "w"], ["logits"]),
    ]
    ports = [(name, TensorProto.INT64, ["batch", "seq"]) for name in ("ids", "mask")]
    constants = {"table": random(100, 8), "w": random(8, 3), "last": np.array([-1], np.int64)}
    write(path, nodes, ports, [("logits", TensorProto.FLOAT, ["batch", "seq", 3])], constants)
    return np.arange(5, dtype=np.int64)[None], np.ones((1, 5), np.int64)


def write_classifier(path="net.onnx", size=224):
    """image [1, 3, size, size] to logits [1, 10]. Returns such an input."""
    nodes = [
        helper.make_node("Conv", ["image", "filters"], ["planes"], strides=[8, 8]),
        helper.make_node("Relu", ["planes"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["means"]),
        helper.make_node("Flatten", ["means"], ["row"]),
        helper.make_node("MatMul", ["row", "w"], ["logits"]),
    ]
    constants = {"filters": random(8, 3, 8, 8), "w": random(8, 10)}
    write(path, nodes, [("image", TensorProto.FLOAT, ["batch", 3, size, size])], [("logits", TensorProto.FLOAT, ["batch", 10])], constants)
    return random(1, 3, size, size)


def write_rows(path="net.onnx"):
    """x [n, 4] to y [n, 8]. Returns what computes it."""
    w = random(4, 8)
    ports = [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 8])]
    write(path, [helper.make_node("MatMul", ["x", "w"], ["y"])], *ports, {"w": w})
    return lambda x: x @ w


def write_photos(folder="photos"):
    import pathlib

    from PIL import Image

    pathlib.Path(folder).mkdir()
    for i in range(4):
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (40, 60, 3), np.uint8)).save(f"{folder}/{i}.png")
