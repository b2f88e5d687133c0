"""Parity: does a converted model compute what its source computes?"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

import numpy as np

from skiff import _skiff
from skiff._arguments import chosen, finite, listed, named, one_line, ranges, open_sizes, shown, whole
from skiff._convert import Sizes, conversion_options, named_dims
from skiff._errors import InvalidArgument, ParityError, Unsupported
from skiff._html import table
from skiff._model import Model
from skiff._places import path_of
from skiff._progress import reporter
from skiff._sources import in_file, is_torch

_BACKENDS = ("xnnpack", "vulkan", "reference")

#: A folder of files, arrays by name, or a function from the inputs by name to outputs.
Expected = Union[str, os.PathLike, Mapping[str, Any], Callable[..., Any], None]


@dataclasses.dataclass(frozen=True)
class TensorParity:
    """One tensor compared. ``relative_error`` is the largest error as a share of the largest expected element."""

    name: str
    op: str
    dtype: np.dtype
    shape: tuple[int, ...]
    ok: bool
    problem: str
    elements: int
    outside: int
    largest: float
    max_error: float
    relative_error: float
    allowed: float
    share_of_allowed: float
    tolerance: str
    measured: bool


@dataclasses.dataclass(frozen=True)
class BackendParity:
    """One backend beside eager mode (``outputs``, ``layers``) and beside what was expected (``expected``)."""

    backend: str
    ok: bool
    outputs: tuple[TensorParity, ...]
    expected: tuple[TensorParity, ...]
    layers: tuple[TensorParity, ...]
    fused_away: int
    unstable: str
    refused: str


@dataclasses.dataclass(frozen=True)
class ParityCase:
    """One call: a signature at certain sizes of its open dimensions (``"batch=2, seq=7"``), and a step of a net with state."""

    signature: str
    sizes: str
    step: int
    ok: bool
    eager_expected: tuple[TensorParity, ...]
    backends: tuple[BackendParity, ...]
    refused: str
    verdict: str
    text: str


class ParityReport:
    """What :func:`parity` found. It is true where everything agreed.

    >>> report = skiff.parity("net.onnx", model, layers=True)
    >>> report.raise_if_failed()
    >>> print(report)

    Notebooks show it as a table.
    """

    def __init__(self, cases: Iterable[ParityCase], page: Callable[[], str] | None = None) -> None:
        self.cases = tuple(cases)
        self._page = page

    def html(self) -> str:
        """The page of :func:`skiff.report` about this model and its source, for which both are run again, at the sizes of the first
        case: the graph, times and memory beside the errors, layer by layer."""
        if self._page is None:
            raise InvalidArgument("this ParityReport was not made by parity(), which knows the model and its source")
        return self._page()

    def _repr_html_(self) -> str:
        rows = [
            (case.sizes, backend.backend, row.name, row.op, "yes" if row.ok else "no", row.relative_error, row.problem or row.tolerance)
            for case in self.cases
            for backend in case.backends
            for row in (*backend.outputs, *backend.expected, *backend.layers)
        ]
        most = 200
        return table(
            self.verdict,
            ("sizes", "backend", "tensor", "operator", "agrees", "error / largest element", "what is allowed"),
            rows[:most],
            f"and {len(rows) - most} more" if len(rows) > most else "",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ParityReport, (self.cases,)

    @property
    def ok(self) -> bool:
        """Whether all cases agreed, and at least one was compared."""
        compared = any(case.backends and not case.refused for case in self.cases)
        return compared and all(case.ok for case in self.cases)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def outputs(self) -> tuple[TensorParity, ...]:
        """All comparisons of outputs: with eager mode and with what was expected, of all cases and backends."""
        rows: list[TensorParity] = []
        for case in self.cases:
            rows += case.eager_expected
            for backend in case.backends:
                rows += [*backend.outputs, *backend.expected]
        return tuple(rows)

    @property
    def layers(self) -> tuple[TensorParity, ...]:
        """All comparisons of inner tensors with eager mode, in the source's order; needs ``layers=True``."""
        return tuple(row for case in self.cases for backend in case.backends for row in backend.layers)

    @property
    def worst(self) -> TensorParity | None:
        """The comparison of an output that is furthest beyond, or nearest to, what is allowed; None where nothing was compared."""
        return max(
            self.outputs,
            key=lambda row: (not row.ok, float("inf") if row.problem else row.share_of_allowed, row.relative_error),
            default=None,
        )

    @property
    def verdict(self) -> str:
        """One sentence: of the first case that fails, or of all."""
        if not self.cases:
            return "PARITY FAILED: nothing was compared"
        for case in self.cases:
            if not case.ok:
                where = ", ".join(filter(None, (self._of(case), one_line(case.sizes), f"step {case.step}" if case.step else "")))
                return case.verdict.replace("PARITY FAILED: ", f"PARITY FAILED at {where}: ") if where else case.verdict
        if not self.ok:
            return "PARITY FAILED: the source refuses all of these inputs, so that nothing was compared"
        if len(self.cases) == 1:
            return self.cases[0].verdict
        worst = max((row.relative_error for row in self.outputs), default=0.0)
        return f"PARITY OK: {len(self.cases)} calls, worst error {worst:.2e} of the largest element"

    def raise_if_failed(self) -> ParityReport:
        """Raises :class:`ParityError` with the verdict, or returns the report."""
        if not self.ok:
            raise ParityError(self.verdict)
        return self

    def _of(self, case: ParityCase) -> str:
        return f"signature {case.signature!r}" if len({one.signature for one in self.cases}) > 1 else ""

    def __str__(self) -> str:
        parts = []
        for case in self.cases:
            heading = ", ".join(filter(None, (self._of(case), one_line(case.sizes), f"step {case.step}" if case.step else "")))
            parts.append(f"{heading}\n{case.text}" if heading else case.text)
        if len(self.cases) > 1:
            parts.append(self.verdict + "\n")
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"<skiff.ParityReport: {self.verdict}>"


