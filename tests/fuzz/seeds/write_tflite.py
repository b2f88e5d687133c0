#!/usr/bin/env python3
"""Writes seeds of fuzz_tflite: what no case of the importer's tests has of operators, element types and ways to store constants,
and mistakes, each of which the importer has to refuse. Needs flatc, as the build does.

usage: write_tflite.py FOLDER      tests/fuzz/seeds/tflite/graphs
"""
import argparse
import json
import os
import struct
import subprocess
import tempfile

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../converter/import/tflite/schema.fbs")
LARGEST = 2**31 - 1
FORMATS = dict(FLOAT32="f", INT32="i", INT64="q", INT16="h", INT8="b", UINT8="B", BOOL="?")


class T:
    """A tensor: of the model's inputs where it has no `data` and nothing makes it."""

    def __init__(self, *shape, kind="FLOAT32", data=None, raw=None, **more):
        self.table = dict(shape=list(shape), type=kind, **more)
        self.raw = raw
        if data is not None:
            numbers = data if isinstance(data, list) else [data]
            self.raw = list(struct.pack(f"<{len(numbers)}{FORMATS[kind]}", *numbers))


def ints(*numbers):
    return T(len(numbers), kind="INT32", data=list(numbers))


def number(value):
    return T(kind="INT32", data=value)


def scaled(*shape, kind="INT8", scale=0.5, zero=0, **more):
    return T(*shape, kind=kind, quantization=dict(scale=[scale], zero_point=[zero]), **more)


class Op:
    """An operator: its name, or that of a custom one after a colon; names of its inputs and outputs, "" where one is left out."""

    def __init__(self, name, inputs, outputs, options=None, custom=None, **fields):
        self.name, self.inputs, self.outputs = name, inputs.split(","), outputs.split(",") if outputs else []
        self.options, self.custom, self.fields = options, custom, fields


def option(name, **fields):
    return dict(options_type=name + "Options", options=fields)


class Graph:
    def __init__(self, ops, outputs, more=(), inputs=None, **tensors):
        """`more`: operators of other subgraphs; None as inputs: what nothing makes."""
        self.ops, self.outputs, self.more, self.inputs, self.tensors = ops, outputs.split(","), more, inputs, tensors


def model_of(graph):
    codes, buffers, subgraphs = [], [{}], []
    for part in [graph, *graph.more]:
        names = list(part.tensors)
        made = {name for op in part.ops for name in op.outputs}
        inputs = part.inputs.split(",") if part.inputs else [
            name for name in names if name not in made and part.tensors[name].raw is None and "is_variable" not in part.tensors[name].table]
        tensors = []
        for name, tensor in part.tensors.items():
            table = dict(tensor.table, name=name, buffer=0)
            if isinstance(tensor.raw, dict):
                table["buffer"] = len(buffers)
                buffers.append(tensor.raw)
            elif tensor.raw is not None:
                table["buffer"] = len(buffers)
                buffers.append(dict(data=tensor.raw))
            tensors.append(table)
        places = {name: place for place, name in enumerate(names)}
        places[""] = -1
        operators = []
        for op in part.ops:
            code = dict(builtin="CUSTOM", custom=op.name[1:]) if op.name[0] == ":" else dict(builtin=op.name)
            if code not in codes:
                codes.append(code)
            made_of = dict(code=codes.index(code), inputs=[places[name] for name in op.inputs],
                           outputs=[places[name] for name in op.outputs], **(op.options or {}), **op.fields)
            if op.custom is not None:
                made_of["custom_options"] = list(op.custom)
            operators.append(made_of)
        subgraphs.append(dict(name="g", tensors=tensors, inputs=[places[name] for name in inputs],
                              outputs=[places[name] for name in part.outputs], operators=operators))
    return dict(version=3, operator_codes=codes, subgraphs=subgraphs, buffers=buffers)


def flex(kind, value):
    """A FlexBuffers map {"x": value}, of which the value lies elsewhere: `kind` 6, 7, 8 are int, uint, float; floats have 4 bytes."""
    packed = struct.pack("<f", value) if kind == 8 else bytes([value])
    keys = bytes([ord("x"), 0, 1, 3])
    at = len(keys) + len(packed) + 3
    return keys + packed + bytes([at - 3 - 3, 1, 1, at - 4, kind << 2 | (2 if kind == 8 else 0), 2, 36, 1])


