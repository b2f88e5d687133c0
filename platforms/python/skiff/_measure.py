"""What is inside of models, and how fast they are."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple

import numpy as np

from skiff import _skiff
from skiff._arguments import chosen, listed, named, ranges, real, open_sizes, whole
from skiff._convert import Dim, Sizes, dim_of
from skiff._errors import InvalidArgument
from skiff._html import table
from skiff._model import Model
from skiff._places import path_of
from skiff._progress import reporter
from skiff._sources import in_file


class BenchReport(dict):
    """What ``skiff bench --json`` prints, as a dictionary: times in nanoseconds, sizes in bytes. ``str()`` is what it prints for people.

    Notebooks show it as a table of the nodes.
    """

    def __init__(self, facts: Mapping[str, Any], text: str, page: Callable[[], str] | None = None) -> None:
        super().__init__(facts)
        self._text = text
        self._page = page

    def html(self) -> str:
        """The page of :func:`skiff.report` about this model with these inputs, for which it is run again."""
        if self._page is None:
            raise InvalidArgument("this BenchReport was not made by bench(), which knows the model")
        return self._page()

    def _repr_html_(self) -> str:
        nodes = sorted(self["nodes"], key=lambda node: -node["median_ns"])
        whole = sum(node["median_ns"] for node in nodes) or 1
        most = 20
        return table(
            f"{self['model']} on {self['backend']}: {self['median_ns'] / 1e3:.1f} µs a run, {self['min_ns'] / 1e3:.1f} the fastest",
            ("node", "operator", "delegate", "µs", "% of the nodes"),
            ((n["name"], n["operator"], n["delegate"], n["median_ns"] / 1e3, 100.0 * n["median_ns"] / whole) for n in nodes[:most]),
            f"and {len(nodes) - most} more" if len(nodes) > most else "",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return BenchReport, (dict(self), self._text)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Inspection(dict):
    """What ``skiff inspect --json`` prints, as a dictionary. ``str()`` is what it prints for people."""

    def __init__(self, facts: Mapping[str, Any], text: str) -> None:
        super().__init__(facts)
        self._text = text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Bucket(NamedTuple):
    """What a plan for sizes up to ``largest`` costs: bytes, the share of all calls, and the share of a run's time that is lost."""

    smallest: int
    largest: int
    exact: bool
    arena_bytes: int
    calls: float
    time_lost: float


class BucketProposal(NamedTuple):
    """Which plans are worth it. ``dims`` and ``buckets_option`` are what :func:`convert` takes."""

    symbol: str
    buckets: tuple[Bucket, ...]
    cost: float
    cost_of_one: float
    dims: dict[str, tuple[int, int] | Dim]

    @property
    def buckets_option(self) -> dict[str, list[tuple[int, int]]]:
        """As ``buckets=``. The last bucket needs no plan of its own: the plan for all shapes serves it with the same memory."""
        own = [(bucket.largest if bucket.exact else bucket.smallest, bucket.largest) for bucket in self.buckets[:-1]]
        return {self.symbol: own} if own else {}


def _opened(model: Model | str | os.PathLike[str] | bytes, cache_folder: Any = None) -> Model:
    if isinstance(model, Model):
        if cache_folder is not None:
            raise InvalidArgument("cache_folder is for a path; this Model was opened already")
        return model
    return Model(model, cache_folder)


def _name(model: Model) -> str:
    return model._path or "the model in memory"


def random_inputs(
    model: Model | str | os.PathLike[str] | bytes,
    seed: int = 1,
    *,
    sizes: Mapping[str, int] | None = None,
    range: tuple[float, float] | None = None,
    input_ranges: Mapping[str, tuple[float, float]] | None = None,
    signature: str | None = None,
) -> dict[str, np.ndarray]:
    """Values for the inputs of a model, the same for the same seed on every machine.

    sizes: of open dimensions; else the largest of their contract, or 7 where it has no end. range: of reals, [low, high) ([-1, 1) by
    default; samples of pictures where the file says how these become inputs). input_ranges: of single inputs, integers with both ends.

    Raises :class:`InvalidArgument`.
    """
    reals = None if range is None else ranges({"range": range}, "the range of reals")["range"]
    return _skiff.random_inputs(
        _opened(model)._handle, whole("seed", seed, 0), open_sizes(sizes), reals, ranges(input_ranges), signature
    )


