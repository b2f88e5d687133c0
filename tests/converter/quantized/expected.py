#!/usr/bin/env python3
"""What net.txt computes, from the meaning of quantised tensors (docs/numerics.md) alone.

usage: expected.py --write   computes expected.json anew
       expected.py --check   compares; fails where they differ

Sums are integers, what a code is rounded from is a fraction, and rounding is Python's: half to even.
"""
import argparse
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

try:
    import numpy as np
except ImportError:  # --help does without.
    print(__doc__ if {"-h", "--help"} & set(sys.argv) else "SKIPPED: numpy is not installed")
    sys.exit(0)

HERE = Path(__file__).parent
RANGES = {"u8": (0, 255), "i8": (-128, 127), "i4": (-8, 7), "i32": (-2**31, 2**31 - 1)}
CONSTANT = re.compile(r"const (\w+): (\w+)\[([\d, ]*)\](?: \{(.*?)\})? = (?:seed (\d+)|\[(.*?)\])$", re.MULTILINE)
IMAGE_SEED = 2026


def numbers(text, kind):
    return np.array([kind(part) for part in text.strip("[]").split(",")])


def random_bits(seed, count):
    """SplitMix64, which the text form's seeds mean."""
    mask = 2**64 - 1
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


class Quantised:
    """Codes with a scale for each index of one axis, or one scale."""

    def __init__(self, codes, dtype, scale, zero_point):
        self.codes = np.asarray(codes, dtype=np.int64)
        self.dtype = dtype
        self.scale = np.atleast_1d(np.asarray(scale, dtype=np.float32))
        self.zero_point = np.broadcast_to(np.atleast_1d(np.asarray(zero_point, dtype=np.int64)), self.scale.shape)

    def steps(self, axis=0):
        if len(self.scale) == 1:
            return self.codes - self.zero_point[0]
        shape = [1] * self.codes.ndim
        shape[axis] = -1
        return self.codes - self.zero_point.reshape(shape)

    def scale_of(self, index):
        """As the fraction that the float is."""
        return Fraction(float(self.scale[index if len(self.scale) > 1 else 0]))


def read_constants(text):
    constants = {}
    for name, dtype, extents, quantisation, seed, elements in CONSTANT.findall(text):
        shape = tuple(int(extent) for extent in extents.split(","))
        if seed:
            codes = np.array([(bits >> 60) - 8 for bits in random_bits(int(seed), int(np.prod(shape)))])
        else:
            codes = numbers(elements, float if dtype == "f32" else int)
        codes = codes.reshape(shape)
        if not quantisation:
            constants[name] = codes
            continue
        fields = dict(re.findall(r"(\w+)=(\[.*?\]|[^,]+)", quantisation))
        constants[name] = Quantised(codes, dtype, numbers(fields["scale"], float),
                                    numbers(fields.get("zero_point", "0"), int))
    return constants


def quantise(reals, dtype, scale, zero_point):
    """reals: an array of fractions."""
    step = Fraction(float(np.float32(scale)))
    low, high = RANGES[dtype]
    codes = [min(max(round(real / step) + zero_point, low), high) for real in reals.flat]
    return Quantised(np.array(codes).reshape(reals.shape), dtype, scale, zero_point)


def reals_of_sums(sums, x, weights, bias):
    """Sums of integers [..., channels] as fractions, with the bias."""
    reals = np.empty(sums.shape, dtype=object)
    for index in np.ndindex(sums.shape):
        channel = index[-1]
        product = x.scale_of(0) * weights.scale_of(channel)
        real = int(sums[index]) * product
        if isinstance(bias, Quantised):
            # A bias has the scale of the products, which its float is nearest to.
            assert np.float32(float(product)) == bias.scale[channel]
            real += int(bias.steps()[channel]) * product
        else:
            real += Fraction(float(np.float32(bias[channel])))
        reals[index] = real
    return reals


