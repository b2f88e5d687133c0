"""Skiff turns a trained net into one small file for phones and boards, runs it, and proves that it still computes the same numbers.

>>> import skiff
>>> model = skiff.convert("net.onnx", dims={"batch": 1})
>>> skiff.parity("net.onnx", model).raise_if_failed()
>>> model.save("net.skiff")
>>> outputs = skiff.Model("net.skiff").session()(image=image)
"""

import sys as _sys
from importlib.machinery import ModuleSpec as _ModuleSpec

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
from skiff._frameworks import from_jax, from_keras, from_tf
from skiff._function import (
    Function,
    FunctionStatistics,
    assert_,
    check_numerics,
    cond,
    function,
    functions_to_model,
    print,
    while_loop,
)
from skiff._measure import BenchReport, Bucket, BucketProposal, Inspection, bench, build_info, inspect, propose_buckets, random_inputs
from skiff._model import ClassScore, Graph, Model
from skiff._parity import BackendParity, ParityCase, ParityReport, TensorParity, parity
from skiff._ports import ImageInput, Plan, Port, Quantization, Signature, Symbol, VariableInfo
from skiff._quantize import QuantizeReport, quantize
from skiff._report import Report, report
from skiff._session import MemoryUsage, NodeProfile, Outputs, Session, ThreadPool
from skiff._skiff import (
    ConcreteFunction,
    ScopedCheckEveryResult,
    ScopedRunEagerly,
    Tensor,
    Variable,
    checks_every_result,
    functions_run_eagerly,
    set_check_every_result,
    set_run_functions_eagerly,
)
from skiff._torch import from_torch

# Of the native part; under this name its stub is found, and ``from skiff.ops import matmul`` works.
_sys.modules["skiff.ops"] = _sys.modules["skiff._skiff.ops"]
from skiff import ops  # noqa: E402

ops.__spec__ = _ModuleSpec("skiff.ops", None)  # importlib.util.find_spec() wants one.
__version__: str = build_info()["version"]

__all__ = [
    "BackendParity",
    "BenchReport",
    "Bucket",
    "BucketProposal",
    "Cancelled",
    "ClassScore",
    "ConcreteFunction",
    "DeviceLost",
    "Dim",
    "Eager",
    "Error",
    "Function",
    "FunctionStatistics",
    "Graph",
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
    "QuantizeReport",
    "Report",
    "ScopedCheckEveryResult",
    "ScopedRunEagerly",
    "Session",
    "Signature",
    "Symbol",
    "Tensor",
    "TensorParity",
    "ThreadPool",
    "Unsupported",
    "Variable",
    "VariableInfo",
    "assert_",
    "bench",
    "build_info",
    "check_numerics",
    "checks_every_result",
    "cond",
    "convert",
    "eager",
    "empty",
    "from_jax",
    "from_keras",
    "from_tf",
    "from_torch",
    "function",
    "functions_run_eagerly",
    "functions_to_model",
    "inspect",
    "ops",
    "parity",
    "print",
    "propose_buckets",
    "quantize",
    "random_inputs",
    "report",
    "set_check_every_result",
    "set_run_functions_eagerly",
    "while_loop",
]