def flex_map(**numbers):
    """A FlexBuffers map of floats, all parts 4 bytes wide."""
    names = sorted(numbers)
    text = "".join(name + "\0" for name in names).encode()
    text += bytes(-len(text) % 4)
    keys_at, starts = len(text) + 4, [text.index(name.encode() + b"\0") for name in names]
    keys = struct.pack(f"<{1 + len(names)}I", len(names), *[keys_at + 4 * i - start for i, start in enumerate(starts)])
    map_at = len(text) + len(keys)
    values = struct.pack("<3I", map_at - keys_at, 4, len(names)) + struct.pack(f"<{len(names)}f", *[numbers[name] for name in names])
    types = bytes([3 << 2 | 2] * len(names))
    types += bytes(-len(types) % 4)
    whole = text + keys + values + types
    return whole + struct.pack("<I", len(whole) - map_at - 12) + bytes([9 << 2 | 2, 4])


X = T(2, 3)
Y = T(2, 3)
OPEN = T(1, 3, shape_signature=[-1, 3])
INDEX = T(1, kind="INT32")
WINDOW = struct.pack("<3i", 1, 2, 2)
NEG = Op("NEG", "x", "y")


def kept(**outputs):
    return Graph([Op(":fuzz::Kept", "x", ",".join(outputs))], ",".join(outputs), x=X, **outputs)


def slice_of(start, size, x=X):
    return Graph([Op("SLICE", "x,start,size", "y")], "y", x=x, start=start, size=size, y=Y)


def constant(tensor, **tensors):
    """y = x + w."""
    return Graph([Op("ADD", "x,w", "y")], "y", x=T(2, 4), w=tensor, y=T(2, 4), **tensors)


def sparse(order, dimensions, blocks=None, values=(1.0,), shape=(2, 4)):
    sparsity = dict(traversal_order=order, dimensions=dimensions)
    if blocks is not None:
        sparsity["block_map"] = blocks
    return constant(T(*shape, data=list(values), sparsity=sparsity))


def transposed(*extents, input=0, stride=1):
    """A TRANSPOSE_CONV of one weight whose output is to have these extents."""
    return Graph(
        [Op("TRANSPOSE_CONV", "shape,w,x", "y", option("TransposeConv", padding="SAME", stride_w=stride, stride_h=stride))], "y",
        shape=T(4, kind="INT64", data=[1, *extents, 1]), w=T(1, 1, 1, 1, data=[1.0]), x=T(1, input, input, 1), y=T(1, 4, 4, 1))


def volume_transposed(*extents, taps, stride):
    """A CONV_3D_TRANSPOSE of taps along the depth, of a volume without planes, whose output is to have these extents."""
    options = option("Conv3D", padding="SAME", stride_d=stride, stride_w=stride, stride_h=stride, dilation_d=1, dilation_w=1, dilation_h=1)
    return Graph([Op("CONV_3D_TRANSPOSE", "shape,w,x", "y", options)], "y", shape=T(5, kind="INT64", data=[1, *extents, 1]),
                 w=T(taps, 1, 1, 1, 1, data=[1.0] * taps), x=T(1, 0, 1, 1, 1), y=T(1, 1, 1, 1, 1))


def dense(size):
    return dict(format="DENSE", dense_size=size)


def csr(segments, indices, kind="Uint8Vector"):
    return dict(format="SPARSE_CSR", segments_type=kind, segments=dict(values=segments), indices_type=kind, indices=dict(values=indices))


def in_blocks(scales=2, zeros=0, size=2, **more):
    """Weights [2, 4] of 8 bits in blocks along the last axis; tensor 2 are scales, 3 zero points."""
    quantization = dict(details_type="BlockwiseQuantization", details=dict(scales=scales, zero_points=zeros, block_size=size))
    tensors = dict(scales=T(2, 2, data=[1.0, 2.0, 3.0, 4.0]), zeros=T(2, 2, kind="INT8", data=[1, 2, 3, 4]), **more)
    return Graph([Op("FULLY_CONNECTED", "x,w", "y", option("FullyConnected"))], "y", x=T(1, 4),
                 w=T(2, 4, kind="INT8", data=list(range(8)), quantization=quantization), **tensors, y=T(1, 2))


