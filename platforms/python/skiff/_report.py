"""A page about a model."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from typing import Any, Callable, Iterable, Iterator, Mapping

import numpy as np

from skiff import _skiff
from skiff._errors import InvalidArgument
from skiff._html import frame
from skiff._model import Model, _chosen
from skiff._progress import reporter
from skiff._sources import in_file

_BACKENDS = ("xnnpack", "vulkan", "reference")


class Report:
    """What :func:`report` made. Notebooks show the page.

    ``html``: one self-contained page. ``data``: what it shows, which is what ``skiff report --json`` prints.
    """

    def __init__(self, page: str, data: Mapping[str, Any]) -> None:
        self.html = page
        self.data = data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing file is replaced whole or not at all. Raises :class:`IoError`."""
        _skiff.write_file(os.fspath(path), self.html.encode())

    def __repr__(self) -> str:
        sides = ", ".join(side["label"] for side in self.data["sides"])
        return f"<skiff.Report of {sides}: {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        return frame(self.html)


@contextlib.contextmanager
def _path_of(model: Model | str | os.PathLike[str] | bytes) -> Iterator[str]:
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    if isinstance(model, Model) and model._path is not None:
        yield model._source()
        return
    with tempfile.TemporaryDirectory(prefix="skiff_report_") as folder:
        path = os.path.join(folder, "model.skiff")
        content = model.to_bytes() if isinstance(model, Model) else model
        with open(path, "wb") as file:
            file.write(content)
        yield path


@contextlib.contextmanager
def _in_npz(arrays: Mapping[str, Any]) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="skiff_report_") as folder:
        path = os.path.join(folder, "inputs.npz")
        np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})
        yield path


def report(
    model: Model | str | os.PathLike[str] | bytes,
    source: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    against: Model | str | os.PathLike[str] | bytes | None = None,
    backends: Iterable[str] | str = ("xnnpack",),
    inputs: Mapping[str, Any] | None = None,
    seed: int = 1,
    sizes: Mapping[str, int] | None = None,
    input_ranges: Mapping[str, tuple[float, float]] | None = None,
    signature: str | None = None,
    threads: int | None = None,
    exact: bool = False,
    runs: int | None = None,
    progress: bool | Callable[[str], None] | None = None,
) -> Report:
    """Runs a model and makes a page about it: graph, times, memory, shapes and plans.

    source: what the model was made from (a path, bytes, an onnx.ModelProto); then the page also says what fused, and has the errors
    against eager mode, layer by layer. path: where the page is written. against: another model, side by side. backends: ``"xnnpack"``,
    ``"vulkan"``, ``"reference"``, several of them side by side. inputs: arrays by name; random ones from ``seed`` by default. runs: timed ones, 20 by default, 2 of the reference.

    >>> skiff.report("net.skiff", "net.onnx", "report.html")
    """
    names = [backends] if isinstance(backends, str) else list(backends)
    if not names:
        raise InvalidArgument("backends is empty; expected one or more of " + ", ".join(map(repr, _BACKENDS)))
    if runs is not None and runs < 1:
        raise InvalidArgument(f"runs is {runs}; expected 1 or more")
    with contextlib.ExitStack() as files:
        options = {
            "model": files.enter_context(_path_of(model)),
            "source": "" if source is None else files.enter_context(in_file(source)),
            "against": "" if against is None else files.enter_context(_path_of(against)),
            "backends": [_chosen("backends", name, _BACKENDS) for name in names],
            "signature": signature or "",
            "threads": threads or 0,
            "exact": exact,
            "inputs": f"random:{seed}",
            "input_files": [] if inputs is None else [files.enter_context(_in_npz(inputs))],
            "input_ranges": [f"{name}={low}..{high}" for name, (low, high) in (input_ranges or {}).items()],
            "sizes": [f"{name}={size}" for name, size in (sizes or {}).items()],
            "runs": runs,
        }
        page, data, notes = _skiff.report(options, files.enter_context(reporter(progress, "report")))
    for note in notes:
        logging.getLogger("skiff").warning("%s", note)
    made = Report(page, json.loads(data))
    if path is not None:
        made.save(path)
    return made
