"""Cases of convolutions, pooling, and resizing. Everything is NHWC."""
import numpy as np
from case_builder import add
from tflite_writer import Quant

ALL = "f32 i8 u8 i16 dyn f16"
SOME = "f32 i8"


def conv(c, x=(1, 6, 5, 3), kernel=(3, 3), channels=4, groups=1, stride=(1, 1), dilation=(1, 1), padding="SAME",
         activation="NONE", per_tensor=False, bias_rank=1):
    x_tensor = c.x(*x)
    w = c.weights(c.uniform((channels, *kernel, x[3] // groups)), 0, per_tensor)
    # CONV_2D has to have a bias in LiteRT, which counts its elements.
    b = c.bias(c.uniform((1,) * (bias_rank - 1) + (channels,)), x_tensor, w)
    return c.op("CONV_2D", [x_tensor, w, b], strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                dilationWFactor=dilation[1], padding=padding, fusedActivationFunction=activation)


def depthwise(c, x=(1, 6, 5, 3), kernel=(3, 3), multiplier=1, bias=True, stride=(1, 1), dilation=(1, 1), padding="SAME",
              activation="NONE", per_tensor=False):
    x_tensor = c.x(*x)
    w = c.weights(c.uniform((1, *kernel, x[3] * multiplier)), 3, per_tensor)
    inputs = [x_tensor, w]
    if bias:
        inputs.append(c.bias(c.uniform((x[3] * multiplier,)), x_tensor, w))
    return c.op("DEPTHWISE_CONV_2D", inputs, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                dilationWFactor=dilation[1], padding=padding, depthMultiplier=multiplier, fusedActivationFunction=activation)


def add_case(function, name, forms, **parameters):
    add(name, lambda c: function(c, **parameters), forms)


for name, forms, parameters in [
        ("conv_2d_same", ALL + " i8w4 dyn4", {}),
        ("conv_2d_valid", SOME, {"padding": "VALID"}),
        ("conv_2d_1x1", SOME, {"kernel": (1, 1)}),
        ("conv_2d_stride_even", SOME, {"x": (1, 6, 8, 2), "stride": (2, 2)}),
        ("conv_2d_stride_odd", "f32", {"x": (1, 7, 9, 2), "stride": (2, 2)}),
        ("conv_2d_stride_valid", "f32", {"x": (1, 6, 7, 2), "stride": (2, 3), "padding": "VALID"}),
        ("conv_2d_even_kernel", "f32", {"kernel": (2, 4), "stride": (1, 2)}),
        ("conv_2d_dilated", SOME, {"x": (1, 7, 8, 2), "dilation": (2, 3)}),
        ("conv_2d_dilated_valid", "f32", {"x": (1, 7, 8, 2), "dilation": (2, 2), "padding": "VALID"}),
        ("conv_2d_relu", SOME, {"activation": "RELU"}),
        ("conv_2d_relu6", "f32 u8 i16", {"activation": "RELU6"}),
        ("conv_2d_relu_n1_to_1", "i8", {"activation": "RELU_N1_TO_1"}),
        ("conv_2d_grouped", SOME, {"x": (1, 5, 4, 4), "groups": 2}),
        ("conv_2d_batch", SOME, {"x": (2, 4, 4, 2), "channels": 3}),
        ("conv_2d_bias_of_rank_4", "f32", {"bias_rank": 4}),
        ("conv_2d_bias_row", "i8", {"bias_rank": 2, "per_tensor": True}),
        ("conv_2d_per_tensor", "i8 dyn", {"per_tensor": True}),
        ("conv_2d_row", "f32", {"x": (1, 1, 12, 3), "kernel": (1, 5), "stride": (1, 2)}),
        ("conv_2d_large_stride", "f32", {"x": (1, 8, 8, 1), "kernel": (1, 1), "stride": (3, 3)})]:
    add_case(conv, name, forms, **parameters)

for name, forms, parameters in [
        ("depthwise_same", ALL + " i8w4", {}),
        ("depthwise_valid", "f32", {"padding": "VALID"}),
        ("depthwise_multiplier", SOME + " u8", {"multiplier": 2}),
        ("depthwise_one_to_many", "f32", {"x": (1, 5, 5, 1), "multiplier": 4}),
        ("depthwise_stride_even", "f32", {"x": (1, 6, 8, 2), "stride": (2, 2)}),
        ("depthwise_stride_odd", "f32", {"x": (1, 7, 5, 2), "stride": (2, 2)}),
        ("depthwise_5x5", SOME, {"x": (1, 8, 7, 2), "kernel": (5, 5), "stride": (2, 2), "activation": "RELU6"}),
        ("depthwise_dilated", SOME, {"x": (1, 7, 8, 2), "dilation": (2, 2)}),
        ("depthwise_no_bias", "i8", {"bias": False}),
        ("depthwise_relu", "f32 u8", {"activation": "RELU"}),
        ("depthwise_per_tensor", "i8", {"per_tensor": True})]:
    add_case(depthwise, name, forms, **parameters)


def conv_tanh(c):
    """LiteRT's kernels leave a fused TANH out, so that converters do not write it."""
    return c.op("TANH", [conv(c)], "signed_unit")


add("conv_2d_then_tanh", conv_tanh, "f32")


def transposed(c, x=(1, 3, 4, 2), kernel=(3, 3), channels=3, stride=(2, 2), padding="SAME", output=None, bias=False,
               activation="NONE"):
    if output is None:
        output = [x[i + 1] * stride[i] + (max(kernel[i] - stride[i], 0) if padding == "VALID" else 0) for i in range(2)]
    shape = [x[0], *output, channels]
    shape_tensor = c.ints(*shape)
    w = c.weights(c.uniform((channels, *kernel, x[3])), 0)
    x_tensor = c.x(*x)
    inputs = [shape_tensor, w, x_tensor]
    if bias:
        inputs.append(c.bias(c.uniform((channels,)), x_tensor, w))
    return c.op("TRANSPOSE_CONV", inputs, strideH=stride[0], strideW=stride[1], padding=padding,
                fusedActivationFunction=activation)


for name, forms, parameters in [
        ("transpose_conv_same", "f32 i8 u8 i16 dyn f16", {}),
        ("transpose_conv_valid", "f32", {"padding": "VALID"}),
        ("transpose_conv_bias", SOME, {"bias": True}),
        ("transpose_conv_relu", "f32", {"bias": True, "activation": "RELU"}),
        ("transpose_conv_odd_output", SOME, {"output": (5, 7)}),
        ("transpose_conv_2x2", "f32", {"kernel": (2, 2)}),
        ("transpose_conv_4x4", "f32", {"kernel": (4, 4)}),
        ("transpose_conv_stride_1", "f32", {"stride": (1, 1)}),
        ("transpose_conv_small_kernel", "f32", {"kernel": (1, 1)}),
        ("transpose_conv_valid_gap", "f32", {"padding": "VALID", "output": (8, 10)}),
        ("transpose_conv_stride_3x2", "f32", {"stride": (3, 2), "kernel": (5, 3)})]:
    add_case(transposed, name, forms, **parameters)


def there_and_back(c, x=(1, 7, 6, 2), open_shape=(1, -1, -1, 2), padding="SAME"):
    """As in a U-Net: half of an image of an open size, and from that one of the image's size."""
    image = c.x(*x, open_shape=list(open_shape))
    size = c.op("SHAPE", [image], "int32", outType=2)
    w = c.weights(c.uniform((3, 3, 3, x[3])), 0)
    half = c.op("CONV_2D", [image, w, c.bias(c.uniform((3,)), image, w)], strideH=2, strideW=2, padding=padding,
                dilationHFactor=1, dilationWFactor=1)
    back = c.weights(c.uniform((x[3], 3, 3, 3)), 0)
    return c.op("TRANSPOSE_CONV", [size, back, half, c.bias(c.uniform((x[3],)), half, back)], strideH=2, strideW=2,
                padding=padding, fusedActivationFunction="RELU")


add_case(there_and_back, "transpose_conv_open", "f32 i8")
add_case(there_and_back, "transpose_conv_open_height", "f32", open_shape=(1, -1, 6, 2))
add_case(there_and_back, "transpose_conv_open_valid", "f32", x=(1, 8, 7, 2), padding="VALID")


def conv_3d(c, x=(1, 4, 5, 4, 2), kernel=(2, 3, 3), channels=3, stride=(1, 1, 1), dilation=(1, 1, 1), padding="SAME", bias=True,
            activation="NONE"):
    inputs = [c.x(*x), c.weights(c.uniform((*kernel, x[4], channels)))]
    if bias:
        inputs.append(c.const(c.uniform((channels,))))
    return c.op("CONV_3D", inputs, strideD=stride[0], strideH=stride[1], strideW=stride[2], dilationDFactor=dilation[0],
                dilationHFactor=dilation[1], dilationWFactor=dilation[2], padding=padding, fusedActivationFunction=activation)


add_case(conv_3d, "conv_3d", "f32")
add_case(conv_3d, "conv_3d_stride", "f32", stride=(2, 2, 1), padding="VALID", activation="RELU", bias=False)
add_case(conv_3d, "conv_3d_dilated", "f32", dilation=(1, 2, 1))


def conv_3d_transposed(c, padding="SAME", output=(4, 6, 4)):
    return c.op("CONV_3D_TRANSPOSE", [c.ints(1, *output, 2), c.weights(c.uniform((2, 3, 3, 2, 3))), c.x(1, 2, 3, 2, 3),
                                      c.const(c.uniform((2,)))], strideD=2, strideH=2, strideW=2, dilationDFactor=1,
                dilationHFactor=1, dilationWFactor=1, padding=padding)


add_case(conv_3d_transposed, "conv_3d_transpose", "f32")
add_case(conv_3d_transposed, "conv_3d_transpose_valid", "f32", padding="VALID", output=(4, 7, 5))


def volume_there_and_back(c, x=(1, 6, 7, 6, 2)):
    volume = c.x(*x, open_shape=[1, -1, -1, -1, 2])
    options = {"strideD": 2, "strideH": 2, "strideW": 2, "dilationDFactor": 1, "dilationHFactor": 1, "dilationWFactor": 1,
               "padding": "VALID"}
    size = c.op("SHAPE", [volume], "int32", outType=2)
    half = c.op("CONV_3D", [volume, c.weights(c.uniform((2, 3, 3, 2, 3))), c.const(c.uniform((3,)))], **options)
    return c.op("CONV_3D_TRANSPOSE", [size, c.weights(c.uniform((2, 3, 3, 2, 3))), half, c.const(c.uniform((2,)))], **options)


add_case(volume_there_and_back, "conv_3d_transpose_open", "f32")


# Pooling.

def pool(c, op, x=(1, 6, 5, 3), window=(2, 2), stride=(2, 2), padding="VALID", activation="NONE"):
    tensor = c.x(*x, low=-2, high=2)
    return c.op(op, [tensor], like=tensor, filterHeight=window[0], filterWidth=window[1], strideH=stride[0],
                strideW=stride[1], padding=padding, fusedActivationFunction=activation)


for op, prefix, forms in (("AVERAGE_POOL_2D", "average_pool", "f32 i8 u8 i16"), ("MAX_POOL_2D", "max_pool", "f32 i8 u8 i16")):
    add_case(pool, prefix + "_valid", forms, op=op)
    add_case(pool, prefix + "_same", SOME, op=op, padding="SAME")
    add_case(pool, prefix + "_3x3_same", SOME, op=op, x=(1, 7, 6, 2), window=(3, 3), padding="SAME")
    add_case(pool, prefix + "_3x2_stride_1", "f32", op=op, window=(3, 2), stride=(1, 1), padding="SAME")
    add_case(pool, prefix + "_relu6", "f32 u8", op=op, activation="RELU6")
add_case(pool, "l2_pool_same", "f32", op="L2_POOL_2D", padding="SAME")
add_case(pool, "l2_pool_valid", "f32", op="L2_POOL_2D", window=(3, 2), stride=(1, 2))


# Resizing.

def resize(c, op, size, align=False, half=False, x=(1, 3, 4, 2)):
    tensor = c.x(*x)
    return c.op(op, [tensor, c.ints(*size)], like=tensor, alignCorners=align, halfPixelCenters=half)


for op, prefix in (("RESIZE_BILINEAR", "resize_bilinear"), ("RESIZE_NEAREST_NEIGHBOR", "resize_nearest")):
    for mode, align, half in (("", False, False), ("_align", True, False), ("_half", False, True)):
        add_case(resize, f"{prefix}_odd{mode}", "f32 i8" if half else "f32", op=op, size=(5, 7), align=align, half=half)
        add_case(resize, f"{prefix}_down{mode}", "f32", op=op, size=(2, 3), align=align, half=half, x=(1, 5, 7, 2))
    add_case(resize, f"{prefix}_double_half", "f32 u8", op=op, size=(6, 8), half=True)
    add_case(resize, f"{prefix}_to_one", "f32", op=op, size=(1, 1), align=True)
add_case(resize, "resize_bilinear_from_one", "f32", op="RESIZE_BILINEAR", size=(3, 3), x=(2, 1, 1, 3), align=True)
add_case(resize, "resize_nearest_align_half", "f32", op="RESIZE_NEAREST_NEIGHBOR", size=(5, 7), align=True, half=True)
add_case(resize, "resize_nearest_align_half_square", "f32 i8", op="RESIZE_NEAREST_NEIGHBOR", size=(7, 5), align=True, half=True, x=(2, 3, 3, 1))


# Blocks.

def blocks(c, op, x, block):
    tensor = c.x(*x)
    return c.op(op, [tensor], like=tensor, blockSize=block)


add_case(blocks, "space_to_depth", "f32 i8", op="SPACE_TO_DEPTH", x=(1, 4, 6, 2), block=2)
add_case(blocks, "space_to_depth_3", "f32", op="SPACE_TO_DEPTH", x=(2, 3, 6, 1), block=3)
add_case(blocks, "depth_to_space", "f32 i8", op="DEPTH_TO_SPACE", x=(1, 2, 3, 8), block=2)
add_case(blocks, "depth_to_space_3", "f32", op="DEPTH_TO_SPACE", x=(2, 1, 2, 9), block=3)


def to_batch(c, x=(1, 4, 5, 2), block=(2, 2), pads=((0, 0), (1, 2))):
    tensor = c.x(*x)
    return c.op("SPACE_TO_BATCH_ND", [tensor, c.ints(*block), c.const(pads, "int32")], like=tensor)


def from_batch(c, x=(4, 2, 3, 2), block=(2, 2), crops=((0, 1), (1, 0))):
    tensor = c.x(*x)
    return c.op("BATCH_TO_SPACE_ND", [tensor, c.ints(*block), c.const(crops, "int32")], like=tensor)


add_case(to_batch, "space_to_batch", "f32 i8")
add_case(to_batch, "space_to_batch_rank3", "f32", x=(2, 6, 3), block=(3,), pads=((1, 2),))
add_case(from_batch, "batch_to_space", "f32 i8")
add_case(from_batch, "batch_to_space_rank3", "f32", x=(6, 2, 3), block=(3,), crops=((1, 0),))


def blocks_of_open_size(c, x=(1, 5, 7, 2)):
    """What is missing to whole blocks is computed, and taken away again."""
    image = c.x(*x, open_shape=[1, -1, -1, 2])
    size = c.op("STRIDED_SLICE", [c.op("SHAPE", [image], "int32", outType=2), c.ints(1), c.ints(3), c.ints(1)], "int32")
    missing = c.op("FLOOR_MOD", [size, c.ints(2)], "int32")
    borders = c.op("PACK", [c.ints(0, 0), missing], "int32", axis=1, valuesCount=2)
    batches = c.op("SPACE_TO_BATCH_ND", [image, c.ints(2, 2), borders], like=image)
    return [batches, c.op("BATCH_TO_SPACE_ND", [batches, c.ints(2, 2), borders], like=image)]


add("blocks_of_open_size", blocks_of_open_size, "f32 i8")


def dilated_by_blocks(c):
    """What TensorFlow 1 made of a dilated convolution."""
    x = c.x(1, 8, 8, 2)
    spaced = c.op("SPACE_TO_BATCH_ND", [x, c.ints(2, 2), c.const([[2, 2], [2, 2]], "int32")], like=x)
    w = c.weights(c.uniform((1, 3, 3, 2)), 3)
    y = c.op("DEPTHWISE_CONV_2D", [spaced, w, c.bias(c.uniform((2,)), x, w)], strideH=1, strideW=1, padding="VALID",
             depthMultiplier=1, dilationHFactor=1, dilationWFactor=1)
    return c.op("BATCH_TO_SPACE_ND", [y, c.ints(2, 2), c.const([[0, 0], [0, 0]], "int32")], like=y)


add("dilated_by_blocks", dilated_by_blocks, SOME)


def normalise_image(c):
    """A net's usual beginning: bytes into numbers, then a convolution."""
    pixels = c.input(c.integers((1, 4, 4, 3), 0, 255, "uint8"))
    x = c.op("CAST", [pixels], "float32")
    x = c.op("MUL", [x, c.const(1 / 127.5, "float32")])
    x = c.op("SUB", [x, c.const(1.0, "float32")])
    return c.op("CONV_2D", [x, c.weights(c.uniform((2, 3, 3, 3))), c.const(np.zeros(2), "float32")], strideH=2, strideW=2,
                padding="SAME", dilationHFactor=1, dilationWFactor=1, fusedActivationFunction="RELU6")


add("image_bytes", normalise_image)


def saturated(c):
    """The result's range is narrow, so that most elements saturate."""
    x = c.x(1, 3, 3, 2)
    w = c.weights(c.uniform((2, 3, 3, 2)), 0)
    return c.op("CONV_2D", [x, w, c.bias([0, 0.5], x, w)], Quant((np.float32(0.01),), (3,)), strideH=1, strideW=1,
                padding="SAME", dilationHFactor=1, dilationWFactor=1)


add("conv_2d_saturated", saturated, "i8")
