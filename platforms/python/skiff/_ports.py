"""What a model tells of itself."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import numpy as np

from skiff._arguments import one_line


@dataclasses.dataclass(frozen=True)
class Quantization:
    """How integers stand for real numbers: ``real = scale * (integer - zero_point)``.

    One scale for all elements, or one for each index of ``axis``.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None
    block: int = 0


@dataclasses.dataclass(frozen=True)
class ImageInput:
    """How a picture becomes an input: brought to ``width`` by ``height`` pixels, then ``(sample - mean) * scale`` of samples 0..255."""

    width: int
    height: int
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    channels: str
    layout: str
    fit: str
    filter: str
    resize: int = 0
    fill: int = 0


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output. An extent is a number, the name of an open dimension, or ``"?"`` where only a run knows it."""

    name: str
    dtype: np.dtype
    shape: tuple[int | str, ...]
    quantization: Quantization | None = None
    image: ImageInput | None = None
    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        quantized = ", quantized" if self.quantization else ""
        extents = ", ".join(one_line(str(extent)) for extent in self.shape)
        return f"Port({self.name!r}: {self.dtype} [{extents}]{quantized})"


@dataclasses.dataclass(frozen=True)
class Symbol:
    """An open dimension. Its size in a call is from ``min`` to ``max`` (None: no end), and a multiple of ``multiple``."""

    name: str
    min: int
    max: int | None
    multiple: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The model made ready for sizes in ``ranges``: ``kind`` is exact, relaxed or unbounded, ``arena_bytes`` are for one Session."""

    target: str
    kind: str
    ranges: Mapping[str, tuple[int, int | None]]
    arena_bytes: int
    nodes: int


@dataclasses.dataclass(frozen=True)
class Signature:
    """A named entry point."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    plans: tuple[Plan, ...]


@dataclasses.dataclass(frozen=True)
class VariableInfo:
    """State that one run leaves to the next."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def port_of(described: dict[str, Any]) -> Port:
    quantization = described["quantization"]
    image = described["image"]
    return Port(
        name=described["name"],
        dtype=described["dtype"],
        shape=described["shape"],
        quantization=Quantization(**quantization) if quantization else None,
        image=ImageInput(**image) if image else None,
        labels=described["labels"],
    )


def signature_of(described: dict[str, Any]) -> Signature:
    return Signature(
        name=described["name"],
        inputs=tuple(port_of(port) for port in described["inputs"]),
        outputs=tuple(port_of(port) for port in described["outputs"]),
        plans=tuple(Plan(**plan) for plan in described["plans"]),
    )
