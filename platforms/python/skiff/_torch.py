"""From torch, with its own exporters."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import warnings
from typing import Any, Callable, Iterator, Mapping

from skiff._errors import InvalidArgument, Unsupported

_EXPORTERS = ("auto", "dynamo", "torchscript")


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise Unsupported(f"from_torch() needs torch: pip install torch ({error})") from error
    return torch


def _tuple(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As arguments and keywords."""
    if example_inputs is None:
        return (), {}
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def _by_dynamo(torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, options: dict[str, Any]) -> Any:
    """torch.export and its translation, in memory: an ONNXProgram."""
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise Unsupported(f"torch's new exporter needs onnxscript: pip install onnx onnxscript ({error})") from error
    if hasattr(module, "graph_module"):  # An ExportedProgram knows its inputs.
        return torch.onnx.export(module, dynamo=True, **options)
    return torch.onnx.export(module, args, kwargs=kwargs or None, dynamic_shapes=dynamic_shapes, dynamo=True, **options)


def _argument_names(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str] | None:
    """What the module calls its tensors, for the tracer, which calls them by numbers; None where that is not one name for each."""
    try:
        names = list(inspect.signature(module.forward).parameters)[: len(args)]
    except (AttributeError, TypeError, ValueError):
        return None
    tensors = [*args, *kwargs.values()]
    return [*names, *kwargs] if len(names) == len(args) and all(hasattr(one, "detach") for one in tensors) else None


def _by_torchscript(torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, options: dict[str, Any]) -> Any:
    """The tracer of old: the bytes of a model."""
    if hasattr(module, "graph_module"):
        raise InvalidArgument('an ExportedProgram is for torch\'s new exporter: exporter="dynamo"')
    target = io.BytesIO()
    keywords = dict(options)
    if names := _argument_names(module, args, kwargs):
        keywords.setdefault("input_names", names)
    if dynamic_shapes is not None:
        keywords.setdefault("dynamic_axes", _axes(dynamic_shapes, keywords))
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        keywords["dynamo"] = False
    with _plain_attention(torch):
        torch.onnx.export(module, (*args, kwargs) if kwargs else args, target, **keywords)
    return target.getvalue()


@contextlib.contextmanager
def _plain_attention(torch: Any) -> Iterator[None]:
    """Without operators of whole transformer layers, which no ONNX opset has."""
    mha: Any = getattr(torch.backends, "mha", None)
    fast = mha is not None and mha.get_fastpath_enabled()
    if fast:
        mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        if fast:
            mha.set_fastpath_enabled(True)


def _by_axis(shape: Any) -> dict[int, Any]:
    """One input's entry of dynamic_shapes, whichever way it is written."""
    entries = shape.items() if isinstance(shape, Mapping) else enumerate(shape)
    return {axis: dim for axis, dim in entries if dim is not None}


def _name_of(dim: Any, fallback: str) -> str:
    """Of a torch.export.Dim or a string; hints such as Dim.DYNAMIC have none."""
    if isinstance(dim, str):
        return dim
    return dim.__name__ if isinstance(dim, type) or hasattr(dim, "min") else fallback


def _axes(dynamic_shapes: Any, keywords: dict[str, Any]) -> dict[str, dict[int, str]]:
    """dynamic_shapes of the new exporter as dynamic_axes of the old one: {name: {axis: dimension}}."""
    if isinstance(dynamic_shapes, Mapping):
        named = dict(dynamic_shapes)
        keywords.setdefault("input_names", list(named))
    else:
        names = keywords.setdefault("input_names", [f"input_{i}" for i in range(len(dynamic_shapes))])
        named = dict(zip(names, dynamic_shapes))
    return {
        name: {axis: _name_of(dim, f"{name}_{axis}") for axis, dim in _by_axis(shape).items()}
        for name, shape in named.items()
        if shape is not None
    }


def sizes_of(dynamic_shapes: Any) -> dict[str, Any]:
    """What torch.export.Dim(name, min=..., max=...) says of sizes, which no exporter writes down."""
    endless = 1 << 60  # Torch's own infinities are larger.
    sizes: dict[str, Any] = {}
    shapes = dynamic_shapes.values() if isinstance(dynamic_shapes, Mapping) else dynamic_shapes or ()
    for shape in shapes:
        if not isinstance(shape, (Mapping, tuple, list)):
            continue
        for dim in _by_axis(shape).values():
            least, most = getattr(dim, "min", None), getattr(dim, "max", None)
            if not isinstance(least, int) or isinstance(dim, str):
                continue
            end = int(most) if isinstance(most, int) and most < endless else None
            if end is not None or least > 1:
                sizes[dim.__name__] = (max(int(least), 1), end)
    return sizes


