"""Cases of RFFT2D and what reads it, AudioSpectrogram and Mfcc."""
import numpy as np
from custom_case import add, custom


def spectrum(c, shape=(2, 1, 16), lengths=(1, 16), read="COMPLEX_ABS", reshape=None):
    bins = (*shape[:-2], lengths[0], lengths[1] // 2 + 1)
    value = c.op("RFFT2D", [c.x(*shape), c.ints(*lengths)], "complex64", shape=bins)
    if reshape is not None:
        value = c.op("RESHAPE", [value, c.ints(*reshape)], "complex64", shape=reshape)
    return [c.op(name, [value], "float32", shape=reshape or bins) for name in read.split()], None


for name, parameters in [
        ("abs", {}),
        ("parts", {"read": "REAL IMAG COMPLEX_ABS"}),
        ("reshaped", {"reshape": (2, 9)}),
        ("cropped", {"shape": (1, 20), "lengths": (1, 8)}),
        ("filled", {"shape": (3, 1, 10), "lengths": (1, 32), "read": "REAL IMAG"}),
        ("plane", {"shape": (2, 8, 4), "lengths": (8, 4), "read": "REAL IMAG"}),
        ("plane_filled", {"shape": (6, 7), "lengths": (8, 8), "read": "REAL IMAG"}),
        ("shortest", {"shape": (1, 3), "lengths": (1, 2), "read": "REAL IMAG"})]:
    add("rfft2d_" + name, lambda c, parameters=parameters: spectrum(c, **parameters))


def audio(c, samples=200, channels=1, window=40, stride=20, squared=False, frames=9):
    bins = (1 << (window - 1).bit_length()) // 2 + 1
    result = c.result("float32", shape=(channels, frames, bins))
    custom(c, "AudioSpectrogram", [c.x(samples, channels)], [result],
           dict(window_size=window, stride=stride, magnitude_squared=squared))
    return [result], None


for name, parameters in [
        ("plain", {}),
        ("squared", {"squared": True}),
        ("channels", {"channels": 2, "window": 32, "stride": 32, "frames": 6}),
        ("one_frame", {"samples": 50, "window": 50, "stride": 7, "frames": 1}),
        ("apart", {"window": 16, "stride": 50, "frames": 4}),
        ("shortest", {"window": 2, "stride": 1, "frames": 199})]:
    add("audio_spectrogram_" + name, lambda c, parameters=parameters: audio(c, **parameters))


def mfcc(c, channels=1, frames=5, bins=65, rate=16000, low=20.0, high=4000.0, bands=40, coefficients=13, silent=False):
    power = c.uniform((channels, frames, bins), 0, 0 if silent else 4)
    result = c.result("float32", shape=(channels, frames, coefficients))
    custom(c, "Mfcc", [c.input(power), c.const(rate, "int32")], [result],
           dict(upper_frequency_limit=high, lower_frequency_limit=low, filterbank_channel_count=bands,
                dct_coefficient_count=coefficients))
    return [result], None


for name, parameters in [
        ("plain", {}),
        ("fine", {"bins": 513, "channels": 2}),
        ("few_bands", {"bands": 6, "coefficients": 6, "low": 300.0, "high": 2000.0}),
        ("whole_range", {"high": 8000.0, "low": 1.0, "bands": 20}),
        ("silence", {"silent": True})]:
    add("mfcc_" + name, lambda c, parameters=parameters: mfcc(c, **parameters))
