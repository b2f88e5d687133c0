"""Cases of recurrent layers. Their states are variable tensors, which begin as zeros."""
import numpy as np
from case_builder import add, one_scale, quantised
from tflite_writer import Quant

STATE = Quant((1 / 128,), (0,))
CELL = Quant((2**-12,), (0,))
FULL = Quant((2**-15,), (0,))  # Cells saturate at 1.
NORM = Quant((np.float32(1.5 / 32767),), (0,))


def state(c, shape, dtype=None, quant=None):
    return c.add_tensor(dtype if c.integer else "float32", shape, quant=quant if c.integer else None, variable=True)


def const_of(c, value, dtype, quant):
    """Integers where the activations are."""
    return c.const(quantised(value, dtype, quant), quant=quant) if c.integer else c.const(value)


def peephole_weights(c, value):
    return const_of(c, value, "int16", one_scale("int16", -1, 1)) if c.integer else c.weights(value, per_tensor=True)


def gates(c, x, units, inputs, outputs, cifg=False, peephole=False, norm=False):
    """Operands 1 to 15: weights of the input, of the state, of the cell, and biases; for input, forget, cell and output."""
    def each(shape, bias_of=None):
        made = []
        for i in range(4):
            value = c.uniform(shape)
            if cifg and i == 0:
                made.append(None)
            elif bias_of and norm:  # It is added to what has been normalised.
                made.append(const_of(c, value, "int32", Quant((NORM.scales[0] / 1024,), (0,))))
            elif bias_of:
                made.append(c.bias(value, x, bias_of[i]))
            else:
                made.append(c.weights(value, per_tensor=True))
        return made

    of_input, of_state = each((units, inputs)), each((units, outputs))
    of_cell = [None] * 3
    if peephole:
        of_cell = [None if cifg and i == 0 else peephole_weights(c, c.uniform((units,))) for i in range(3)]
    return [*of_input, *of_state, *of_cell, *each((units,), of_input)]


def lstm(c, op="UNIDIRECTIONAL_SEQUENCE_LSTM", time_major=False, cifg=False, peephole=False, projection=0, norm=False, clip=0.0,
         projection_clip=0.0, steps=4, cell=CELL, open_time=False):
    batch, inputs, units = 2, 3, 5
    shape = (steps, batch, inputs) if time_major else (batch, steps, inputs)
    outputs = projection or units
    x = c.x(*(shape if op != "LSTM" else (batch, inputs)), open_shape=[batch, -1, inputs] if open_time else None)
    operands = [x, *gates(c, x, units, inputs, outputs, cifg, peephole, norm)]
    operands += [None, None]
    if projection:
        operands[-2] = c.weights(c.uniform((projection, units)), per_tensor=True)
        scale = c.quants[operands[-2]].scales[0] * np.float32(STATE.scales[0]) if c.integer else None
        operands[-1] = const_of(c, c.uniform((projection,)), "int32", Quant((scale,), (0,)))
    operands += [state(c, (batch, outputs), "int8", STATE), state(c, (batch, units), "int16", cell)]
    operands += [None if cifg and i == 0 else const_of(c, c.uniform((units,), 0.5, 1.5), "int16", NORM) for i in range(4)] \
        if norm else [None] * 4
    options = {"fusedActivationFunction": "TANH", "cellClip": clip, "projClip": projection_clip}
    if op != "LSTM":
        options["timeMajor"] = time_major
    y = c.op(op, operands, "signed_unit", **options)
    if c.integer:
        scratch = [c.add_tensor("int16", (), quant=CELL) for _ in range(4)] + [c.add_tensor("int8", (), quant=STATE)]
        c.graph.table.operators[-1].intermediates = scratch
    return y


for name, forms, parameters in [
        ("sequence_lstm", "f32 i8 dyn", {}), ("sequence_lstm_time_major", "f32", {"time_major": True}),
        ("sequence_lstm_cifg", "f32", {"cifg": True}), ("sequence_lstm_peephole", "f32", {"peephole": True}),
        ("sequence_lstm_projection", "f32 dyn", {"projection": 3}), ("sequence_lstm_norm", "f32", {"norm": True}),
        ("sequence_lstm_clip", "f32", {"clip": 0.3, "projection": 3, "projection_clip": 0.2}),
        ("sequence_lstm_everything", "f32", {"cifg": True, "peephole": True, "projection": 4, "norm": True, "clip": 0.5}),
        ("sequence_lstm_one_step", "f32", {"steps": 1}),
        ("sequence_lstm_no_steps", "f32", {"cifg": True, "steps": 0, "time_major": True}),
        ("sequence_lstm_normed", "i8", {"norm": True}), ("sequence_lstm_projected", "i8", {"projection": 3}),
        ("sequence_lstm_full", "i8", {"steps": 12, "cell": FULL}),
        ("sequence_lstm_full_open", "i8", {"steps": 12, "cell": FULL, "open_time": True}),
        ("sequence_lstm_full_peephole", "i8", {"steps": 12, "cell": FULL, "peephole": True}),
        ("sequence_lstm_full_projected", "i8", {"steps": 12, "cell": FULL, "projection": 3}),
        ("lstm", "f32", {"op": "LSTM"}), ("lstm_peephole", "f32", {"op": "LSTM", "peephole": True, "projection": 3})]:
    add(name, lambda c, parameters=parameters: lstm(c, **parameters), forms)


