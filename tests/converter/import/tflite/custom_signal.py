"""Cases of TensorFlow Lite Micro's audio front end."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from custom_case import add, custom
from tflite_micro import runtime


def run_micro(data, values):
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 20)
    for i, value in enumerate(values):
        interpreter.set_input(value, i)
    interpreter.invoke()
    outputs = len(schema.ModelT.InitFromPackedBuf(data, 0).subgraphs[0].outputs)
    return [interpreter.get_output(i).copy() for i in range(outputs)]


def signal(name, operator, inputs, outputs, **options):
    """`inputs`: from a Case to its tensors; `outputs`: (type, shape) of each."""
    def function(c):
        tensors = [c.result(dtype, shape=shape) for dtype, shape in outputs]
        custom(c, "Signal" + operator, inputs(c), tensors, options)
        return tensors, None

    add("signal_" + name, function, "int", run_micro)


def samples(c, *shape, largest=32767):
    return c.input(c.integers(shape, -largest - 1, largest, "int16"))


def numbers(c, count, bits, dtype="uint32"):
    """Of every number of bits up to `bits`, and the ends of their range."""
    values = 2.0 ** c.random.uniform(0, bits, count)
    values[:3] = 0, 1, 2
    values[3] = 2**bits - (1 if bits <= 32 else 2**12)
    return c.input(values.astype(dtype))


signal("window", "Window", lambda c: [samples(c, 2, 40), c.const(c.integers((40,), 0, 32767), "int16")], [("int16", (2, 40))], shift=12)
for name, largest in [("large", 32767), ("small", 90), ("silent", 0)]:
    def quiet(c, largest=largest):
        return [samples(c, 50, largest=largest) if largest else c.input(np.zeros(50, np.int16))]
    signal("auto_scale_" + name, "FftAutoScale", quiet, [("int16", (50,)), ("int32", ())])
for length, count in [(4, 4), (8, 6), (16, 16), (128, 100), (512, 480)]:
    signal(f"rfft_{length}", "Rfft", lambda c, count=count: [samples(c, count)], [("int16", (length + 2,))], fft_length=length, T=7)
signal("rfft_rows", "Rfft", lambda c: [samples(c, 3, 30)], [("int16", (3, 34))], fft_length=32, T=7)


def square_wave(c):
    """As loud as can be: sums wrap."""
    return [c.input(np.where(np.arange(64) // 2 % 2, -32768, 32767).astype(np.int16))]


signal("rfft_loud", "Rfft", square_wave, [("int16", (66,))], fft_length=64, T=7)
signal("energy", "Energy", lambda c: [samples(c, 66)], [("uint32", (33,))], start_index=0, end_index=33)


def bands(c, channels=4, bins=33):
    widths = c.integers((channels + 1,), 1, 6)
    starts = 2 + np.cumsum(widths) - widths
    places = np.cumsum(widths) - widths
    weights = c.integers((int(widths.sum()),), 0, 4096)
    return [numbers(c, bins, 32)] + [c.const(v, "int16") for v in (weights, 4096 - weights, starts, places, widths)]


signal("filter_bank", "FilterBank", bands, [("uint64", (4,))], num_channels=4)
signal("square_root", "FilterBankSquareRoot",
       lambda c: [numbers(c, 60, 53, "uint64"), c.input(np.array(3, np.int32))], [("uint32", (60,))])
for clamping in (False, True):
    signal(f"spectral_subtraction_{'clamped' if clamping else 'free'}", "FilterBankSpectralSubtraction", lambda c: [numbers(c, 40, 32)],
           [("uint32", (40,)), ("uint32", (40,))], alternate_one_minus_smoothing=15401, alternate_smoothing=983, clamping=clamping,
           min_signal_remaining=819, num_channels=40, one_minus_smoothing=15975, smoothing=409, smoothing_bits=10,
           spectral_subtraction_bits=14)


def gains(c):
    """A falling curve in a table of quadratics, as the front end has it."""
    def gain(x):
        return 4096 * (max(x, 1) / 4) ** -0.5

    table = np.zeros(125, np.int16)
    table[:3] = [gain(x) for x in range(3)]
    for bits in range(3, 33):
        low, middle, high = (gain(2.0 ** (bits - 1) * factor) for factor in (1, 1.5, 2))
        table[4 * bits - 6] = low
        table[4 * bits - 5] = 4 * middle - 3 * low - high
        table[4 * bits - 4] = 2 * (low + high) - 4 * middle
    return [numbers(c, 64, 28), numbers(c, 64, 32), c.const(table, "int16")]


signal("pcan", "PCAN", gains, [("uint32", (64,))], snr_shift=6)
for bits in (0, 3):
    signal(f"log_{bits}", "FilterBankLog", lambda c: [numbers(c, 200, 32)], [("int16", (200,))], input_correction_bits=bits, output_scale=64)
signal("log_large", "FilterBankLog", lambda c: [numbers(c, 100, 20)], [("int16", (100,))], input_correction_bits=1, output_scale=3000)
