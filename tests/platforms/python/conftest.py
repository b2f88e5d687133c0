"""Models that the tests share, in the converter's text form, and the sample model."""

import os
import pathlib
import signal

import pytest

import skiff

SOURCE_DIR = pathlib.Path(os.environ.get("SKIFF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))
CHARACTERS = SOURCE_DIR / "samples" / "characters"

ADD = b"graph add { input a: f32[2, 3] input b: f32[2, 3] sum = Add(a, b) twice = Add(sum, sum) output sum output twice }"
# A dimension that is open: one size, or a range, is up to the conversion.
OPEN = b"""graph open {
  input x: f32[n, 4]
  const w: f32[4, 8] = seed 3
  y = MatMul(x, w)
  output y
}"""
# About a second of work on one thread, in nodes of some milliseconds each.
SLOW = "graph slow { input x: f32[512, 512] const w: f32[512, 512] = seed 1 const k: f32[] = 0.01\n%s output y = y%d }"


def slow_source(products: int) -> bytes:
    steps = "\n".join(f"m{i} = MatMul({'x' if i == 0 else f'y{i - 1}'}, w) y{i} = Mul(m{i}, k)" for i in range(products))
    return (SLOW % (steps, products - 1)).encode()


@pytest.fixture(autouse=True)
def hears_interrupts():
    """A shell that starts the tests in the background lets them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def add() -> skiff.Model:
    return skiff.convert(ADD)


@pytest.fixture(scope="session")
def open_shapes() -> skiff.Model:
    return skiff.convert(OPEN, dims={"n": skiff.Dim(1, 64)})


@pytest.fixture(scope="session")
def unbounded() -> skiff.Model:
    return skiff.convert(OPEN)


@pytest.fixture(scope="session")
def characters() -> skiff.Model:
    return skiff.convert(
        CHARACTERS / "characters.onnx",
        image=skiff.Image((32, 32), mean=127.5, scale=1 / 128),
        labels=CHARACTERS / "labels.txt",
    )
