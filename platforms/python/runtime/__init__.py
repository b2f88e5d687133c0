"""Skiff's runtime: runs .skiff files, which ``skiff.convert`` of the package skiff makes.

>>> import skiff
>>> session = skiff.Model("net.skiff").session(threads=2)
>>> outputs = session(image=image)
"""

from skiff import _errors as _errors  # First: the native part takes its classes from there.
from skiff._arrays import empty
from skiff._errors import (
    Cancelled,
    DeviceLost,
    Error,
    InternalError,
    InvalidArgument,
    InvalidModel,
    IoError,
    NoMatchingBucket,
    OutOfMemory,
    Unsupported,
)
from skiff._model import ClassScore, Model
from skiff._ports import ImageInput, Plan, Port, Quantization, Signature, Symbol, VariableInfo
from skiff._session import MemoryUsage, NodeProfile, Outputs, Session, ThreadPool
from skiff._skiff import build_info

__version__: str = build_info()["version"]

__all__ = [
    "Cancelled",
    "ClassScore",
    "DeviceLost",
    "Error",
    "ImageInput",
    "InternalError",
    "InvalidArgument",
    "InvalidModel",
    "IoError",
    "MemoryUsage",
    "Model",
    "NoMatchingBucket",
    "NodeProfile",
    "OutOfMemory",
    "Outputs",
    "Plan",
    "Port",
    "Quantization",
    "Session",
    "Signature",
    "Symbol",
    "ThreadPool",
    "Unsupported",
    "VariableInfo",
    "build_info",
    "empty",
]


def __getattr__(name: str) -> object:
    raise AttributeError(f"skiff.{name}: this is skiff-runtime, which runs models and has nothing else; the package skiff is the whole")
