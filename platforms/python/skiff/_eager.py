"""Eager mode: a source as it is, operator by operator, by the reference kernels."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from skiff import _skiff
from skiff._arguments import named, real
from skiff._errors import InvalidArgument
from skiff._session import Outputs
from skiff._sources import in_file


class Eager:
    """A source in eager mode; :func:`eager` makes it. Call it with arrays in the order of the inputs, or by name."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        return self._native.names(True)

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        return self._native.names(False)

    def __call__(self, *arrays: Any, **named: Any) -> Outputs:
        """Computes the outputs. Raises :class:`InvalidArgument`."""
        names, outputs, _ = self._native.run(self._by_name(arrays, named), False)
        return Outputs(names, outputs)

    def tensors(self, *arrays: Any, **named: Any) -> dict[str, np.ndarray]:
        """Every tensor that is computed on the way, by its name in the source."""
        return self._native.run(self._by_name(arrays, named), True)[2]

    def _by_name(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names = self.inputs
        if len(arrays) > len(names):
            raise InvalidArgument(f"{len(arrays)} arrays were given; the inputs are {', '.join(map(repr, names))}")
        by_name = dict(zip(names, arrays))
        for name, array in named.items():
            if name in by_name:
                raise InvalidArgument(f"input {name!r} was given twice")
            by_name[name] = array
        return by_name


def eager(source: Any, *, signature: str | None = None, constants: Mapping[str, float] | None = None) -> Eager:
    """A source (as for :func:`convert`) that runs operator by operator, unoptimised, with the reference kernels: slow, and the truth.

    >>> eager = skiff.eager("net.onnx")
    >>> eager(image=image)["logits"]

    Raises as :func:`convert`.
    """
    with in_file(source) as path:
        return Eager(_skiff.EagerSource(path, signature, {name: real(f"constants: {name!r}", number) for name, number in named("constants", constants, '{"sr": 16000}').items()}))
