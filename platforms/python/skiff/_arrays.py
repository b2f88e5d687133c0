"""Arrays of all kinds on their way to the native part."""

from __future__ import annotations

import math
import operator
from typing import Any, Mapping, Sequence

import numpy as np

from skiff._arguments import shown
from skiff._errors import InvalidArgument, OutOfMemory

_ALIGNMENT = 64
_READABLE_TAIL = 16
_PAGE = 4096


def as_array(value: Any, dtype: np.dtype, what: str) -> np.ndarray:
    """``value`` as an array of native byte order in rows. Lists and numbers, which have no element type, get ``dtype``.

    Tensors of other libraries that lie in the CPU's memory are not copied. ``what`` begins messages.
    """
    if isinstance(value, Mapping):
        raise InvalidArgument(f"{what} is a {type(value).__name__}; session.run(arrays) takes arrays by name, and so does session(**arrays)")
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgument(f"{what} is a masked array; fill it first: array.filled(0)")
    try:
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
        elif isinstance(value, (bool, int, float, list, tuple)):
            array = _of_numbers(value, dtype, what)
        else:
            array = _of_another_library(value)
    except InvalidArgument:
        raise
    except (OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidArgument(f"{what} is no array that NumPy can read: {error}") from error
    try:
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return np.require(array, requirements="C")
    except MemoryError as error:
        raise OutOfMemory(f"{what} is {shown(array.shape)}, which is not in rows: there is no memory for a copy") from error


# By the kind of a dtype, the kinds of Python's numbers that are of it.
_NUMBERS = {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}


def _of_numbers(value: Any, dtype: np.dtype, what: str) -> np.ndarray:
    numbers = np.asarray(value)
    if numbers.size == 0:
        return numbers.astype(dtype)
    if numbers.dtype.kind not in _NUMBERS[dtype.kind]:
        found = {"b": "booleans", "i": "integers", "u": "integers", "f": "reals"}.get(numbers.dtype.kind, f"elements of type {numbers.dtype}")
        raise InvalidArgument(f"{what} is {dtype}, got {found}; numpy.array(..., numpy.{dtype}) converts them")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wrong = next((number for number in (numbers.min(), numbers.max()) if not limits.min <= int(number) <= limits.max), None)
    else:
        with np.errstate(over="ignore"):
            array = numbers.astype(dtype)
        lost = np.isinf(array) & np.isfinite(numbers) if dtype.kind == "f" else np.zeros(1, bool)
        wrong = numbers[lost][0] if lost.any() else None
    if wrong is not None:
        raise InvalidArgument(f"{what} is {dtype}, which does not hold {wrong}")
    return numbers.astype(dtype)


def _of_another_library(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # Torch's: those that want gradients show no memory.
        value = value.detach()
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return np.asarray(value)


def empty(shape: Sequence[int] | int, dtype: Any = np.float32) -> np.ndarray:
    """An array that :meth:`Session.bind` takes: aligned to 64 bytes, with 16 readable bytes behind its elements.

    The elements are not set, as with ``numpy.empty``.
    """
    dtype = np.dtype(dtype)
    try:
        extents = tuple(operator.index(extent) for extent in ((shape,) if hasattr(shape, "__index__") else shape))
    except TypeError:
        raise InvalidArgument(f"shape is {shown(shape)}; expected extents, as (1, 3, 224, 224)") from None
    if min(extents, default=0) < 0:
        raise InvalidArgument(f"shape is {shown(shape)}; extents are not negative")
    size = math.prod(extents) * dtype.itemsize
    try:
        memory = np.empty(size + 2 * _ALIGNMENT + _READABLE_TAIL, np.uint8)
    except (MemoryError, ValueError):
        raise OutOfMemory(f"shape is {shown(shape)}: there is no memory for {size} bytes") from None
    address = memory.ctypes.data
    begin = -address % _ALIGNMENT
    # Calls bind what ends so far before the end of a page, without asking whose memory it is.
    if (address + begin + size - 1) // _PAGE != (address + begin + size - 1 + _READABLE_TAIL) // _PAGE:
        begin += _ALIGNMENT
    return memory[begin : begin + size].view(dtype).reshape(extents)


def has_tail(array: np.ndarray) -> bool:
    """Whether the array that owns the memory goes on behind these elements for as far as a kernel may read."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.c_contiguous:
        return False
    end = array.__array_interface__["data"][0] + array.nbytes
    return end + _READABLE_TAIL <= owner.__array_interface__["data"][0] + owner.nbytes
