"""Cases of CONV_3D and CONV_3D_TRANSPOSE."""
from custom_case import add


def options(stride, dilation, padding, activation):
    return dict(strideD=stride[0], strideH=stride[1], strideW=stride[2], dilationDFactor=dilation[0], dilationHFactor=dilation[1],
                dilationWFactor=dilation[2], padding=padding, fusedActivationFunction=activation)


def conv(c, shape, x=(1, 4, 5, 6, 2), kernel=(3, 3, 3), channels=3, stride=(1, 1, 1), dilation=(1, 1, 1), padding="SAME",
         bias=True, activation="NONE"):
    inputs = [c.x(*x), c.const(c.uniform((*kernel, x[4], channels)))]
    if bias:
        inputs.append(c.const(c.uniform((channels,))))
    return [c.op("CONV_3D", inputs, "float32", shape=shape, **options(stride, dilation, padding, activation))], None


for name, parameters in [
        ("same", {"shape": (1, 4, 5, 6, 3)}),
        ("valid", {"shape": (1, 2, 3, 4, 3), "padding": "VALID"}),
        ("stride", {"shape": (1, 2, 3, 2, 3), "stride": (2, 2, 3), "bias": False}),
        ("stride_odd", {"shape": (1, 3, 3, 3, 3), "x": (1, 5, 5, 6, 2), "stride": (2, 2, 2), "kernel": (2, 2, 3)}),
        ("dilated", {"shape": (2, 6, 5, 6, 3), "x": (2, 6, 5, 6, 2), "dilation": (2, 1, 2), "activation": "RELU6"}),
        ("one", {"shape": (1, 4, 5, 6, 3), "kernel": (1, 1, 1), "activation": "RELU"})]:
    add("conv_3d_" + name, lambda c, parameters=parameters: conv(c, **parameters))


def transposed(c, shape, x=(1, 3, 2, 4, 2), kernel=(3, 3, 3), stride=(2, 2, 2), padding="SAME", bias=False, activation="NONE"):
    inputs = [c.ints(*shape), c.const(c.uniform((*kernel, shape[4], x[4]))), c.x(*x)]
    if bias:
        inputs.append(c.const(c.uniform((shape[4],))))
    return [c.op("CONV_3D_TRANSPOSE", inputs, "float32", shape=shape, **options(stride, (1, 1, 1), padding, activation))], None


for name, parameters in [
        ("same", {"shape": (1, 6, 4, 8, 3)}),
        ("same_odd", {"shape": (1, 5, 3, 7, 3)}),
        ("valid", {"shape": (1, 7, 5, 9, 3), "padding": "VALID"}),
        ("valid_more", {"shape": (1, 8, 6, 10, 3), "padding": "VALID"}),
        ("bias", {"shape": (2, 3, 4, 12, 1), "x": (2, 3, 2, 4, 3), "stride": (1, 2, 3), "bias": True, "activation": "RELU"}),
        ("small_kernel", {"shape": (1, 6, 4, 8, 3), "kernel": (1, 2, 1)})]:
    add("conv_3d_transpose_" + name, lambda c, parameters=parameters: transposed(c, **parameters))