def _rows(described: list[dict[str, Any]]) -> tuple[TensorParity, ...]:
    return tuple(TensorParity(**row) for row in described)


def _case(signature: str, step: int, described: dict[str, Any]) -> ParityCase:
    backends = tuple(
        BackendParity(
            backend=one["backend"],
            ok=one["ok"],
            outputs=_rows(one["outputs"]),
            expected=_rows(one["expected"]),
            layers=_rows(one["layers"]),
            fused_away=one["fused_away"],
            unstable=one["unstable"],
            refused=one["refused"],
        )
        for one in described["backends"]
    )
    return ParityCase(
        signature=signature,
        sizes=described["sizes"],
        step=step,
        ok=described["ok"],
        eager_expected=_rows(described["eager_expected"]),
        backends=backends,
        refused=described["refused"],
        verdict=described["verdict"],
        text=described["text"],
    )


def _seed_and_range(text: str) -> tuple[int, tuple[float, float] | None]:
    """``random:7`` and ``random:7:0..255``."""
    parts = text.split(":")
    try:
        seed = whole("seed", int(parts[1]), 0)
        if len(parts) == 2:
            return seed, None
        low, high = parts[2].split("..")
        if len(parts) == 3 and seed >= 0 and float(low) < float(high):
            return seed, (float(low), float(high))
    except (IndexError, ValueError):
        pass
    raise InvalidArgument(f"inputs is {text!r}; expected random:SEED or random:SEED:LOW..HIGH, for example random:7:0..255")


def _by_onnxruntime(path: str, constants: Mapping[str, float]) -> Callable[..., Mapping[str, np.ndarray]]:
    try:
        import onnxruntime
    except ImportError as error:
        raise Unsupported(f'expect="onnxruntime" needs the package: pip install onnxruntime ({error})') from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # What changes no numbers.
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    own_names = {"float": "float32", "double": "float64"}
    fixed = {
        port.name: np.full([1] * len(port.shape), constants[port.name], own_names.get(kind := port.type[len("tensor(") : -1], kind))
        for port in session.get_inputs()
        if port.name in constants
    }
    names = [port.name for port in session.get_outputs()]
    return lambda **inputs: dict(zip(names, session.run(names, {**inputs, **fixed})))