def bench(
    model: Model | str | os.PathLike[str] | bytes,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 1,
    sizes: Mapping[str, int] | None = None,
    input_ranges: Mapping[str, tuple[float, float]] | None = None,
    signature: str | None = None,
    backend: str = "xnnpack",
    threads: int | None = None,
    exact: bool = False,
    runs: int = 50,
    warmup: int = 5,
    top: int = 20,
    cache_folder: str | os.PathLike[str] | None = None,
) -> BenchReport:
    """Measures whole runs without profiling, then single nodes with it. The GIL is free meanwhile.

    inputs: arrays by name; random ones by default (see :func:`random_inputs`). backend: ``"xnnpack"``, ``"vulkan"`` or ``"reference"``.
    top: how many of the slowest nodes the text has.
    """
    opened = _opened(model, cache_folder)
    options = {
        "inputs": None if inputs is None else named("inputs", inputs, '{"x": array}'),
        "seed": whole("seed", seed, 0),
        "sizes": open_sizes(sizes),
        "input_ranges": ranges(input_ranges),
        "signature": signature or "",
        "backend": chosen("backend", backend, ("xnnpack", "vulkan", "reference")),
        "threads": threads or 0,
        "exact": exact,
        "runs": whole("runs", runs, 1),
        "warmup": whole("warmup", warmup, 0),
        "top": whole("top", top, 0),
    }
    facts, text = _skiff.bench(opened._handle, _name(opened), options)

    def page() -> str:
        from skiff._report import report  # Which needs models.

        return report(
            opened, backends=backend, inputs=inputs, seed=seed, sizes=sizes, input_ranges=input_ranges, signature=signature,
            threads=threads, exact=exact, runs=runs,
        ).html  # fmt: skip

    return BenchReport(json.loads(facts), text, page)


def inspect(model: Any, *, nodes: bool = False) -> Inspection:
    """What is inside of a .skiff, .onnx or .tflite file: a path, its bytes, a Model or an onnx.ModelProto.

    nodes: whether the text lists all nodes; the dictionary always does.
    """
    if not isinstance(model, Model):
        with in_file(model) as path:
            if _skiff.language_of(path) != "Skiff model" and not path.endswith(".skiff"):
                text, facts = _skiff.inspect_source(path, path, nodes)
                if not path.startswith("/proc/self/fd/"):
                    return Inspection(json.loads(facts), text)
                facts = json.loads(facts)
                facts["file"] = "the model in memory"
                return Inspection(facts, text.replace(path, "the model in memory"))
        model = Model(model)
    text, facts = _skiff.inspect_model(model._handle, _name(model), nodes)
    return Inspection(json.loads(facts), text)


def propose_buckets(
    source: Any,
    shapes: str | os.PathLike[str] | Iterable[Mapping[str, int]] | None = None,
    *,
    uniform: Mapping[str, Sizes] | None = None,
    max_plans: int = 4,
    threads: int | None = None,
    signature: str | None = None,
    progress: bool | Callable[[str], None] | None = None,
) -> BucketProposal:
    """Which buckets are worth plans of their own, for the shapes that occur. Times are measured here and now.

    shapes: a CSV file with a header of dimension names, or the sizes of each call (a key ``"count"`` says how often); uniform: every
    size of a range equally often, as ``{"seq": (1, 128)}``.

    Raises :class:`InvalidArgument` where the shapes name dimensions that the source has not, or leave one out.
    """
    if (shapes is None) == (uniform is None):
        raise InvalidArgument("say which shapes occur: shapes or uniform, one of them")
    if uniform is not None:
        dims = {name: dim_of(sizes) for name, sizes in named("uniform", uniform, '{"seq": (1, 128)}').items()}
        for name, dim in dims.items():
            if dim.max is None:
                raise InvalidArgument(f"uniform: {name!r} needs a largest size, for example {{{name!r}: (1, 128)}}")
        observed: Any = {name: (dim.min, dim.max, dim.multiple) for name, dim in dims.items()}
    elif isinstance(shapes, (str, os.PathLike)):
        observed = path_of(shapes, "shapes")
    else:
        rows = [named("shapes", row, '[{"seq": 7, "count": 3}]') for row in listed("shapes", shapes, '[{"seq": 7, "count": 3}]')]
        observed = [
            (open_sizes({name: size for name, size in row.items() if name != "count"}, "shapes"), real("count", row.get("count", 1)))
            for row in rows
        ]
    with in_file(source) as path, reporter(progress, "buckets") as report:
        found = _skiff.propose_buckets(
            path, observed, uniform is not None, whole("max_plans", max_plans, 1), threads or 0, signature, report
        )
    return BucketProposal(
        found["symbol"],
        tuple(Bucket(*bucket) for bucket in found["buckets"]),
        found["cost"],
        found["cost_of_one"],
        {
            name: (low, high) if multiple == 1 or low == high else Dim(low, high, multiple)
            for name, (low, high, multiple) in found["contract"].items()
        },
    )


def build_info() -> dict[str, Any]:
    """What this build is: its version, its delegates, the compiler, the CPU that it is for."""
    return _skiff.build_info()
