"""Skiff turns a trained net into one small file for phones and boards, runs it, and proves that it still computes the same numbers.

>>> import skiff
>>> model = skiff.convert("net.onnx", dims={"batch": 1})
>>> skiff.parity("net.onnx", model).raise_if_failed()
>>> model.save("net.skiff")
>>> outputs = skiff.Model("net.skiff").session()(image=image)
"""

from skiff import _errors as _errors  # First: the native part takes its classes from there.
from skiff._arrays import empty
from skiff._convert import Dim, Image, convert
from skiff._eager import Eager, eager
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
    ParityError,
    Unsupported,
)
from skiff._measure import BenchReport, Bucket, BucketProposal, Inspection, bench, build_info, inspect, propose_buckets, random_inputs
from skiff._model import ClassScore, Model
from skiff._parity import BackendParity, ParityCase, ParityReport, TensorParity, parity
from skiff._ports import ImageInput, Plan, Port, Quantization, Signature, Symbol, Variable
from skiff._report import Report, report
from skiff._session import MemoryUsage, NodeProfile, Outputs, Session, ThreadPool
from skiff._torch import from_torch

__version__: str = build_info()["version"]

__all__ = [
    "BackendParity",
    "BenchReport",
    "Bucket",
    "BucketProposal",
    "Cancelled",
    "ClassScore",
    "DeviceLost",
    "Dim",
    "Eager",
    "Error",
    "Image",
    "ImageInput",
    "Inspection",
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
    "ParityCase",
    "ParityError",
    "ParityReport",
    "Plan",
    "Port",
    "Quantization",
    "Report",
    "Session",
    "Signature",
    "Symbol",
    "TensorParity",
    "ThreadPool",
    "Unsupported",
    "Variable",
    "bench",
    "build_info",
    "convert",
    "eager",
    "empty",
    "from_torch",
    "inspect",
    "parity",
    "propose_buckets",
    "random_inputs",
    "report",
]
