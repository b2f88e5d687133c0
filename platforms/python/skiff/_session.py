"""Running a model."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import numpy as np

from skiff import _skiff
from skiff._arguments import listed, shown
from skiff._arrays import empty, has_tail
from skiff._errors import InvalidArgument
from skiff._ports import Signature

if TYPE_CHECKING:
    from skiff._model import Model


class Outputs:
    """What a run computed: arrays by name, by index, as attributes, or unpacked in the order of the signature.

    >>> outputs = session(image)
    >>> outputs["logits"], outputs[0], outputs.logits      # the same array
    >>> (logits,) = outputs

    The arrays are the caller's own, but for those of ``Session.run(..., copy=False)``.
    """

    __slots__ = ("_arrays", "_names")

    def __init__(self, names: tuple[str, ...], arrays: tuple[np.ndarray, ...]) -> None:
        self._names = names
        self._arrays = arrays

    def __getitem__(self, key: str | int) -> np.ndarray:
        if isinstance(key, str):
            try:
                return self._arrays[self._names.index(key)]
            except ValueError:
                raise KeyError(f"there is no output {key!r}; there are {', '.join(map(repr, self._names))}") from None
        if not hasattr(key, "__index__") and not isinstance(key, slice):
            raise TypeError(f"an output is chosen by its name or its place, not by {shown(key)}; there are {', '.join(map(repr, self._names))}")
        try:
            return self._arrays[key]
        except IndexError:
            raise IndexError(f"there is no output {key}; there are {len(self._names)}: {', '.join(map(repr, self._names))}") from None

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):  # While an object is being made, as by copy.copy().
            raise AttributeError(name)
        try:
            return self._arrays[self._names.index(name)]
        except ValueError:
            raise AttributeError(f"there is no output {name!r}; there are {', '.join(map(repr, self._names))}") from None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def keys(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self._names

    def values(self) -> tuple[np.ndarray, ...]:
        """The arrays."""
        return self._arrays

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """Names with their arrays."""
        return zip(self._names, self._arrays)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    def __reduce__(self) -> tuple[Any, ...]:
        return Outputs, (self._names, self._arrays)

    def __repr__(self) -> str:
        parts = (f"{name}: {array.dtype} {list(array.shape)}" for name, array in self.items())
        return f"Outputs({', '.join(parts)})"


@dataclasses.dataclass(frozen=True)
class MemoryUsage:
    """Bytes that a Session holds, by purpose; those of weights are shared by all Sessions of the Model."""

    arena: int
    workspace: int
    packed_weights: int
    mapped_weights: int
    variables: int
    inputs: int
    mapped_packed_weights: int
    widened_weights: int


@dataclasses.dataclass(frozen=True)
class NodeProfile:
    """One node in the last run of a Session made with ``profile=True``. Times are in nanoseconds."""

    name: str
    op: str
    delegate: str
    shape_program: bool
    fell_back: bool
    begin_ns: int
    duration_ns: int
    bytes: int
    multiply_adds: int


class ThreadPool(_skiff.ThreadPool):
    """Worker threads that several Sessions share: ``model.session(pool=pool)``.

    ``threads`` counts the one that runs the Session; 0 means the usable cores, at most 4.
    """


class _State(dict[str, np.ndarray]):
    """What ``Session.state`` returns. An item that is assigned would change this copy alone, and the next run would not know of it."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError('session.state is a copy of the variables, which does not change; set one with session.state = {"name": array}')

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class Session(_skiff.Session):
    """One thread's use of a :class:`Model`; :meth:`Model.session` makes it.

    >>> session = model.session(threads=2)
    >>> outputs = session(image)                  # or session(image=image)

    Inputs are NumPy arrays, or whatever shows its memory (DLPack, the buffer protocol), lists or numbers; their dtype and shape
    must be the input's. Large arrays in rows are read where they lie, and kept alive until the next call; small ones are copied.
    The GIL is free while the model runs. Ctrl-C in the main thread cancels the run.

    A Session is one thread's at a time: a second one gets :class:`InvalidArgument`.
    """

    def __init__(self, model: Model, options: dict[str, Any]) -> None:
        super().__init__(model._handle, options, Outputs)
        facts = self.facts()
        self._model = model
        self._target: str = facts["target"]
        self._threads: int = facts["threads"]
        self._signature = model._signature(facts["signature"])

    @property
    def model(self) -> Model:
        """The Model that this is a Session of."""
        return self._model

    @property
    def signature(self) -> Signature:
        """The entry point that runs."""
        return self._signature

    @property
    def target(self) -> str:
        """What it runs on: ``"cpu"`` or ``"vulkan"``; the former also where the latter's device was not there."""
        return self.facts()["target"]

    @property
    def threads(self) -> int:
        """How many threads run it; those of a shared pool are the pool's."""
        return self._threads

    def run(self, inputs: Mapping[str, Any] | None = None, copy: bool = True) -> Outputs:
        """Computes the outputs for ``inputs`` by name.

        With ``copy=False`` the outputs are read-only views of the Session's memory, which the next run overwrites; those whose
        shape only the run tells are copies. Views keep the Session alive. While they are there, a call with another shape is
        refused where it would move that memory.

        Raises :class:`InvalidArgument` (name, dtype, missing input), :class:`NoMatchingBucket` (a shape that no plan serves),
        :class:`Cancelled`.
        """
        if inputs is not None and not isinstance(inputs, Mapping):
            first = self._signature.inputs[0].name if self._signature.inputs else "x"
            raise InvalidArgument(
                f"run() takes arrays by name, as run({{{first!r}: array}}), got {type(inputs).__name__}; session(array) takes them by place"
            )
        outputs: Outputs = self.run_named(dict(inputs or {}), copy)  # type: ignore[assignment]
        return outputs

    if TYPE_CHECKING:  # The native part has it.

        def __call__(self, *arrays: Any, **named: Any) -> Outputs: ...

    async def arun(self, *arrays: Any, **named: Any) -> Outputs:
        """As a call, on a thread of its own; cancelling the task cancels the run."""
        started = threading.Event()
        unwanted = threading.Event()

        def run() -> Any:
            started.set()
            return None if unwanted.is_set() else self(*arrays, **named)

        task = asyncio.ensure_future(asyncio.to_thread(run))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            unwanted.set()
            if started.is_set():  # Else it waits for its thread, and will not run.
                while not task.done():
                    self.cancel()  # Of a run that is about to begin, this may come too early.
                    await asyncio.wait([task], timeout=0.001)
                task.exception()  # It was looked at.
            raise

    def bind(self, name: str, array: np.ndarray) -> None:
        """Lets an input live in ``array``: what it holds is read by every run that does not give the input, without a copy.

        The array has its elements in rows, aligned, with 16 readable bytes behind them; those of :func:`empty` have. It is kept alive
        until the input is bound or given again. Raises :class:`InvalidArgument`.
        """
        self.bind_input(name, array, isinstance(array, np.ndarray) and has_tail(array))

    def input(self, name: str, shape: Sequence[int] | None = None) -> np.ndarray:
        """Memory for an input, to be written in place: what it holds is read by every run that does not give the input.

        ``shape`` is needed where dimensions are open. The array is an ordinary one, all zeros at first, and may outlive the Session.
        """
        port = next((port for port in self._signature.inputs if port.name == name), None)
        if port is None:
            names = ", ".join(repr(port.name) for port in self._signature.inputs)
            raise InvalidArgument(f"there is no input {name!r}; the inputs are {names}")
        extents = port.shape if shape is None else tuple(listed("shape", shape, "[2, 8]"))
        if not all(isinstance(extent, int) for extent in extents):
            raise InvalidArgument(f"input {name!r} is {port!r}: say which shape its memory is for, with numbers only")
        array = empty(extents, port.dtype)  # type: ignore[arg-type]
        array.fill(0)
        self.bind(name, array)
        return array

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Copies of the variables by name; assign such a dictionary, or a part of it, to restore them."""
        return _State(self.get_state())

    @state.setter
    def state(self, values: Mapping[str, Any]) -> None:
        self.set_state(dict(values))

    @property
    def memory(self) -> MemoryUsage:
        """Bytes that the Session holds at this moment."""
        return MemoryUsage(**self.memory_usage())

    def profile(self) -> list[NodeProfile]:
        """The nodes of the last run with their times; needs ``profile=True``, and a run."""
        return [NodeProfile(**node) for node in self.profile_nodes()]

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed() else f"{self._target}, threads={self._threads}"
        return f"<skiff.Session of {self._signature.name!r}, {state}>"
