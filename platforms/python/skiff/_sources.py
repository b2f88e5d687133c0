"""Trained models on their way to the converter, which reads files."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator

from skiff._errors import Error, InvalidArgument, IoError
from skiff._places import path_of

# What messages call a model that is in no file.
_IN_MEMORY = "the model in memory"


def is_torch(source: Any) -> bool:
    """Whether it is a torch.nn.Module or an exported program, without importing torch."""
    return any(
        kind.__module__.split(".")[0] == "torch" and kind.__name__ in ("Module", "ExportedProgram", "ScriptModule")
        for kind in type(source).__mro__
    )


def is_keras(source: Any) -> bool:
    """Whether it is a keras.Model, without importing keras."""
    return any(
        kind.__module__.split(".")[0] in ("keras", "tf_keras") and kind.__name__ in ("Model", "Functional", "Sequential")
        for kind in type(source).__mro__
    )


def name_of(source: Any) -> str:
    """What messages and reports call it."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else _IN_MEMORY


@contextlib.contextmanager
def in_file(source: Any) -> Iterator[str]:
    """A path at which the source can be read: of a path itself; of bytes and of an onnx.ModelProto a file in memory.

    Errors speak of the source, and not of that file.
    """
    if isinstance(source, (str, os.PathLike)):
        yield path_of(source, "a source")
        return
    if isinstance(source, (bytes, bytearray, memoryview)):
        content = source
    elif hasattr(source, "SerializeToString"):
        content = source.SerializeToString()
    elif hasattr(source, "model_proto") and hasattr(source.model_proto, "SerializeToString"):
        content = source.model_proto.SerializeToString()  # torch.onnx.ONNXProgram
    elif is_torch(source):
        raise InvalidArgument("a torch module is exported first: give example_inputs, or use skiff.from_torch()")
    else:
        raise InvalidArgument(
            f"a source is a path, the bytes of an .onnx or .tflite file, an onnx.ModelProto or a torch module, got {type(source).__name__}"
        )
    file = os.memfd_create("skiff-source")
    try:
        view = memoryview(content).cast("B")
        try:
            while len(view):
                view = view[os.write(file, view) :]
        except OSError as error:
            raise IoError(f"{_IN_MEMORY}: no memory for {len(content)} bytes: {error.strerror}") from error
        path = f"/proc/self/fd/{file}"
        try:
            yield path
        except Error as error:
            if path not in str(error):
                raise
            raise type(error)(str(error).replace(path, _IN_MEMORY)) from None
    finally:
        os.close(file)