def update(slice_start=0, joined=-1, element="element", output="y"):
    """A tensor list's element is replaced: slices in front of it and behind it are joined with a new one."""
    return Graph([
        Op("RESHAPE", "index,one", "at"), Op("CONCATENATION", "at,rest", "first_size", option("Concatenation")),
        Op("SLICE", "list,zeros,first_size", "before"), Op("ADD", "index,step", "next"), Op("RESHAPE", "next,one", "next_at"),
        Op("CONCATENATION", "next_at,zero", "last_start", option("Concatenation")), Op("SLICE", "list,last_start,all", "behind"),
        *([] if element == "element" else [Op("ABS" if element == "abs" else ":Nobodys", "element", element)]),
        Op("CONCATENATION", f"before,{element},behind", output, option("Concatenation", axis=0))], "y",
        list=T(5, 2), index=T(kind="INT32"), element=T(1, 2), one=ints(1), at=INDEX, rest=ints(joined), first_size=T(2, kind="INT32"),
        zeros=ints(slice_start, slice_start), before=T(0, 2, shape_signature=[-1, 2]), step=number(1), next=T(kind="INT32"), next_at=INDEX,
        zero=ints(0), last_start=T(2, kind="INT32"), all=ints(-1, -1), behind=T(0, 2, shape_signature=[-1, 2]), y=T(5, 2),
        **({} if element == "element" else {element: T(1, 2)}))


def branches(body):
    return Graph([Op("IF", "c,x", "y", option("If", then_subgraph=1, else_subgraph=2))], "y", (body, Graph([NEG], "y", x=X, y=Y)),
                 c=T(kind="BOOL"), x=X, y=Y)


def strided(**fields):
    return Graph([Op("STRIDED_SLICE", "x,start,end,step", "y", option("StridedSlice", **fields))], "y", x=X, start=T(2, kind="INT32"),
                 end=T(2, kind="INT32"), step=ints(1, 1), y=T(3))


def suppression(overlap):
    return Graph([Op("NON_MAX_SUPPRESSION_V5", "boxes,scores,most,overlap,least,sigma", "places,found,count")], "places,found,count",
                 boxes=T(4, 4), scores=T(4), most=number(2), overlap=overlap, least=T(data=0.1), sigma=T(data=0.0),
                 places=T(2, kind="INT32"), found=T(2), count=T(kind="INT32"))


def transposed_bias(options, **weights):
    return Graph([Op(":Convolution2DTransposeBias", "x,w,b", "y", custom=options)], "y", x=T(1, 2, 2, 1),
                 w=T(1, 3, 3, 1, **(weights or dict(data=[1.0] * 9))), b=T(1, data=0.0), y=T(1, 4, 4, 1))


def detection(anchors=4, **options):
    return Graph([Op(":TFLite_Detection_PostProcess", "boxes,scores,anchors", "places,classes,found,count", custom=flex_map(**dict(dict(
        num_classes=1, max_detections=2, max_classes_per_detection=1, nms_score_threshold=0.1, nms_iou_threshold=0.5, x_scale=1, y_scale=1,
        w_scale=1, h_scale=1), **options)))], "places,classes,found,count", boxes=T(1, 4, 4), scores=T(1, 4, 2),
                 anchors=T(anchors, 4, raw=dict(offset=4, size=16 * anchors)), places=T(1, 2, 4), classes=T(1, 2), found=T(1, 2), count=T(1))


def signal(name, x, y, others=(), **options):
    more = {f"i{place}": tensor for place, tensor in enumerate(others)}
    return Graph([Op(":" + name, ",".join(["x", *more]), "y", custom=flex_map(**options))], "y", x=x, **more, y=y)


def with_auxiliary(bias="FLOAT32", steps=2):
    """A bidirectional LSTM of one unit over x and an auxiliary sequence, each of which has weights of its own."""
    names, tensors = [], dict(x=T(2, 1, 1, shape_signature=[steps, 1, 1]))

    def take(count, make):
        for _ in range(count):
            names.append(f"w{len(names)}")
            tensors[names[-1]] = make()

    def weights():
        return T(1, 1, data=[0.5])

    names.append("x")
    for _ in range(2):  # Of the gates, of the states, no peepholes, biases, no projection.
        take(8, weights)
        names.extend(["", "", ""])
        take(4, lambda: T(1, kind=bias, data=[0]))
        names.extend(["", ""])
    take(4, lambda: T(1, 1, is_variable=True))
    names.append("auxiliary")
    tensors["auxiliary"] = T(2, 1, 1)
    take(8, weights)
    return Graph([Op("BIDIRECTIONAL_SEQUENCE_LSTM", ",".join(names), "y,z",
                     option("BidirectionalSequenceLSTM", activation="TANH", time_major=True))], "y,z", **tensors, y=T(2, 1, 1), z=T(2, 1, 1))


