"""Cases of MediaPipe's MaxPoolingWithArgmax2D and MaxUnpooling2D, whose results are computed here."""
import struct

import numpy as np
from custom_case import add, custom


def options(kernel, stride, padding, activation=0):
    return struct.pack("<10i", {"SAME": 1, "VALID": 2}[padding], stride[1], stride[0], kernel[1], kernel[0], activation, 0, 0, 0, 0)


def pads_of(extents, kernel, stride, outputs):
    return [max((o - 1) * s + k - e, 0) // 2 for e, k, s, o in zip(extents, kernel, stride, outputs)]


def pooled(x, kernel, stride, padding):
    counts = [-(-e // s) if padding == "SAME" else (e - k + s) // s for e, k, s in zip(x.shape[1:3], kernel, stride)]
    pads = pads_of(x.shape[1:3], kernel, stride, counts)
    largest = np.full((x.shape[0], *counts, x.shape[3]), -np.inf, np.float32)
    indices = np.zeros(largest.shape, np.float32)
    for row, column in np.ndindex(*counts):
        for i, j in np.ndindex(*kernel):
            y, z = row * stride[0] - pads[0] + i, column * stride[1] - pads[1] + j
            if not (0 <= y < x.shape[1] and 0 <= z < x.shape[2]):
                continue
            better = x[:, y, z] > largest[:, row, column]
            largest[:, row, column] = np.where(better, x[:, y, z], largest[:, row, column])
            indices[:, row, column] = np.where(better, np.float32(i * kernel[1] + j) + np.float32(0.1), indices[:, row, column])
    return largest, indices


def unpooled(x, indices, kernel, stride):
    image = np.zeros((x.shape[0], x.shape[1] * kernel[0], x.shape[2] * kernel[1], x.shape[3]), np.float32)
    pads = pads_of(image.shape[1:3], kernel, stride, x.shape[1:3])
    for batch, row, column, channel in np.ndindex(*x.shape):
        i, j = divmod(int(indices[batch, row, column, channel]), kernel[1])
        y, z = row * stride[0] - pads[0] + i, column * stride[1] - pads[1] + j
        if 0 <= y < image.shape[1] and 0 <= z < image.shape[2]:
            image[batch, y, z, channel] = x[batch, row, column, channel]
    return image


def pool(c, x=(1, 4, 6, 3), kernel=(2, 2), stride=(2, 2), padding="SAME", relu=False):
    value = c.uniform(x)
    largest, indices = pooled(value, kernel, stride, padding)
    outputs = [c.result("float32", shape=largest.shape), c.result("float32", shape=indices.shape)]
    custom(c, "MaxPoolingWithArgmax2D", [c.input(value)], outputs, options(kernel, stride, padding, int(relu)))
    return outputs, [np.maximum(largest, 0) if relu else largest, indices]


def unpool(c, x=(1, 3, 2, 3), kernel=(2, 2), stride=(2, 2), high=None):
    value = c.uniform(x)
    indices = c.integers(x, 0, high or kernel[0] * kernel[1] - 1).astype(np.float32) + np.float32(0.1)
    image = unpooled(value, indices, kernel, stride)
    result = c.result("float32", shape=image.shape)
    custom(c, "MaxUnpooling2D", [c.input(value), c.input(indices)], [result], options(kernel, stride, "SAME"))
    return [result], [image]


for name, parameters in [
        ("same", {}),
        ("valid", {"x": (2, 5, 7, 2), "padding": "VALID", "relu": True}),
        ("overlap", {"x": (1, 5, 6, 2), "kernel": (3, 3)}),
        ("wide", {"x": (1, 4, 9, 1), "kernel": (2, 3), "stride": (1, 2), "padding": "VALID"})]:
    add("max_pool_argmax_" + name, lambda c, parameters=parameters: pool(c, **parameters))
for name, parameters in [
        ("plain", {}),
        ("batch", {"x": (2, 2, 3, 4), "kernel": (3, 2), "stride": (3, 2)}),
        ("overlap", {"x": (1, 3, 4, 2), "kernel": (3, 3), "stride": (2, 1)}),
        ("outside", {"x": (1, 2, 2, 2), "high": 12})]:
    add("max_unpool_" + name, lambda c, parameters=parameters: unpool(c, **parameters))