def convolve(x, weights, bias, stride, groups):
    """3 x 3 with a pad of 1 around."""
    padded = np.pad(x.steps(), ((0, 0), (1, 1), (1, 1), (0, 0)))  # A pad is the real 0.
    steps = weights.steps()
    size = (x.codes.shape[1] + 2 - 3) // stride + 1
    outputs, _, _, depth = steps.shape
    sums = np.zeros((1, size, size, outputs), dtype=np.int64)
    for h in range(size):
        for w in range(size):
            window = padded[0, h * stride:h * stride + 3, w * stride:w * stride + 3, :]
            for o in range(outputs):
                first = o // (outputs // groups) * depth
                sums[0, h, w, o] = np.sum(window[:, :, first:first + depth] * steps[o])
    return reals_of_sums(sums, x, weights, bias)


def clamp(reals, low, high):
    return np.vectorize(lambda real: min(max(real, Fraction(low)), Fraction(high)), otypes=[object])(reals)


def dequantise(x):
    return np.vectorize(lambda steps: int(steps) * x.scale_of(0), otypes=[object])(x.steps())


def average(x, window):
    reals = dequantise(x)
    n, h, w, c = reals.shape
    tiles = reals.reshape(n, h // window, window, w // window, window, c)
    return tiles.sum(axis=(2, 4)) / Fraction(window * window)


def softmax(x):
    reals = dequantise(x).astype(np.float64)
    powers = np.exp(reals - reals.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    # What is nearly half way would depend on the accuracy of exp.
    steps = shares * 256
    assert np.all(np.abs(steps - np.floor(steps) - 0.5) > 1e-9)
    return np.vectorize(lambda share: Fraction(float(share)), otypes=[object])(shares)


def compute(image):
    constants = read_constants((HERE / "net.txt").read_text())
    x = Quantised(image, "u8", 0.02, 128)
    stem = quantise(clamp(convolve(x, constants["stem_weights"], constants["stem_bias"], 2, 1), 0, 6), "u8", 0.03, 10)
    depthwise = quantise(convolve(stem, constants["depthwise_weights"], constants["depthwise_bias"], 1, 8), "i8", 0.02, -5)
    total = quantise(dequantise(stem) + dequantise(depthwise), "u8", 0.045, 60)
    pooled = quantise(average(total, 3), "u8", 0.03, 60)
    weights = constants["class_weights"]
    row = pooled.steps().reshape(1, 32)
    scores = quantise(reals_of_sums(row @ weights.steps().T, pooled, weights, constants["class_bias"]), "i8", 0.06, 3)
    likely = quantise(softmax(scores), "u8", 0.00390625, 0)
    return {"stem": stem, "depthwise": depthwise, "sum": total, "pooled": pooled, "scores": scores, "likely": likely}


def entry(codes, dtype):
    return {"dtype": dtype, "shape": list(codes.shape), "elements": codes.reshape(-1).tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    options = parser.parse_args()
    image = np.array([bits >> 56 for bits in random_bits(IMAGE_SEED, 12 * 12 * 3)]).reshape(1, 12, 12, 3)
    outputs = compute(image)
    document = {"inputs": {"image": entry(image, "u8")},
                "outputs": {name: entry(value.codes, value.dtype) for name, value in outputs.items()}}
    document["outputs"]["probabilities"] = entry(dequantise(outputs["likely"]).astype(np.float64), "f32")
    for name, value in document["outputs"].items():
        assert len(set(value["elements"])) > 3, f"{name} says too little"
    path = HERE / "expected.json"
    if options.write:
        tensors = lambda part: ",\n".join(f'  "{name}": {json.dumps(value)}' for name, value in document[part].items())
        path.write_text(f'{{"inputs": {{\n{tensors("inputs")}}},\n"outputs": {{\n{tensors("outputs")}}}}}\n')
        return 0
    committed = json.loads(path.read_text())
    wrong = [name for part in ("inputs", "outputs") for name in document[part]
             if committed[part].get(name) != document[part][name]]
    if wrong or committed.keys() != document.keys() or committed["outputs"].keys() != document["outputs"].keys():
        print(f"{path} differs from what net.txt computes: {', '.join(wrong)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
