"""A page about a model."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
import zipfile
from typing import Any, Callable, Iterable, Iterator, Mapping

import numpy as np

from skiff import _skiff
from skiff._arguments import chosen, listed, named, ranges, open_sizes, whole
from skiff._errors import InvalidArgument
from skiff._html import frame
from skiff._model import Model
from skiff._places import Read, check_place, path_of, read_source, write
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
        self._read: tuple[Read, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing file is replaced whole or not at all. Raises :class:`InvalidArgument` where it is one that the
        report is about, and :class:`IoError`."""
        write(path, self.html.encode(), self._read)

    def __repr__(self) -> str:
        sides = ", ".join(side["label"] for side in self.data["sides"])
        return f"<skiff.Report of {sides}: {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        return frame(self.html)


@contextlib.contextmanager
def _path_of(model: Model | str | os.PathLike[str] | bytes) -> Iterator[str]:
    if isinstance(model, (str, os.PathLike)):
        yield path_of(model, "a model")
        return
    if isinstance(model, Model) and model._path is not None:
        yield model._source()
        return
    if not isinstance(model, (Model, bytes, bytearray, memoryview)):
        raise InvalidArgument(f"a model is a path, the bytes of a .skiff file or a skiff.Model, got {type(model).__name__}")
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
        # As np.savez does it, whose own parameters have names that inputs may have, too.
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
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
    names = listed("backends", backends, '["xnnpack"]')
    if not names:
        raise InvalidArgument("backends is empty; expected one or more of " + ", ".join(map(repr, _BACKENDS)))
    with contextlib.ExitStack() as files:
        paths = {
            "model": files.enter_context(_path_of(model)),
            "source": "" if source is None else files.enter_context(in_file(source)),
            "against": "" if against is None else files.enter_context(_path_of(against)),
        }
        read = tuple(Read("the model", os.path.abspath(paths[side])) for side in ("model", "against") if paths[side])
        read += read_source(paths["source"]) if paths["source"] else ()
        for one in (model, against):
            read += one._read if isinstance(one, Model) else ()
        if path is not None:
            check_place(path, read)  # Before the runs.
        options = {
            **paths,
            "backends": [chosen("backends", name, _BACKENDS) for name in names],
            "signature": signature or "",
            "threads": threads or 0,
            "exact": exact,
            "inputs": f"random:{whole('seed', seed, 0)}",
            "input_files": [] if inputs is None else [files.enter_context(_in_npz(named("inputs", inputs, '{"x": array}')))],
            "input_ranges": [f"{name}={low}..{high}" for name, (low, high) in ranges(input_ranges).items()],
            "sizes": [f"{name}={size}" for name, size in open_sizes(sizes).items()],
            "runs": None if runs is None else whole("runs", runs, 1),
        }
        page, data, notes = _skiff.report(options, files.enter_context(reporter(progress, "report")))
    for note in notes:
        logging.getLogger("skiff").warning("%s", note)
    made = Report(page, json.loads(data))
    made._read = read
    if path is not None:
        made.save(path)
    return made
