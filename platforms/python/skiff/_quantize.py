"""Quantising: from a float net to a smaller, faster file of integers."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, TypedDict, Union, Unpack

import numpy as np

from skiff import _skiff
from skiff._arguments import finite, listed, ranges, whole
from skiff._errors import InvalidArgument
from skiff._html import table
from skiff._model import Model
from skiff._places import Read, check_place, files_of, write
from skiff._ports import Port

if TYPE_CHECKING:
    from skiff._convert import ConvertKeywords

#: A folder, ``"random:N"``, an array of calls, or an iterable with one element for each call.
Calibration = Union[str, os.PathLike, np.ndarray, Mapping[str, Any], Iterable[Any], None]
#: A shell command, or a function of a candidate.
Score = Union[str, Callable[[Model], float], None]


class QuantizeKeywords(TypedDict, total=False):
    """The keywords of :func:`quantize`, but for the format, as :func:`convert` takes them beside ``quantize="i8"``."""

    calibrate: Calibration
    samples: int
    input_ranges: Mapping[str, tuple[float, float]] | None
    ranges: str
    percentile: float
    keep: Iterable[str]
    everything: bool
    rounding: str
    bias_correction: bool
    equalisation: bool
    measure: str
    score: Score
    max_error: float | None
    max_bytes: int | None
    max_ms: float | None
    report: bool | str | os.PathLike[str]
    threads: int | None


class QuantizeReport(dict):
    """What became of a net that was quantised: ``skiff quantize --json`` as a dictionary, and true where every budget is kept.

    ``beyond``: a sentence for each budget that is not. ``str()`` is what the tool prints; notebooks show the layers.
    """

    def __init__(self, facts: Mapping[str, Any], text: str, page: str, beyond: Iterable[str]) -> None:
        super().__init__(facts)
        self.beyond = tuple(beyond)
        self._text = text
        self._page = page
        self._read: tuple[Read, ...] = ()

    def __bool__(self) -> bool:
        return not self.beyond

    @property
    def bytes_before(self) -> int:
        """Of the file that :func:`convert` would make."""
        return self["bytes_before"]

    @property
    def bytes(self) -> int:
        """Of the file."""
        return self["bytes"]

    @property
    def error(self) -> float | None:
        """Of the outputs, by ``measure``, on the inputs that calibrated; infinite where numbers are none. None without inputs."""
        if "error" not in self:
            return None
        return float("inf") if self["error"] is None else self["error"]

    @property
    def layers(self) -> list[dict[str, Any]]:
        """What can be quantised, in the net's order, with the names that ``keep`` takes."""
        return self["layers"]

    @property
    def worst(self) -> list[dict[str, Any]]:
        """The layers that were quantised, those that cost most first: by what each costs alone where that was measured
        (``report``, or a budget), else by the signal to noise of their results."""
        alone = [layer for layer in self.layers if "error_alone" in layer]
        if alone:
            return sorted(alone, key=lambda layer: -(float("inf") if layer["error_alone"] is None else layer["error_alone"]))
        return sorted(
            (layer for layer in self.layers if "signal_to_noise_db" in layer), key=lambda layer: layer["signal_to_noise_db"]
        )

    def html(self) -> str:
        """One self-contained page: each layer's noise, histograms and bytes, and what a search tried. What layers cost is in it
        where ``report`` was given to :func:`quantize`."""
        return self._page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing file is replaced whole or not at all. Raises :class:`InvalidArgument` where it is one that was
        read, and :class:`IoError`."""
        write(path, self._page.encode(), self._read)

    def _repr_html_(self) -> str:
        return table(
            f"{self.bytes_before} bytes as floats, {self.bytes} now" + ("" if self.error is None else f", {self['measure']} error {self.error:.3g}"),
            ("layer", "operator", "format", "signal to noise, dB", "error alone", "bytes before", "bytes", "why float"),
            (
                (
                    layer["name"], layer["op"], layer["format"], layer.get("signal_to_noise_db", ""), layer.get("error_alone", ""),
                    layer["bytes_before"], layer["bytes"], layer.get("why_float", ""),
                )
                for layer in self.layers
            ),
            "; ".join(self.beyond),
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return QuantizeReport, (dict(self), self._text, self._page, self.beyond)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def quantize(
    source: Any,
    calibrate: Calibration = None,
    *,
    format: str = "i8",
    samples: int = 100,
    input_ranges: Mapping[str, tuple[float, float]] | None = None,
    ranges: str = "min-max",
    percentile: float = 99.99,
    keep: Iterable[str] = (),
    everything: bool = False,
    rounding: str = "effect",
    bias_correction: bool = True,
    equalisation: bool = True,
    measure: str = "largest",
    score: Score = None,
    max_error: float | None = None,
    max_bytes: int | None = None,
    max_ms: float | None = None,
    report: bool | str | os.PathLike[str] = False,
    threads: int | None = None,
    **conversion: Unpack[ConvertKeywords],
) -> Model:
    """Turns a float model into a smaller, faster one of integers, whose inputs and outputs stay floats.

    >>> model = skiff.quantize("net.onnx", ({"image": batch.numpy()} for batch, _ in loader), dims={"batch": 1})
    >>> model.quantization.error, model.quantization.worst[0]["name"]
    >>> model = skiff.quantize(module, batches, example_inputs=(x,), score=accuracy, max_error=0.01)

    source, and all other keywords: as for :func:`convert`.
    calibrate: inputs as they will occur, a few dozen calls: a folder of pictures or tensors, ``"random:N"`` or
    ``"random:N:LOW..HIGH"`` for a first try, an array whose first axis are calls, a dictionary of such arrays, or an iterable with
    one element for each call: a dictionary of arrays by name, a list or tuple of them in the order of the inputs, or, for a net with one
    input, an array. Where the net's first extent is 1, an array with more rows is as many calls. In place of an array there may
    be the path of a picture or an .npy file, a PIL image, or pixels (uint8), where the net has image settings. Formats of weights
    alone need none, and are much better with them.
    format: ``"i8"``: values and weights; ``"16x8"``: values of 16 bits, weights of 8; ``"weights8"``, ``"weights4"``, ``"f16"``: weights alone;
    ``"dynamic"``: weights of 8 bits, times values that become codes at run time, by their own range; ``"dynamic4"``: of 4 bits,
    both with a scale for each 32 neighbours.
    samples: so many calls are taken, evenly spread where their number is known, else the first. input_ranges: of single
    random inputs.
    ranges: how the range of a value is chosen: ``"min-max"``, ``"moving-average"``, ``"percentile"`` (``percentile``: per cent kept at each end),
    ``"mse"`` or ``"entropy"``. keep: layers that stay float. everything: also round results that no product reads.
    rounding: of weights, by their ``"effect"`` or to the ``"nearest"`` code. bias_correction, equalisation: of biases, and of channels
    between products.
    measure: of the error of the outputs: ``"largest"`` (as a share of the output's largest element), ``"rms"``, ``"cosine"`` or ``"top1"``.
    score: instead, how good a candidate is, the more the better: a function that gets it as a Model, or a shell command with ``{}``
    where its file goes, of which the last number counts. An error is what a candidate lacks to the float net.
    max_error, max_bytes, max_ms: budgets: layers stay float, or get weights of four bits, until they are kept. Where that does not
    help, ``model.quantization`` is false and says which.
    report: True measures what each layer costs, which takes a while; a path also writes the page.
    threads: of the runs. The cores that are usable, at most 4, by default.

    Returns the model; ``model.quantization`` is its :class:`QuantizeReport`. The GIL is free meanwhile, but for Python's own calls and
    score; Ctrl-C ends the work at its next step.

    Raises as :func:`convert`, and :class:`InvalidArgument` for inputs that are missing or not the net's, and for a net that is quantised
    already or has nothing to quantise.
    """
    from skiff._convert import convert

    return convert(
        source, quantize=format, calibrate=calibrate, samples=samples, input_ranges=input_ranges, ranges=ranges, percentile=percentile,
        keep=keep, everything=everything, rounding=rounding, bias_correction=bias_correction, equalisation=equalisation,
        measure=measure, score=score, max_error=max_error, max_bytes=max_bytes, max_ms=max_ms, report=report, threads=threads,
        **conversion,
    )  # fmt: skip


def _words(format: str, keywords: Mapping[str, Any]) -> list[str]:
    """As ``skiff convert --quantize`` has them, whose code checks them."""
    words = [f"--quantize={format}"]
    for name, value in keywords.items():
        option = "--" + name.replace("_", "-")
        if name in ("bias_correction", "equalisation"):
            words += [] if value else [f"--no-{name.replace('_', '-')}"]
        elif name == "everything":
            words += [option] if value else []
        elif name == "input_ranges":
            words += [f"--input-range={key}={low}..{high}" for key, (low, high) in ranges(value).items()]
        elif name == "keep":
            words += [f"{option}={layer}" for layer in listed("keep", value, '["head"]')]
        elif name in ("calibrate", "score"):
            words += [f"{option}={os.fspath(value)}"] if isinstance(value, (str, os.PathLike)) else []
        elif value is not None and name != "report":
            words.append(f"{option}={value}")
    return words


def _array(value: Any, port: Port, model: Model, where: str) -> Any:
    if isinstance(value, (str, os.PathLike)):
        if os.fspath(value).lower().endswith(".npy"):
            return np.load(value)
        return model.preprocess(port.name, value)
    value = value.detach() if hasattr(value, "detach") else value
    pixels = getattr(value, "dtype", None) == np.uint8 and np.ndim(value) in (2, 3) and port.dtype != np.uint8
    if hasattr(value, "getexif") or (port.image is not None and pixels):
        return model.preprocess(port.name, value)
    if value is None:
        raise InvalidArgument(f"{where}: None is no input")
    return value


def _call(given: Any, index: int, model: Model) -> dict[str, Any]:
    """An element of ``calibrate`` as arrays by name."""
    names = ", ".join(repr(port.name) for port in model.inputs)
    where = f"calibrate: call {index}"
    if isinstance(given, Mapping):
        by_name = dict(given)
    elif isinstance(given, (list, tuple)):
        if len(given) != len(model.inputs):
            raise InvalidArgument(f"{where}: has {len(given)} arrays, and the net has {len(model.inputs)} inputs: {names}")
        by_name = {port.name: value for port, value in zip(model.inputs, given)}
    elif len(model.inputs) == 1:
        by_name = {model.inputs[0].name: given}
    else:
        raise InvalidArgument(f"{where}: is one array, and the net has the inputs {names}; expected a dictionary or a tuple of arrays")
    wrong = {port.name for port in model.inputs} ^ set(by_name)
    if wrong:
        raise InvalidArgument(f"{where}: has the inputs {', '.join(map(repr, by_name))}; the net's are {names}")
    return {port.name: _array(by_name[port.name], port, model, where) for port in model.inputs}


def _elements(calibrate: Any, samples: int) -> Iterator[Any]:
    """At most so many of an iterable's: evenly spread where it has a length, else the first."""
    if isinstance(calibrate, Mapping) or hasattr(calibrate, "__array__") or hasattr(calibrate, "__dlpack__"):
        return iter([calibrate])
    if hasattr(calibrate, "__len__") and hasattr(calibrate, "__getitem__"):
        count = len(calibrate)
        taken = min(count, samples)
        return (calibrate[i * count // taken] for i in range(taken))
    if hasattr(calibrate, "__iter__"):
        return itertools.islice(calibrate, samples)
    raise InvalidArgument(
        f"calibrate is {type(calibrate).__name__}; expected a folder, an array, or an iterable with the inputs of one call in each element"
    )


def _reader(calibrate: Any, samples: int) -> Callable[[Any], list[dict[str, Any]]] | None:
    """What reads calls for the float net, of which it gets the handle; None where the tool's code reads them, or there are none."""
    if calibrate is None or isinstance(calibrate, (str, os.PathLike)):
        return None
    elements = _elements(calibrate, samples)

    def read(handle: Any) -> list[dict[str, Any]]:
        model = Model._of(handle)
        return [_call(element, index, model) for index, element in enumerate(elements)]

    return read


def _calibration_files(calibrate: Any) -> tuple[Read, ...]:
    if not isinstance(calibrate, (str, os.PathLike)) or not os.path.isdir(calibrate):
        return ()
    return tuple(Read("a file of calibrate", entry.path) for entry in os.scandir(os.path.abspath(calibrate)) if entry.is_file())


def quantized(path: str, name: str, format: str, options: dict[str, Any], keywords: QuantizeKeywords, progress: Any) -> Model:
    """The source at ``path``, which messages call ``name``, converted with ``options`` and quantised."""
    score = keywords.get("score")
    report = keywords.get("report") or False
    calibrate = keywords.get("calibrate")
    samples = whole("samples", keywords.get("samples", 100), 1)
    reader = _reader(calibrate, samples)
    read = (*files_of(path, options), *_calibration_files(calibrate))
    if not isinstance(report, bool):
        check_place(report, read)  # Before the work.
    with tempfile.TemporaryDirectory(prefix="skiff_quantize_") as folder:  # For candidates that a command scores.
        options = {
            **options,
            "source": path,
            "name": name,
            "quantize": _words(format, keywords),
            "place": os.path.join(folder, "model"),
            "measure_layers": bool(report),
        }
        judge = (lambda content: finite("what score() returned", score(Model(content)))) if callable(score) else None
        made = _skiff.quantize(options, reader, judge, progress)
    model = Model._converted(made["file"], made["remarks"], read)
    facts = json.loads(made["facts"])
    model._notes += tuple(facts["notes"])
    model._quantization = QuantizeReport(facts, made["text"], made["page"], made["beyond"])
    model._quantization._read = read
    if not isinstance(report, bool):
        model._quantization.save(report)
    return model
