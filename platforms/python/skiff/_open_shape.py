"""Shapes of tensors in a trace that serves many sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload


class OpenShape(Sequence):
    """The extents of a traced tensor, of which some are open: asking for one of those is an error that says what to do instead.

    >>> x.shape          # f32[batch, 20]
    >>> x.shape[-1]      # 20
    >>> x.shape[0]       # skiff.InvalidArgument: ... is open in this trace ...; use skiff.ops.shape_of(x)
    """

    def __init__(self, tensor: Any, text: str) -> None:
        self._tensor = tensor
        self._text = text

    def __len__(self) -> int:
        return self._tensor.rank

    @overload
    def __getitem__(self, axis: int) -> int: ...

    @overload
    def __getitem__(self, axis: slice) -> tuple[int, ...]: ...

    def __getitem__(self, axis: Any) -> Any:
        if isinstance(axis, slice):
            return tuple(self._tensor.dim(i) for i in range(*axis.indices(len(self))))
        if not -len(self) <= axis < len(self):
            raise IndexError(f"{self._text} has no axis {axis}")
        return self._tensor.dim(axis)

    def __repr__(self) -> str:
        return f"<the shape of {self._text}>"