def largest_places(kernel=2, activation=0, height=4):
    return Graph([Op(":MaxPoolingWithArgmax2D", "x", "y,i", custom=struct.pack("<6i", 2, 2, 2, kernel, kernel, activation))], "y,i",
                 x=T(1, height, 4, 1), y=T(1, height // 2, 2, 1), i=T(1, height // 2, 2, 1))


# By name.
GRAPHS = dict(
    custom_copy=Graph([Op(":fuzz::Copy", "x,x", "y", custom=[1, 2])], "y", x=OPEN, y=OPEN),
    custom_kept=kept(y=OPEN, z=scaled(2, 3), u=T(2, kind="STRING")),
    custom_flex=Graph([Op(":FlexErf", "x", "y")], "y", x=X, y=Y),
    custom_signal=Graph([Op(":SignalStacker", "x", "y")], "y", x=X, y=Y),
    fixed_one=Graph([Op("ADD", "x,fixed3", "y")], "y", x=X, fixed3=T(1), y=Y),
    fixed_half=Graph([Op("ADD", "x,fixed0_5", "y")], "y", x=INDEX, fixed0_5=INDEX, y=INDEX),
    fixed_vector=Graph([Op("ADD", "x,fixed3", "y")], "y", x=T(2), fixed3=T(2), y=T(2)),
    output_int4=Graph([NEG], "y,w", x=X, w=T(2, kind="INT4", raw=[0x21]), y=Y),
    angles_int4=Graph([Op("ATAN2", "w,w", "y")], "y", w=T(2, kind="INT4", raw=[0x21]), y=T(2, kind="INT4")),
    rank_int4=Graph([Op("RANK", "x", "y")], "y", x=X, y=T(kind="INT4")),
    update_list=update(),
    update_read_twice=update(element="abs"),
    update_unsupported=update(element="nobody"),
    update_other_start=update(slice_start=1),
    update_other_end=update(joined=3),
    update_without_output=update(output=""),
    update_two_outputs=update(output="y,"),
    body_complex=branches(Graph([Op("RFFT2D", "x,n", "z")], "z", x=X, n=ints(2, 4), z=T(2, 3, kind="COMPLEX64"))),
    body_makes_nothing=branches(Graph([NEG], "z", x=X, y=Y, z=Y, inputs="x")),
    body_variable=branches(Graph([Op("VAR_HANDLE", "", "h", option("VarHandle", shared_name="v")), Op("READ_VARIABLE", "h", "y")], "y",
                                 x=X, h=T(kind="RESOURCE"), y=Y, inputs="x")),
    once_not_computed=Graph(
        [Op("CALL_ONCE", "", "", option("CallOnce", init_subgraph=1)), Op("VAR_HANDLE", "", "h", option("VarHandle", shared_name="v")),
         Op("READ_VARIABLE", "h", "y")], "y",
        (Graph([Op("VAR_HANDLE", "", "h", option("VarHandle", shared_name="v")), Op(":fuzz::Kept", "w", "z"), Op("ASSIGN_VARIABLE", "h,z", "")],
               "h", h=T(kind="RESOURCE"), w=T(2, 3, data=[1.0] * 6), z=Y, inputs="h"),), x=X, h=T(kind="RESOURCE"), y=Y),
    convolution_bias=transposed_bias(WINDOW),
    convolution_bias_valid=transposed_bias(struct.pack("<3i", 2, 4, 4)),
    convolution_bias_far=transposed_bias(struct.pack("<3i", 1, 4, 4)),
    convolution_bias_padding=transposed_bias(struct.pack("<3i", 7, 2, 2)),
    convolution_bias_short=transposed_bias([1]),
    convolution_bias_open=transposed_bias(WINDOW, shape_signature=[1, -1, -1, 1]),
    flex_int=Graph([Op(":AudioSpectrogram", "x", "y", custom=flex(6, 5))], "y", x=X, y=Y),
    flex_uint=Graph([Op(":AudioSpectrogram", "x", "y", custom=flex(7, 5))], "y", x=X, y=Y),
    flex_float=Graph([Op(":AudioSpectrogram", "x", "y", custom=flex(8, 5))], "y", x=X, y=Y),
    suppress_soft=suppression(T(data=0.5)),
    suppress_computed=suppression(T()),
    joined_relu=Graph([Op("CONCATENATION", "x,z", "y", option("Concatenation", axis=0, activation="RELU"))], "y", x=X, z=X, y=T(4, 3)),
    joined_codes=Graph([Op("CONCATENATION", "x,z", "y", option("Concatenation", axis=0, activation="RELU6"))], "y", x=scaled(2, 3),
                       z=scaled(2, 3, scale=0.25), y=scaled(4, 3)),
    split_unequal=Graph([Op("SPLIT", "axis,x", "y,z", option("Split", num_splits=2))], "y,z", axis=number(1), x=X, y=Y, z=Y),
    split_rest=Graph([Op("SPLIT_V", "x,sizes,axis", "y,z", option("SplitV", num_splits=2))], "y,z", axis=number(0), x=OPEN,
                     sizes=ints(1, -1), y=T(1, 3), z=OPEN),
    split_rest_first=Graph([Op("SPLIT_V", "x,sizes,axis", "y,z", option("SplitV", num_splits=2))], "y,z", axis=number(0), x=OPEN,
                           sizes=ints(-1, 1), y=OPEN, z=T(1, 3)),
    pad_counts=Graph([Op("MIRROR_PAD", "x,pads", "y", option("MirrorPad", mode="SYMMETRIC"))], "y", x=X, pads=T(1, 2, kind="INT32", data=[0, 1]), y=Y),
    slice_computed_start=slice_of(T(2, kind="INT32"), ints(2, 1)),
    slice_huge=slice_of(T(2, kind="INT32"), ints(2, 2147483647)),
    slice_computed=slice_of(T(2, kind="INT32"), T(2, kind="INT32")),
    slice_negative=slice_of(ints(-1, 0), ints(1, 3)),
    slice_shrinks=strided(shrink_axis_mask=1),
    shift_right=Graph([Op("RIGHT_SHIFT", "x,z", "y")], "y", **{name: T(2, kind="UINT32") for name in "xzy"}),
    depth_open=Graph([Op("DEPTH_TO_SPACE", "x", "y", option("DepthToSpace", block_size=2))], "y",
                     x=T(1, 2, 2, 4, shape_signature=[1, -1, -1, 4]), y=T(1, 4, 4, 1, shape_signature=[1, -1, -1, 1])),
    space_open=Graph([Op("SPACE_TO_DEPTH", "x", "y", option("SpaceToDepth", block_size=2))], "y",
                     x=T(1, 2, 2, 4, shape_signature=[1, -1, -1, 4]), y=T(1, 1, 1, 16, shape_signature=[1, -1, -1, 16])),
    gather_batch=Graph([Op("GATHER", "x,i", "y", option("Gather", axis=0, batch_dims=2))], "y", x=X, i=T(2, 3, kind="INT32"), y=Y),
    gather_axes=Graph([Op("GATHER", "x,i", "y", option("Gather", axis=1, batch_dims=1))], "y", x=T(1, 1, 1, 1, 1),
                      i=T(1, 1, 1, 1, 1, kind="INT32"), y=T(1)),
    detection_many=detection(max_detections=60000, max_classes_per_detection=60000),
    detection_overlap=detection(nms_iou_threshold=0),
    detection_none=detection(anchors=0),
    spectrum_long=signal("AudioSpectrogram", T(8, 1), T(1, 1, 1), window_size=1 << 20, stride=1),
    rfft_floats=signal("SignalRfft", T(8, kind="INT16"), T(10, kind="INT16"), fft_length=8, T=0),
    rfft_length=signal("SignalRfft", T(8, kind="INT16"), T(10, kind="INT16"), fft_length=6, T=7),
    rfft_samples=signal("SignalRfft", T(8, kind="INT16"), T(10, kind="INT16"), fft_length=4, T=7),
    filter_bands=signal("SignalFilterBank", T(4, kind="UINT32"), T(2, kind="UINT64"), [T(2, kind="INT16", data=[1, 1])] * 5, num_channels=2),
    subtraction=signal("SignalFilterBankSpectralSubtraction", T(2, kind="UINT32"), T(2, kind="UINT32"), num_channels=2,
                       spectral_subtraction_bits=14, smoothing_bits=10, smoothing=-1, one_minus_smoothing=1, alternate_smoothing=1,
                       alternate_one_minus_smoothing=1, min_signal_remaining=1),
    pcan_table=signal("SignalPCAN", T(2, kind="UINT32"), T(2, kind="UINT32"), [T(2, kind="UINT32"), T(3, kind="INT16", data=[1, 2, 3])],
                      snr_shift=6),
    largest_places=largest_places(),
    largest_places_tanh=largest_places(activation=4),
    largest_places_large=largest_places(height=1 << 17),
    auxiliary=with_auxiliary(),
    auxiliary_open=with_auxiliary(steps=-1),
    auxiliary_integers=with_auxiliary(bias="INT32"),
    pool_relu=Graph([Op("AVERAGE_POOL_2D", "x", "y", option("Pool2D", stride_w=1, stride_h=1, filter_w=2, filter_h=2, activation="TANH"))],
                    "y", x=scaled(1, 4, 4, 1), y=scaled(1, 4, 4, 1)),
    shuffled=Graph([Op("FULLY_CONNECTED", "x,w", "y", option("FullyConnected", weights_format=1))], "y", x=X, w=T(3, 3, data=[1.0] * 9), y=Y),
    shuffled_relu=Graph([Op("FULLY_CONNECTED", "x,w", "y", option("FullyConnected", activation="TANH"))], "y", x=X,
                        w=T(3, 3, data=[1.0] * 9), y=Y),
    broadcast_args_long=Graph([Op("BROADCAST_ARGS", "a,b", "y")], "y", a=T(2147483647, kind="INT32"), b=T(1, kind="INT32"),
                              y=T(2147483647, kind="INT32")),
    segment_far_away=Graph([Op("SEGMENT_SUM", "x,ids", "y")], "y", x=T(1, 3), ids=T(1, kind="INT64", data=[(1 << 63) - 1]), y=Y),
    shrink_far_away=Graph([Op("STRIDED_SLICE", "x,start,end,step", "y", option("StridedSlice", shrink_axis_mask=1))], "y", x=X,
                          start=T(1, kind="INT64", data=[(1 << 63) - 1]), end=T(1, kind="INT64", data=[1]),
                          step=T(1, kind="INT64", data=[1]), y=T(3)),
    reshape_scalar=Graph([Op("RESHAPE", "x,n", "y")], "y", x=X, n=number(6), y=T(6)),
    volume_open=Graph([Op("CONV_3D", "x,w", "y", option("Conv3D", stride_d=2, stride_w=1, stride_h=1))], "y",
                      x=T(1, 4, 4, 4, 1, shape_signature=[1, -1, 4, 4, 1]), w=T(3, 1, 1, 1, 1, data=[1.0] * 3), y=T(1, 2, 4, 4, 1)),
    bias_of_64_bits=Graph([Op("FULLY_CONNECTED", "x,w,b", "y", option("FullyConnected"))], "y", x=scaled(1, 3, kind="INT16"),
                          w=scaled(2, 3, data=[1] * 6), b=T(2, kind="INT64", data=[1 << 40, 1]), y=scaled(1, 2, kind="INT16")),
    buffer_offset=constant(T(2, 4, raw=dict(offset=4, size=32))),
    buffer_outside=constant(T(2, 4, raw=dict(offset=1 << 40, size=32))),
    blocks=in_blocks(),
    blocks_zeros=in_blocks(zeros=3),
    blocks_of_none=in_blocks(size=0),
    blocks_missing=in_blocks(scales=77),
    blocks_of_blocks=in_blocks(scales=1),
    blocks_without_scales=in_blocks(scales=4, s=T(2, 0, data=[])),
    scales_of_other_inputs=Graph([NEG], "y", x=T(2, 3, kind="INT8", shape_signature=[2, 4], quantization=dict(
        scale=[0.5, 1.0, 2.0], zero_point=[0, 0, 0], axis=1)), y=T(2, 3, kind="INT8")),
    scales_of_open_inputs=Graph([NEG], "y", x=T(2, 3, kind="INT8", shape_signature=[-1, -1], quantization=dict(
        scale=[0.5, 1.0, 2.0], zero_point=[0, 0, 0], axis=1)), y=T(2, 3, kind="INT8")),
    blocks_sparse=in_blocks(scales=4, s=T(2, 2, data=[1.0], sparsity=dict(traversal_order=[0, 1], dimensions=[dense(2), dense(2)]))),
    blocks_negative=in_blocks(scales=4, s=T(2, 2, data=[1.0, -1.0, 1.0, 1.0])),
    blocks_uneven=in_blocks(size=3),
    blocks_long=in_blocks(size=8),
    blocks_of_texts=in_blocks(scales=4, s=T(2, 2, kind="STRING", raw=[1])),
    blocks_zero_outside=in_blocks(zeros=4, s=T(2, 2, kind="INT32", data=[1, 2, 3, 400])),
    type_int2=constant(T(2, 4, kind="INT2", raw=[0x1B, 0xE4], quantization=dict(scale=[0.5], zero_point=[0]))),
    type_variant=constant(T(2, 4, kind="VARIANT", raw=[1])),
    type_bfloat16=constant(T(2, 4, kind="BFLOAT16", raw=[0] * 16)),
    type_int4=constant(T(2, 4, kind="UINT4", raw=[0] * 4)),
    scales_of_rows=constant(T(2, 4, kind="INT8", data=[1] * 8, quantization=dict(scale=[0.5, 1.0, 2.0], zero_point=[0], axis=0))),
    scales_of_their_own=constant(T(2, 4, kind="INT8", data=[1] * 8, quantization=dict(
        scale=[0.5], details_type="CustomQuantization", details={}))),
    sparse_8=sparse([0, 1], [dense(2), csr([0, 1, 2], [0, 3])], values=(1.0, 2.0)),
    sparse_16=sparse([0, 1], [dense(2), csr([0, 1, 2], [0, 3], "Uint16Vector")], values=(1.0, 2.0)),
    sparse_nothing=sparse([0, 1], [dense(2), dict(format="SPARSE_CSR")]),
    sparse_short=sparse([0, 1], [dense(2), csr([0, 1, 2], [0, 3])]),
    sparse_outside=sparse([0, 1], [dense(2), csr([0, 1, 2], [0, 30])], values=(1.0, 2.0)),
    sparse_dimensions=sparse([0], [dense(2)]),
    sparse_blocks=sparse([0, 1, 2, 3], [dense(1), csr([0, 1], [1]), dense(2), dense(2)], [0, 1], values=(1.0, 2.0, 3.0, 4.0)),
    sparse_block_axis=sparse([0, 1, 2], [dense(2), dense(4), dense(1)], [7]),
    sparse_block_empty=sparse([0, 1, 2], [dense(2), dense(4), dense(0)], [1]),
    sparse_block_twice=sparse([0, 1, 2, 3], [dense(2), dense(4), dense(1), dense(1)], [1, 1]),
    sparse_axis_twice=sparse([0, 0], [dense(2), dense(2)]),
    sparse_far_outside=sparse([0, 1], [dense(2), csr([0, 1, 2], [0, 2147483647], "Int32Vector")], values=(1.0, 2.0)),
    sparse_order=sparse([0, 9], [dense(2), dense(4)]),
    sparse_long=sparse([0, 1], [dense(2), dense(40)]),
    sparse_behind_zero=sparse([0, 1, 2, 3], [dense(0), dense(LARGEST), dense(LARGEST), dense(LARGEST)], shape=(0, LARGEST, LARGEST, LARGEST)),
    transposed_to_least=transposed(-2**63, -2**63),
    transposed_to_most=transposed(2**63 - 1, 2**63 - 1, stride=3),
    volume_transposed_to_most=volume_transposed(2**63 - 1, 2**63 - 1, 2**63 - 1, taps=2, stride=3),
    volume_transposed_depth_to_most=volume_transposed(2**63 - 1, 1, 1, taps=3, stride=2),
    sparse_int4=constant(T(2, 4, kind="INT4", raw=[1], sparsity=dict(traversal_order=[0, 1], dimensions=[dense(2), dense(4)]))),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as texts:
        paths = []
        for name, graph in GRAPHS.items():
            paths.append(os.path.join(texts, name + ".json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(model_of(graph), file)
        subprocess.run(["flatc", "--binary", "-o", texts, SCHEMA, *paths], check=True)
        for name in GRAPHS:
            with open(os.path.join(texts, name + ".bin"), "rb") as made, open(os.path.join(folder, name + ".tflite"), "wb") as file:
                file.write(made.read())


if __name__ == "__main__":
    main()
