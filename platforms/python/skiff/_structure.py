"""What functions take and return, as flat lists of tensors: tuples, lists and dictionaries, named tuples too, of what is a tensor."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np

from skiff._errors import InvalidArgument
from skiff._skiff import Tensor, Variable

#: Makes the value again of tensors.
Rebuild = Callable[[Iterator[Tensor]], Any]


class TypeOnly:
    """Stands for a tensor of which only the type is known."""

    def __init__(self, text: str) -> None:
        self.type_text = text


class Flat:
    """Values taken apart. ``names``: of the tensors, by where they were found; ``form``: what they are in; ``key``: what else there is,
    as text."""

    __slots__ = ("form", "kept", "key", "names", "tensors")

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.names: list[str] = []
        self.form: list[Any] = []
        self.key: list[str] = []
        self.kept: list[Any] = []  # Objects that stand in the key by their address.

    def add(self, value: Any, name: str) -> Rebuild:
        """Of an argument."""
        tensor = _tensor_of(value)
        if tensor is not None:
            self.tensors.append(tensor)
            self.names.append(name)
            return next
        parts = _parts_of(value)
        if parts is None:
            self.key.append(f"{name}={self._text(value)}")
            return lambda tensors: value
        self.form.append((name, type(value), tuple(key for key, _ in parts)))
        rebuilds = [self.add(part, f"{name}.{key}") for key, part in parts]
        return _rebuilder(value, rebuilds)

    def add_result(self, value: Any, name: str, what: str) -> Rebuild:
        """Of what a function returned: numbers are constants."""
        if value is None:
            return lambda tensors: None
        tensor = value.read() if isinstance(value, Variable) else _tensor_of(value)
        if tensor is None and isinstance(value, (bool, int, float)):
            tensor = Tensor(value)
        if tensor is not None:
            self.tensors.append(tensor)
            self.names.append(name)
            return next
        parts = _parts_of(value)
        if parts is None:
            raise InvalidArgument(
                f"{what} returned {type(value).__name__}; expected tensors, arrays, numbers, None, or tuples, lists and dictionaries of them"
            )
        named = name or isinstance(value, dict) or hasattr(value, "_fields")
        names = [".".join(filter(None, (name, str(key)))) if named else "" for key, _ in parts]
        return _rebuilder(value, [self.add_result(part, own, what) for own, (_, part) in zip(names, parts)])

    def _text(self, value: Any) -> str:
        if value is None or type(value) in (bool, int, str, bytes) or isinstance(value, np.dtype):
            return repr(value)
        if type(value) is float:
            return value.hex()
        self.kept.append(value)
        return f"<{type(value).__name__} at {id(value):#x}>"


def _tensor_of(value: Any) -> Tensor | None:
    """None for what is no tensor, or a value of the key."""
    if isinstance(value, (Tensor, TypeOnly)):
        return value  # type: ignore[return-value]
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        return Tensor(value)
    return None


def _parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, dict):
        return list(value.items())
    if hasattr(value, "_fields") and isinstance(value, tuple):
        return list(zip(value._fields, value))
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    return None


def _rebuilder(value: Any, rebuilds: list[Rebuild]) -> Rebuild:
    kind = type(value)
    if isinstance(value, dict):
        names = list(value)
        return lambda tensors: {name: rebuild(tensors) for name, rebuild in zip(names, rebuilds)}
    if hasattr(value, "_fields"):
        return lambda tensors: kind(*[rebuild(tensors) for rebuild in rebuilds])
    return lambda tensors: kind(rebuild(tensors) for rebuild in rebuilds)


def unique(names: list[str]) -> list[str]:
    """Names of outputs: what the code called them, where that tells them apart, else none."""
    names = [name or f"result{i}" for i, name in enumerate(names)]
    return names if len(set(names)) == len(names) else []
