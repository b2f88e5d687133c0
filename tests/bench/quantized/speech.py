"""Words of the speech commands, spoken by synthesisers (Debian's flite and espeak-ng) in many voices, with noise and shifted;
and the features that small keyword nets read."""
import io
import pathlib
import subprocess
import tempfile
import wave

import numpy as np

RATE = 16000
FLITE_VOICES = ("kal16", "awb", "rms", "slt")
ESPEAK_VOICES = ("en-us", "en-gb", "en-us+f2", "en-us+m3")
NOISES = ("noise_1000ms.wav", "silence_1000ms.wav")


def read(data):
    with wave.open(io.BytesIO(data)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float64) / 32768
        rate = file.getframerate()
    if rate == RATE:
        return samples
    places = np.arange(int(len(samples) * RATE / rate)) * rate / RATE
    return np.interp(places, np.arange(len(samples)), samples)


def speak(word, voice, stretch, pitch):
    """`stretch`, `pitch`: about 1."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        if voice in FLITE_VOICES:
            command = ["flite", "-voice", voice, "--setf", f"duration_stretch={stretch}", "--setf",
                       f"int_f0_target_mean={int(110 * pitch)}", "-t", word, "-o", file.name]
        else:
            command = ["espeak-ng", "-v", voice, "-s", str(int(150 / stretch)), "-p", str(int(50 * pitch)), "-w", file.name, word]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return read(pathlib.Path(file.name).read_bytes())


def placed(samples, noise, random):
    """A second with the word in it."""
    loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max())
    samples = samples[loud[0]:loud[-1] + 1][:RATE]
    second = np.zeros(RATE)
    start = random.integers(0, RATE - len(samples) + 1)
    second[start:start + len(samples)] = samples / np.abs(samples).max() * random.uniform(0.2, 0.8)
    return np.clip(second + np.roll(noise, random.integers(RATE)) * random.uniform(0, 1), -1, 1).astype(np.float32)


def spoken(models, words, seed, ways=16):
    """Each word in that many ways: seconds of sound, and the places of their words in the list."""
    random = np.random.default_rng(seed)
    noises = [read((models / "micro_speech_int8" / name).read_bytes())[:RATE] for name in NOISES]
    noises = [np.pad(noise, (0, RATE - len(noise))) for noise in noises]
    voices = FLITE_VOICES + ESPEAK_VOICES
    seconds, labels = [], []
    for label, word in enumerate(words):
        for way in range(ways):
            samples = speak(word, voices[way % len(voices)], random.uniform(0.9, 1.3), random.uniform(0.8, 1.3))
            seconds.append(placed(samples, noises[way % len(noises)], random))
            labels.append(label)
    return np.stack(seconds), np.array(labels)


def filterbank(bins, channels=40, low=125, high=7500):
    """Triangles, even on the mel scale: of each bin, what it adds to each channel."""
    mel = 1127 * np.log1p(np.arange(bins) * RATE / 2 / (bins - 1) / 700)
    ends = 1127 * np.log1p(np.array([low, high]) / 700)
    spacing = (ends[1] - ends[0]) / (channels + 1)
    centres = ends[0] + spacing * np.arange(1, channels + 1)
    return np.maximum(0, 1 - np.abs(mel[:, None] - centres[None]) / spacing)


def features(second):
    """49 times 40 numbers, as the front end of TensorFlow Lite Micro has them (its README, and Wang et al., 2017, for the
    gain), among reals where it has integers."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi / 480 * (np.arange(480) + 0.5))
    weights = filterbank(257)
    smoothing = np.where(np.arange(40) % 2 == 0, 0.025, 0.06)
    estimate = np.zeros(40)
    rows = []
    for start in range(0, RATE - 480 + 1, 320):
        spectrum = np.fft.rfft(second[start:start + 480] * 32768 * window, 512) / 512
        signal = 64 * np.sqrt(np.abs(spectrum) ** 2 @ weights)
        estimate = smoothing * signal + (1 - smoothing) * estimate
        signal = np.maximum(signal - np.minimum(estimate, signal), 0.05 * signal)
        gained = signal * (8 * estimate + 80) ** -0.95 * 2 ** 15
        shrunk = np.where(gained < 8192, gained ** 2 / 2 ** 20, gained / 64 - 64)
        rows.append(64 * np.log(np.maximum(8 * shrunk, 1)) * 10 / 256)
    return np.array(rows, np.float32)