def _tell_of_fixed(program: Any, dynamic_shapes: Any) -> None:
    """Warns of axes that a torch.export.Dim was to leave open, of which torch makes numbers without a word where the code needs one."""
    ports = {port.name: port for port in program.model.graph.inputs}
    if isinstance(dynamic_shapes, Mapping):
        named = [(ports.get(name), shape) for name, shape in dynamic_shapes.items()]
    else:  # Where arguments are nested, nothing says which input is whose.
        named = list(zip(ports.values(), dynamic_shapes or ())) if len(ports) == len(dynamic_shapes or ()) else []
    for port, shape in named:
        if port is None or port.shape is None or not isinstance(shape, (Mapping, tuple, list)):
            continue
        for axis, dim in _by_axis(shape).items():
            if hasattr(dim, "__name__") and isinstance(axis, int) and isinstance(port.shape[axis], int):
                logging.getLogger("skiff").warning(
                    "input %r: axis %d (%r) is %d in what torch has exported, although it was to be open: the module computes with that "
                    "number, as x.view(%d, -1) would; x.view(x.shape[0], -1) leaves it open",
                    port.name, axis, dim.__name__, port.shape[axis], port.shape[axis],
                )  # fmt: skip


def export(module: Any, example_inputs: Any, dynamic_shapes: Any = None, exporter: str = "auto", **options: Any) -> Any:
    """An ONNX model of a module, in memory: an ONNXProgram, or bytes."""
    torch = _torch()
    if exporter not in _EXPORTERS:
        raise InvalidArgument(f"exporter is {exporter!r}; expected one of {', '.join(map(repr, _EXPORTERS))}")
    args, kwargs = _tuple(example_inputs)
    training = getattr(module, "training", False)
    if training and hasattr(module, "eval"):
        module.eval()
    options.setdefault("verbose", False)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if exporter == "torchscript":
                return _by_torchscript(torch, module, args, kwargs, dynamic_shapes, options)
            try:
                program = _by_dynamo(torch, module, args, kwargs, dynamic_shapes, options)
                _tell_of_fixed(program, dynamic_shapes)
                return program
            except Unsupported:
                if exporter == "dynamo" or hasattr(module, "graph_module"):
                    raise
                return _by_torchscript(torch, module, args, kwargs, dynamic_shapes, options)
    finally:
        if training and hasattr(module, "train"):
            module.train()


def from_torch(
    module: Any,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    *,
    exporter: str = "auto",
    export_options: Mapping[str, Any] | None = None,
    **convert_options: Any,
) -> Any:
    """Exports a torch.nn.Module or ExportedProgram with the installed torch's own exporter, in memory, and converts it.

    >>> model = skiff.from_torch(net, (torch.randn(1, 3, 224, 224),))
    >>> model = skiff.from_torch(net, (ids,), {"ids": {0: "batch", 1: "seq"}}, dims={"batch": (1, 8), "seq": (1, 512)})

    example_inputs: a tensor, a tuple of them, or a dictionary of keywords. dynamic_shapes: as torch.onnx.export() has it; the sizes that
    a torch.export.Dim allows are those of the model, unless ``dims`` says others.
    exporter: ``"dynamo"`` (the new one, which needs onnxscript), ``"torchscript"`` (the tracer), or ``"auto"``: the new one where its
    packages are there. export_options: more for torch.onnx.export(), as ``{"opset_version": 20}``. The rest goes to :func:`convert`.

    The module is put into eval mode for the export. Raises as :func:`convert`; what torch raises while exporting is torch's.
    """
    from skiff._convert import convert, named_dims

    exported = export(module, example_inputs, dynamic_shapes, exporter, **dict(export_options or {}))
    dims = {**sizes_of(dynamic_shapes), **named_dims(convert_options.pop("dims", None))}
    return convert(exported, dims=dims, **convert_options)


def run_module(module: Any) -> Callable[..., Any]:
    """A function from arrays, by keyword, in the order of the module's arguments, to what the module returns."""
    torch = _torch()

    def run(**inputs: Any) -> Any:
        callee = module.module() if hasattr(module, "graph_module") else module
        training = getattr(callee, "training", False)
        with torch.no_grad():
            if training and not hasattr(module, "graph_module"):
                callee.eval()
            try:
                return callee(*(torch.from_numpy(array) for array in inputs.values()))
            finally:
                if training and not hasattr(module, "graph_module"):
                    callee.train()

    return run
