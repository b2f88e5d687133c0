"""An opened model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

import numpy as np

from skiff import _skiff
from skiff._arguments import chosen, shown, whole
from skiff._errors import InvalidArgument, IoError
from skiff._places import Read, path_of, write
from skiff._ports import Plan, Port, Signature, Symbol, VariableInfo, signature_of
from skiff._session import Outputs, Session, ThreadPool

if TYPE_CHECKING:
    from skiff._quantize import QuantizeReport
    from skiff._report import Report


_MOST = 2**63 - 1


class ClassScore(NamedTuple):
    """A class that a net saw: its place along the last axis (those of 1 behind the second do not count), its name (or ``""``), and its score."""

    index: int  # type: ignore[assignment]  # Which hides the method of tuples.
    label: str
    score: float


class Graph:
    """The plans of a model as a picture; :attr:`Model.graph` is one. Notebooks show the page of :func:`skiff.report`, after one run."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def to_dot(self) -> str:
        """The first plan of each signature in the language of Graphviz, as ``skiff inspect --dot`` prints it."""
        return _skiff.model_dot(self._model._handle)

    def _repr_html_(self) -> str:
        return self._model.report(runs=1)._repr_html_()


class Model:
    """An opened .skiff file: immutable, verified, shared by any number of Sessions and threads.

    >>> model = skiff.Model("net.skiff")            # or its bytes
    >>> model(image)                                # a Session of its own, made at the first call
    >>> session = model.session(threads=1)

    ``cache_folder``: a folder that exists and is the application's own, in which packed weights are kept, so that the next start
    maps them.

    Raises :class:`IoError` (cannot be read), :class:`InvalidModel` (damaged, or no .skiff file), :class:`Unsupported` (newer than
    this build).
    """

    def __init__(self, source: str | os.PathLike[str] | bytes, cache_folder: str | os.PathLike[str] | None = None) -> None:
        self._path: str | None = None
        self._bytes: Any = None
        if isinstance(source, (bytes, bytearray, memoryview)):
            if cache_folder is not None:
                raise InvalidArgument("cache_folder needs a model in a file, which the cache belongs to")
            self._bytes = bytes(source)
            self._handle: Any = _skiff.Model.from_bytes(self._bytes)
        else:
            path = path_of(source, "a model", ", or the bytes of a .skiff file")
            self._path = os.path.abspath(path)
            folder = None if cache_folder is None else path_of(cache_folder, "cache_folder")
            self._handle = _skiff.Model.open(path, folder)
            self._stamp = _stamp(self._path)
        self._describe()

    @classmethod
    def _of(cls, handle: Any) -> Model:
        """What the native part has opened, and alone can read."""
        model = cls.__new__(cls)
        model._path = model._bytes = None
        model._handle = handle
        model._describe()
        return model

    @classmethod
    def _converted(cls, content: bytes, remarks: tuple[Any, Any, Any], read: tuple[Read, ...] = ()) -> Model:
        model = cls(content)
        model._read = read
        notes, hints, explained = remarks
        model._notes = tuple(notes)
        model._hints = tuple(hints)
        model._explained = dict(explained)
        return model

    def _describe(self) -> None:
        described = self._handle.describe()
        self._signatures = {one["name"]: signature_of(one) for one in described["signatures"]}
        self._symbols = tuple(Symbol(*symbol) for symbol in described["symbols"])
        self._variables = tuple(VariableInfo(*variable) for variable in described["variables"])
        self._metadata: dict[str, str] = described["metadata"]
        self._described = described
        self._read: tuple[Read, ...] = ()
        self._own_session: Session | None = None
        self._notes: tuple[str, ...] = ()
        self._hints: tuple[str, ...] = ()
        self._explained: dict[str, str] = {}
        self._quantization: QuantizeReport | None = None

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """The entry points by name; the first one is what a Session runs unless told otherwise."""
        return self._signatures

    def _signature(self, name: str | None = None) -> Signature:
        if name is None:
            return next(iter(self._signatures.values()))
        try:
            return self._signatures[name]
        except (KeyError, TypeError):
            names = ", ".join(map(repr, self._signatures))
            raise InvalidArgument(f"the model has no signature {shown(name)}; it has {names}") from None

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs of the first signature."""
        return self._signature().inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs of the first signature."""
        return self._signature().outputs

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the first signature."""
        return self._signature().plans

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The open dimensions with their contracts."""
        return self._symbols

    @property
    def variables(self) -> tuple[VariableInfo, ...]:
        """The state that Sessions keep from run to run."""
        return self._variables

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the file says beside the net."""
        return self._metadata

    @property
    def producer(self) -> str:
        """What made the file."""
        return self._described["producer"]

    @property
    def file_bytes(self) -> int:
        """Bytes of the file."""
        return self._described["file_bytes"]

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights in the file."""
        return self._described["weights_bytes"]

    @property
    def notes(self) -> tuple[str, ...]:
        """What its conversion left out, and why; empty for a model that was opened."""
        return self._notes

    @property
    def hints(self) -> tuple[str, ...]:
        """What its conversion would advise; empty for a model that was opened."""
        return self._hints

    @property
    def quantization(self) -> QuantizeReport | None:
        """What quantising did, of a model that :func:`quantize` has just made; else None."""
        return self._quantization

    @property
    def graph(self) -> Graph:
        """The plans as a picture."""
        return Graph(self)

    def explain(self, signature: str | None = None) -> str:
        """What became of every node of the source, a line each. Of a model that :func:`convert` has just made."""
        if not self._explained:
            raise InvalidArgument("only a model that convert() returned knows its source's nodes; the file does not keep them")
        return self._explained[self._signature(signature).name]

    def session(
        self,
        signature: str | None = None,
        *,
        threads: int | None = None,
        pool: ThreadPool | None = None,
        target: str = "cpu",
        backend: str = "planned",
        fall_back: bool = True,
        memory_limit: int | None = None,
        kept_shapes: int = 2,
        exact: bool = False,
        profile: bool = False,
        keep_intermediates: bool = False,
        state_of: Session | None = None,
    ) -> Session:
        """Makes a Session.

        signature: the entry point; the first one by default.
        threads: the usable cores, at most 4, by default. pool: threads that are shared with other Sessions instead.
        target: ``"cpu"``, or ``"vulkan"`` with plans that were made for it; fall_back: where there is no such device, or it is
        full, the plan for the CPU runs.
        backend: ``"planned"``, or ``"reference"``: every node by its reference kernel, slow, and the truth.
        memory_limit: bytes for activations and workspace; None: 4 GiB and four times the file. kept_shapes: how many shapes stay prepared.
        exact: convolutions add the products of their definition, without Winograd's method.
        profile: take the time of every node. keep_intermediates: for :meth:`Session.tap`.
        state_of: a Session of this Model, whose variables are shared; the two take turns.

        Raises :class:`InvalidArgument`, :class:`Unsupported` (no plan for the target), :class:`OutOfMemory`.
        """
        if pool is not None and not isinstance(pool, ThreadPool):
            raise InvalidArgument(f"pool is {shown(pool)}; expected a skiff.ThreadPool, as skiff.ThreadPool(2)")
        if state_of is not None and not isinstance(state_of, Session):
            raise InvalidArgument(f"state_of is {shown(state_of)}; expected a Session of this model")
        options = {
            "signature": self._signature(signature).name,
            "threads": 0 if threads is None else whole("threads", threads, 1, ", or None for the usable cores, at most 4"),
            "pool": pool,
            "target": chosen("target", target, ("cpu", "vulkan")),
            "backend": chosen("backend", backend, ("planned", "reference")),
            "fall_back": fall_back,
            "memory_limit": 0 if memory_limit is None else whole("memory_limit", memory_limit, 1, ", in bytes, or None for 4 GiB and four times the file"),
            "kept_shapes": whole("kept_shapes", kept_shapes, 0),
            "exact": exact,
            "profile": profile,
            "keep_intermediates": keep_intermediates,
            "state_of": state_of,
        }
        return Session(self, options)

    def __call__(self, *arrays: Any, **named: Any) -> Outputs:
        """Runs the first signature, in a Session that is made at the first call and kept."""
        if self._own_session is None:
            self._own_session = self.session()
        return self._own_session(*arrays, **named)

    def preprocess(self, name: str, picture: Any, signature: str | None = None) -> np.ndarray:
        """The value of input ``name`` for a picture: a path (JPEG, PNG), a PIL image, or an array of uint8 [height, width] or
        [height, width, 1, 3 or 4] in the order red, green, blue, alpha.

        The model's image settings say how: size, mean, scale, order of channels. Raises :class:`InvalidArgument` where there are
        none, or the picture is no such thing; :class:`InvalidModel` for a damaged file.
        """
        if isinstance(picture, (str, os.PathLike)):
            return self._handle.preprocess_file(name, path_of(picture, "picture"), signature)
        orientation = 1
        if hasattr(picture, "getexif") and hasattr(picture, "convert"):
            orientation = picture.getexif().get(0x0112, 1)
            picture = _of_8_bits(picture)
            if picture.mode not in ("L", "RGB", "RGBA"):
                picture = picture.convert("RGBA" if "transparency" in picture.info or "A" in picture.mode else "RGB")
            picture = np.asarray(picture)
        return self._handle.preprocess_pixels(name, picture, orientation if 1 <= orientation <= 8 else 1, signature)

    def top(
        self, output: Outputs | np.ndarray, k: int = 5, *, name: str | None = None, softmax: bool = False, row: int = 0,
        signature: str | None = None,
    ) -> list[ClassScore]:
        """The ``k`` classes of the highest scores, the highest first.

        output: the outputs of a run, or one of its arrays. name: which output it is; by default the first one with labels, else the
        first. softmax: probabilities of what are logits. row: of scores [8, 1000] there are 8.
        """
        ports = self._signature(signature).outputs
        if name is None:
            name = next((port.name for port in ports if port.labels), ports[0].name)
        elif not isinstance(name, str):
            raise InvalidArgument(f"name is {shown(name)}; expected the name of an output")
        scores = output[name] if isinstance(output, Outputs) else output
        return [ClassScore(*one) for one in self._handle.top(name, scores, whole("k", k, 1, most=_MOST), softmax, whole("row", row, 0, most=_MOST), signature)]

    def quantize(self, name: str, reals: Any, signature: str | None = None) -> np.ndarray:
        """The integers of input ``name`` that stand for ``reals``: rounded half to even, saturating."""
        return self._handle.requantize(name, True, np.asarray(reals, np.float32), True, signature)

    def dequantize(self, name: str, integers: Any, signature: str | None = None) -> np.ndarray:
        """The real numbers, float32, that the integers of output ``name`` stand for."""
        return self._handle.requantize(name, False, integers, False, signature)

    def report(self, path: str | os.PathLike[str] | None = None, source: Any = None, **keywords: Any) -> Report:
        """Runs the model and makes a page about it, which is written to ``path`` where one is given: see :func:`skiff.report`."""
        from skiff._report import report  # Which needs this module.

        return report(self, source, path, **keywords)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .skiff file; an existing one is replaced whole or not at all.

        Models and Sessions of a file that is replaced go on with what they have opened. Over the file that this Model was opened from
        nothing is written, because it is there. Raises :class:`InvalidArgument` where the path is that of a file that the model was
        converted from, or of its weights; :class:`IoError` where something else than a file is there.
        """
        path = path_of(path, "path")
        if self._path is not None and os.path.exists(path) and os.path.samefile(self._source(), path):
            return
        write(path, self.to_bytes(), self._read)

    def to_bytes(self) -> bytes:
        """The .skiff file."""
        if self._bytes is not None:
            return self._bytes
        source = self._source()
        try:
            with open(source, "rb") as file:
                return file.read()
        except OSError as error:
            raise IoError(f"{source}: cannot be read: {error.strerror}") from error

    def save_cache(self) -> None:
        """Writes to ``cache_folder`` what has been packed since; closing does so as well. Raises :class:`IoError`."""
        self._handle.save_cache()

    def _source(self) -> str:
        assert self._path is not None
        if _stamp(self._path) != self._stamp:
            raise IoError(f"{self._path}: is gone, or another file than the one that was opened")
        return self._path

    def close(self) -> None:
        """Lets go of the file. It stays open as long as Sessions use it. Using the Model later raises :class:`InvalidArgument`."""
        if self._own_session is not None and not self._own_session.closed():
            self._own_session.close()
        self._handle.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self._source() if self._path is not None else self._bytes,)

    def __repr__(self) -> str:
        name = "in memory" if self._path is None else repr(self._path)
        lines = [f"<skiff.Model {name}, {self.file_bytes} bytes"]
        for signature in self._signatures.values():
            ports = [f"  input {port!r}" for port in signature.inputs] + [f"  output {port!r}" for port in signature.outputs]
            lines += [f" signature {signature.name!r}", *ports]
        return "\n".join(lines) + ">"


def _of_8_bits(picture: Any) -> Any:
    """A picture of PIL's with the higher 8 bits of its 16, as of a file; its own conversion has all above 255 white."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG"):  # Which older versions of PIL open so.
        from PIL import Image

        return Image.fromarray((np.asarray(picture).clip(0, 0xFFFF) >> 8).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise InvalidArgument(f"the picture is of PIL's mode {picture.mode!r}, which does not say what white is; give its pixels as an array of uint8")
    return picture


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