def _check_names(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Where nothing is of an output, nothing would be compared, and nothing fail."""
    if not any(name in given for name in names):
        what = ", ".join(map(repr, given)) or "nothing"
        raise InvalidArgument(f"expect gave none of the outputs {', '.join(map(repr, names))}; it gave {what}")


def _check_known(what: str, given: Iterable[str], known: Sequence[str], kind: str) -> None:
    """What is of no such name would be ignored, and never judged."""
    for name in given:
        if name not in known:
            raise InvalidArgument(f"{what}: there is no {kind} {name!r}; there are {', '.join(map(repr, known))}")


def _tolerance(what: str, value: float | None) -> float | None:
    if value is None or isinstance(value, str):  # Which the native part refuses.
        return value
    number = finite(what, value)
    if number < 0:
        raise InvalidArgument(f"{what} is {shown(value)}; expected 0 or more")
    return number


def _outputs_of(result: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """What a function returned, by the names of the outputs."""
    if isinstance(result, Mapping):
        given = result
    elif isinstance(result, (tuple, list)):
        given = dict(zip(names, result))
    else:
        given = {names[0]: result}
    arrays = {}
    for name, value in given.items():
        if name in names:
            value = value.detach() if hasattr(value, "detach") else value
            arrays[name] = np.asarray(value)
    _check_names(given, names)
    return arrays


def parity(
    source: Any,
    model: Model | str | os.PathLike[str] | bytes | None = None,
    *,
    inputs: str | os.PathLike[str] | Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    input_ranges: Mapping[str, tuple[float, float]] | None = None,
    expect: Expected = None,
    backends: Iterable[str] | str | None = None,
    layers: bool = False,
    at: Mapping[str, int] | Iterable[Mapping[str, int]] | None = None,
    sweep: bool = False,
    steps: int = 1,
    repeat: int = 1,
    threads: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, Sizes] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    buckets: Mapping[str, Iterable[Sizes]] | None = None,
    constants: Mapping[str, float] | None = None,
    state: Mapping[str, str] | None = None,
    signatures: Iterable[str] | str | None = None,
    disable_passes: Iterable[str] = (),
    xnnpack: bool = True,
    custom: Iterable[str] = (),
    custom_libraries: Iterable[str | os.PathLike[str]] = (),
    progress: bool | Callable[[str], None] | None = None,
) -> ParityReport:
    """Compares a model with its source, which runs eagerly, and with what another framework computes.

    >>> skiff.parity("net.onnx", model, layers=True).raise_if_failed()
    >>> skiff.parity("net.onnx", expect="onnxruntime", sweep=True, dims={"seq": (1, 512)})

    source: as for :func:`convert`. model: what was made from it; without it, the source is converted here and now, with the options
    that :func:`convert` has.
    inputs: arrays by name, a folder of them, ``"random:SEED"`` (the default, with seed 1), ``"random:SEED:LOW..HIGH"``, or a function
    from the sizes of open dimensions by name to arrays by name. input_ranges: of single random inputs, as ``{"mask": (0, 1)}``.
    expect: outputs of the original framework: arrays by name, a folder, ``"onnxruntime"``, ``"torch"`` (where the source is a module),
    or a function of the inputs (by keyword) that returns outputs by name, or in their order.
    backends: of ``"xnnpack"``, ``"vulkan"``, ``"reference"``; the first and the last by default.
    layers: compare every tensor of the source that the plan still has.
    at: sizes of open dimensions, or several such; sweep: the edges of every plan. steps: runs of a net with state, each with other
    inputs. repeat: runs whose bits must be the same.
    rtol, atol: an element may differ by ``atol + rtol * |expected|``; by default by what rounding costs this net.

    Raises as :func:`convert`, and :class:`InvalidArgument` where source and model do not belong together. That they differ is no error
    but a report that is false.
    """
    if is_torch(source):
        from skiff._torch import export, run_module, sizes_of

        module = source
        if expect == "torch":
            expect = run_module(module)
        source = export(module, example_inputs, dynamic_shapes)
        dims = {**sizes_of(dynamic_shapes), **named_dims(dims)} if model is None else dims
    elif isinstance(expect, str) and expect == "torch":
        raise InvalidArgument('expect="torch" needs a torch module as the source; a function may compute what is expected as well')
    names = listed("backends", backends, '["xnnpack"]')
    for name in names:
        chosen("backend", name, _BACKENDS)
    if not (inputs is None or isinstance(inputs, (str, os.PathLike, Mapping)) or callable(inputs)):
        raise InvalidArgument(
            f'inputs is {type(inputs).__name__}; expected arrays by name, as {{"x": array}}, a folder, "random:SEED", or a function'
        )
    if not (expect is None or isinstance(expect, (str, os.PathLike, Mapping)) or callable(expect)):
        raise InvalidArgument(
            f'expect is {type(expect).__name__}; expected arrays by name, as {{"y": array}}, a folder, "onnxruntime", "torch", or a function'
        )
    calls = [open_sizes(one, "at") for one in ([at] if isinstance(at, Mapping) else listed("at", at, '{"batch": 1}'))]
    steps = whole("steps", steps, 1)
    from_random = inputs is None or (isinstance(inputs, str) and inputs.startswith("random:"))
    if not from_random and not callable(inputs) and (sweep or len(calls) > 1 or steps > 1):
        raise InvalidArgument("sweep, steps and several at need random inputs, or a function that makes them: arrays have one size")
    options = conversion_options(
        dims, shapes, buckets, constants, state, signatures, disable_passes, xnnpack, custom, custom_libraries
    )
    options.update(
        backends=names,
        threads=threads or 0,
        repeat=repeat,
        layers=layers,
        note_refusals=bool(sweep or calls or steps > 1),
        keep_state=steps > 1,
        rtol=_tolerance("rtol", rtol),
        atol=_tolerance("atol", atol),
    )
    if isinstance(inputs, (str, os.PathLike)) and not from_random:
        options["inputs"] = path_of(inputs, "inputs")
    elif isinstance(inputs, Mapping) and model is None:
        # Dimensions of which no option speaks have the sizes of these arrays.
        said = {text.split("=")[0] for text in options["shapes"]}
        options["shapes"] += [
            f"{name}={'x'.join(str(extent) for extent in np.shape(array))}"
            for name, array in inputs.items()
            if name not in said and name not in (constants or {}) and not dims
        ]
    given_model = _as_source(model)
    with in_file(source) as path, in_file(given_model) as model_path, reporter(progress, "parity") as report:
        options.update(source=path, model=model_path, progress=report)
        run = _skiff.ParityRun(options)
        ports = [run.ports(pair) for pair in range(len(run.names()))]
        if isinstance(inputs, Mapping):
            known = [name for names_of_inputs, _ in ports for name in names_of_inputs]
            if all(name in inputs for name in known):  # Else the one that is not is spoken of.
                _check_known("inputs", (name for name in inputs if name not in (constants or {})), known, "input")
        if isinstance(expect, Mapping):
            known = [name for _, names_of_outputs in ports for name in names_of_outputs]
            _check_names(expect, known)
            _check_known("expect", expect, known, "output")
        if isinstance(expect, str) and expect == "onnxruntime":
            expect = _by_onnxruntime(path, run.constants())
        cases = [
            case
            for pair, name in enumerate(run.names())
            for case in _cases(run, pair, name, inputs, ranges(input_ranges), expect, calls, sweep, steps)
        ]

    def page() -> str:
        from skiff._convert import convert
        from skiff._report import report

        made = model
        if made is None:
            made = convert(
                source, dims=dims, shapes=shapes, buckets=buckets, constants=constants, state=state, signatures=signatures,
                disable_passes=disable_passes, xnnpack=xnnpack, custom=custom, custom_libraries=custom_libraries,
            )  # fmt: skip
        sizes = dict(calls[0]) if calls else _sizes_of(cases[0].sizes if cases else "")
        arrays: Any = inputs(sizes) if callable(inputs) else inputs if isinstance(inputs, Mapping) else None
        seed = _seed_and_range(inputs)[0] if isinstance(inputs, str) and from_random else 1
        return report(
            made, source, backends=names or ("xnnpack",), inputs=arrays, seed=seed, sizes={} if arrays else sizes,
            input_ranges=input_ranges, threads=threads, signature=cases[0].signature if cases else None,
        ).html  # fmt: skip

    return ParityReport(cases, page)


def _sizes_of(text: str) -> dict[str, int]:
    """Of a case: "batch=2, seq=7"."""
    return {name: int(size) for name, size in re.findall(r"(.+?)=(\d+)(?:, |$)", text)}


def _as_source(model: Any) -> Any:
    """The tool's empty path where there is none."""
    if isinstance(model, Model):
        return model._source() if model._path is not None else model.to_bytes()
    return "" if model is None else model


def _place_in(names: Sequence[str]) -> Callable[[str], int]:
    """In this order; others, which are state, behind."""
    return lambda name: names.index(name) if name in names else len(names)


def _cases(
    run: Any,
    pair: int,
    signature: str,
    inputs: Any,
    ranges: Mapping[str, tuple[float, float]],
    expect: Any,
    at: list[Mapping[str, int]],
    sweep: bool,
    steps: int,
) -> Iterable[ParityCase]:
    input_names, output_names = run.ports(pair)
    for sizes in run.calls(pair, at, sweep):
        for step in range(steps):
            if inputs is None or (isinstance(inputs, str) and inputs.startswith("random:")):
                seed, span = _seed_and_range(inputs or "random:1")
                arrays = run.random_inputs(pair, sizes, (seed + step) % 2**64, span, dict(ranges))
            elif callable(inputs):
                arrays = named("what inputs() returned", inputs(run.named_sizes(pair, sizes)), '{"x": array}')
            elif isinstance(inputs, Mapping):
                arrays = dict(inputs)
            else:
                arrays = run.folder_inputs(pair, sizes, os.fspath(inputs))
            if missing := [name for name in input_names if name not in arrays]:
                given = ", ".join(map(repr, arrays)) or "nothing"
                raise InvalidArgument(f"inputs lacks {', '.join(map(repr, missing))}; given was {given}")
            if expect is None:
                expected: Mapping[str, Any] = {}
            elif callable(expect):
                everything = run.with_state(pair, arrays)
                ordered = {name: everything[name] for name in sorted(everything, key=_place_in(input_names))}
                expected = _outputs_of(expect(**ordered), output_names)
            elif isinstance(expect, Mapping):
                expected = expect
            else:
                expected = run.folder_outputs(pair, sizes, os.fspath(expect))
            yield _case(signature, step + 1 if steps > 1 else 0, run.check(pair, arrays, dict(expected)))