def basic_lstm(c):
    """The kernel of old nets: one product for all gates (input, cell, forget, output); its state is an ordinary input."""
    batch, inputs, units = 2, 3, 4
    of_activation, of_state = Quant((1 / 128,), (128,)), Quant((1 / 2048,), (0,))
    x = c.real_input(c.uniform((batch, inputs)), of_activation)
    previous = c.real_input(c.uniform((batch, units)), of_activation)
    w = c.weights(c.uniform((4 * units, inputs + units)))
    b = c.bias(c.uniform((4 * units,)), x, w)
    cell = c.uniform((batch, units), -2, 2)
    if c.integer:
        cell = c.input(np.rint(cell * 2048).astype(np.int16), of_state)
        kinds = [("uint8", of_activation), ("int16", of_state), ("uint8", of_activation), ("int16", Quant((1 / 4096,), (0,)))]
    else:
        cell, kinds = c.input(cell), [("float32", None)] * 4
    first = len(c.graph.table.tensors)
    results = [c.add_tensor(dtype, c.shapes[first + i] if c.shapes else (), quant=quant)
               for i, (dtype, quant) in enumerate(kinds)]
    c.graph.operator("LSTM", [x, previous, w, b, cell], results, kernelType=1, fusedActivationFunction="TANH")
    return results[:2]


add("lstm_basic", basic_lstm, "f32 u8")


def bidirectional_lstm(c, merge, time_major=False):
    batch, steps, inputs, units = 2, 3, 3, 4
    x = c.x(*((steps, batch, inputs) if time_major else (batch, steps, inputs)))
    operands = [x]
    for _ in range(2):
        operands += [*gates(c, x, units, inputs, units), None, None]
    operands += [state(c, (batch, units)) for _ in range(4)] + [None] * 9
    return c.op("BIDIRECTIONAL_SEQUENCE_LSTM", operands, count=1 if merge else 2, mergeOutputs=merge, timeMajor=time_major,
                fusedActivationFunction="TANH")


# LiteRT 2.3.0 reads beyond its output where the batch comes first and both directions are merged.
add("bidirectional_lstm_merged", lambda c: bidirectional_lstm(c, merge=True, time_major=True), "f32 dyn")
add("bidirectional_lstm", lambda c: bidirectional_lstm(c, merge=False))


def rnn_weights(c, inputs, units):
    return [c.weights(c.uniform((units, inputs)), per_tensor=True), c.weights(c.uniform((units, units)), per_tensor=True),
            c.const(c.uniform((units,)))]


def rnn(c, op, shape, activation="TANH", units=4, **options):
    x = c.x(*shape)
    batch = shape[1] if options.get("timeMajor") else shape[0]
    return c.op(op, [x, *rnn_weights(c, shape[-1], units), state(c, (batch, units))], fusedActivationFunction=activation,
                **options)


add("rnn", lambda c: rnn(c, "RNN", (2, 3)), "f32 dyn")
add("rnn_relu", lambda c: rnn(c, "RNN", (2, 3), "RELU"))
add("sequence_rnn", lambda c: rnn(c, "UNIDIRECTIONAL_SEQUENCE_RNN", (2, 4, 3), timeMajor=False), "f32 dyn")
add("sequence_rnn_time_major", lambda c: rnn(c, "UNIDIRECTIONAL_SEQUENCE_RNN", (4, 2, 3), "RELU6", timeMajor=True))
add("sequence_rnn_no_steps", lambda c: rnn(c, "UNIDIRECTIONAL_SEQUENCE_RNN", (0, 2, 3), "RELU6", timeMajor=True))


def bidirectional_rnn(c, merge):
    x = c.x(2, 4, 3)
    operands = [x]
    for _ in range(2):
        operands += [*rnn_weights(c, 3, 4), state(c, (2, 4))]
    return c.op("BIDIRECTIONAL_SEQUENCE_RNN", [*operands, None, None, None], count=1 if merge else 2, mergeOutputs=merge,
                timeMajor=False, fusedActivationFunction="TANH")


add("bidirectional_rnn", lambda c: bidirectional_rnn(c, True))
add("bidirectional_rnn_two", lambda c: bidirectional_rnn(c, False))


def svdf(c, rank=1, bias=True, activation="NONE", state_scale=1 / 1024):
    batch, inputs, units, memory = 2, 3, 4, 5
    filters = units * rank
    x = c.x(batch, inputs)
    feature = c.weights(c.uniform((filters, inputs)), per_tensor=True)
    of_time = c.uniform((filters, memory))
    if c.integer:
        time = c.const(np.rint(of_time * 32767).astype(np.int16), quant=Quant((np.float32(1 / 32767),), (0,)))
        scale = np.float32(1 / 32767 * state_scale)  # That of the weights of time, times the state's.
        b = c.const(np.rint(c.uniform((units,)) / scale).astype(np.int32), quant=Quant((scale,), (0,)))
    else:
        time, b = c.const(of_time), c.const(c.uniform((units,)))
    memories = state(c, (batch, memory * filters), "int16", Quant((state_scale,), (0,)))
    return c.op("SVDF", [x, feature, time, b if bias else None, memories], rank=rank, fusedActivationFunction=activation)


add("svdf", svdf)
add("svdf_relu", lambda c: svdf(c, activation="RELU"), "i8")
add("svdf_rank_2", lambda c: svdf(c, 2, False, "RELU"))
add("svdf_full", lambda c: svdf(c, activation="RELU", state_scale=2**-15), "i8")  # Features saturate at 1.
