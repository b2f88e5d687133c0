"""Python functions over tensors that run eagerly or as compiled graphs, with the same numbers."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import threading
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence, overload

from skiff import _skiff
from skiff._arguments import chosen, named, shown
from skiff._convert import Sizes, dim_of
from skiff._errors import InvalidArgument
from skiff._model import Model
from skiff._skiff import ConcreteFunction, Tensor
from skiff._structure import Flat, Rebuild, TypeOnly, unique

_TYPE = re.compile(r"\s*(bool|[fiu]\d+)\s*\[.*\]\s*")


class FunctionStatistics(NamedTuple):
    """Figures since a Function was made. misses: calls that traced; dropped: traces that made room for others."""

    traces: int
    hits: int
    misses: int
    dropped: int
    families: int
    eager_calls: int
    inlined_calls: int
    trace_seconds: float
    compile_seconds: float


def _stand_in(value: Any) -> Any:
    """A type, where a text is one, which takes the place of a tensor; also in lists and dictionaries."""
    if isinstance(value, str) and _TYPE.fullmatch(value):
        return TypeOnly(value)
    if type(value) in (tuple, list):
        return type(value)(map(_stand_in, value))
    return {name: _stand_in(one) for name, one in value.items()} if type(value) is dict else value


class Function:
    """A Python function that is traced into a graph, compiled and run; :func:`function` makes it.

    The Python code runs once per trace. A call finds its trace by the dtypes, ranks and extents of its tensors (also arrays, and
    tensors in lists, tuples and dictionaries), and by the *values* of its other arguments. Results are Tensors, in the structure
    that the code returned.
    """

    def __init__(self, callable: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, callable)
        self._callable = callable
        self._options = dict(options)
        self._signature = inspect.signature(callable)
        self._parameters = list(self._signature.parameters.values())
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._plain = all(p.kind in plain for p in self._parameters)
        self._cores: dict[Any, Any] = {}
        self._results: dict[int, Rebuild] = {}
        self._numbers = itertools.count(1)
        self._kept: dict[int, Any] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """For messages, and the default name of its signature."""
        return self._options["name"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*self._flatten(args, kwargs))

    def concrete(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these types, made where there is none; nothing is run.

        Tensors are said by their types, as in an input_signature (``"f32[n, 20]"``), or given; other arguments by their values.
        Without arguments: the trace of the input_signature, or the only one that there is.

        >>> f.concrete("f32[n, 20]", layers=3)
        """
        if not args and not kwargs and self._parameters:
            return self._only()
        flat, call = self._flatten(tuple(map(_stand_in, args)), {name: _stand_in(value) for name, value in kwargs.items()})
        return self._core(flat).concrete([one.type_text for one in flat.tensors], ", ".join(flat.key), self._body(call, []))

    def _only(self) -> ConcreteFunction:
        declared = self._options["input_signature"]
        if declared and len(declared) <= len(self._parameters):
            return self.concrete(*declared)
        traced = self.concrete_functions
        if len(traced) != 1:
            raise InvalidArgument(
                f"'{self.name}' has {len(traced)} traces; say which types are meant, as in {self.name}.concrete(\"f32[n, 20]\")"
            )
        return traced[0]

    @property
    def concrete_functions(self) -> tuple[ConcreteFunction, ...]:
        """The traces that are kept, oldest first."""
        return tuple(one for core in list(self._cores.values()) for one in core.concrete_functions())

    @property
    def statistics(self) -> FunctionStatistics:
        """What calls have cost so far."""
        all_of_them = [core.statistics() for core in list(self._cores.values())]
        return FunctionStatistics(**{name: sum(one[name] for one in all_of_them) for name in FunctionStatistics._fields})

    @property
    def trace_count(self) -> int:
        """How often its Python code was traced."""
        return self.statistics.traces

    def run_eagerly(self, on: bool = True) -> None:
        """Whether every call runs the Python code, so that a debugger can step through it. A ScopedRunEagerly of the calling
        thread comes first."""
        with self._lock:
            self._options["run_eagerly"] = on
            for core in self._cores.values():
                core.run_eagerly(on)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: each object has traces of its own."""
        if instance is None:
            return self
        bound = Function(self._callable.__get__(instance, owner), self._options)
        try:
            instance.__dict__[self._callable.__name__] = bound  # The next time Python finds this one.
        except AttributeError:
            raise InvalidArgument(f"'{self.name}' is a method of a class with __slots__, whose objects cannot keep its traces") from None
        return bound

    def __repr__(self) -> str:
        return f"<skiff.Function {self.name}{self._signature}>"

    def _flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Flat, Rebuild]:
        flat = Flat()
        if self._plain and not kwargs and len(args) == len(self._parameters):
            rebuilds = [flat.add(value, parameter.name) for parameter, value in zip(self._parameters, args)]
        else:
            try:
                bound = self._signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}() {error}") from None
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
            names = list(bound.arguments)
            rebuilds = [flat.add(value, names[i] if i < len(names) else f"{names[-1]}.{i}") for i, value in enumerate(args)]
            named = [(name, flat.add(value, name)) for name, value in kwargs.items()]
        for value in flat.kept:
            self._kept[id(value)] = value  # As long as it is in a key, its address is its own.
        if self._plain and not kwargs:
            return flat, lambda tensors: self._callable(*[rebuild(tensors) for rebuild in rebuilds])
        return flat, lambda tensors: self._callable(
            *[rebuild(tensors) for rebuild in rebuilds], **{name: rebuild(tensors) for name, rebuild in named}
        )

    def _core(self, flat: Flat) -> Any:
        """The traces for arguments of which the same ones are tensors: their names are in messages and in files."""
        key = (tuple(flat.names), tuple(flat.form))
        core = self._cores.get(key)
        if core is None:
            with self._lock:
                core = self._cores.setdefault(key, _skiff.Function({**self._options, "argument_names": flat.names}))
        return core

    def _run(self, flat: Flat, call: Rebuild) -> Any:
        made: list[int] = []
        results, form, traced = self._core(flat).call(flat.tensors, ", ".join(flat.key), self._body(call, made))
        rebuild = self._results[form]
        for number in made:
            if number != form or not traced:
                del self._results[number]
        return rebuild(iter(results))

    def _body(self, call: Rebuild, made: list[int]) -> Callable[[list[Tensor]], tuple[list[Tensor], list[str], int]]:
        """The code over flat tensors. What it returns is remembered by a number, which the trace keeps."""

        def body(tensors: list[Tensor]) -> tuple[list[Tensor], list[str], int]:
            flat = Flat()
            rebuild = flat.add_result(call(iter(tensors)), "", f"'{self.name}'")
            number = next(self._numbers)
            self._results[number] = rebuild
            made.append(number)
            return flat.tensors, unique(flat.names), number

        return body


@overload
def function(callable: Callable[..., Any], /) -> Function: ...


@overload
def function(
    *,
    name: str | None = None,
    input_signature: Sequence[str] | None = None,
    buckets: Iterable[Mapping[str, Sizes]] = (),
    relax_shapes: bool = True,
    max_concrete_functions: int = 64,
    retrace_warning: int = 5,
    run_eagerly: bool | None = None,
    disable_passes: Iterable[str] = (),
    backend: str = "planned",
    target: str = "cpu",
    threads: int | None = None,
    kept_shapes: int = 16,
) -> Callable[[Callable[..., Any]], Function]: ...


def function(
    callable: Any = None,
    /,
    *,
    name: str | None = None,
    input_signature: Sequence[str] | None = None,
    buckets: Iterable[Mapping[str, Sizes]] = (),
    relax_shapes: bool = True,
    max_concrete_functions: int = 64,
    retrace_warning: int = 5,
    run_eagerly: bool | None = None,
    disable_passes: Iterable[str] = (),
    backend: str = "planned",
    target: str = "cpu",
    threads: int | None = None,
    kept_shapes: int = 16,
) -> Any:
    """Makes a :class:`Function` of a Python function over :class:`Tensor`: what tf.function is to TensorFlow.

    >>> @skiff.function
    ... def mse(a, b):
    ...     return skiff.ops.reduce_mean((a - b) * (a - b))
    >>> mse(x, y)                                # traced, compiled and run; later calls only run

    name: for messages and files; the function's own by default.
    input_signature: one type per tensor, as ``"f32[batch, seq<=128, 20]"`` (``?``: an extent without a name): one trace serves all
    calls, and others are errors. buckets: parts of its ranges that get plans of their own, as ``[{"seq": (1, 16)}]``.
    relax_shapes: an extent that is seen with a second value becomes open, so that the third needs no trace.
    max_concrete_functions: beyond so many traces the one used longest ago is dropped. retrace_warning: after so many traces that an
    input_signature would have saved one warning says which; 0: never.
    run_eagerly: whether calls run the Python code; None: as :func:`set_run_functions_eagerly` says.
    disable_passes, backend, target, threads, kept_shapes: as for :func:`convert` and :meth:`Model.session`.

    Raises :class:`InvalidArgument` for options that mean nothing.
    """
    if callable is None:
        options: Any = dict(
            name=name, input_signature=input_signature, buckets=buckets, relax_shapes=relax_shapes,
            max_concrete_functions=max_concrete_functions, retrace_warning=retrace_warning, run_eagerly=run_eagerly,
            disable_passes=disable_passes, backend=backend, target=target, threads=threads, kept_shapes=kept_shapes,
        )  # fmt: skip
        return lambda callable: _made(callable, **options)
    return _made(
        callable, name, input_signature, buckets, relax_shapes, max_concrete_functions, retrace_warning, run_eagerly, disable_passes,
        backend, target, threads, kept_shapes,
    )  # fmt: skip


def _made(
    callable: Callable[..., Any], name: str | None, input_signature: Sequence[str] | None, buckets: Iterable[Mapping[str, Sizes]],
    relax_shapes: bool, max_concrete_functions: int, retrace_warning: int, run_eagerly: bool | None, disable_passes: Iterable[str],
    backend: str, target: str, threads: int | None, kept_shapes: int,
) -> Function:  # fmt: skip
    if threads is not None and threads < 1:
        raise InvalidArgument(f"threads is {threads}; expected 1 or more, or None for the usable cores, at most 4")
    signature = [input_signature] if isinstance(input_signature, str) else list(input_signature or ())
    options = {
        "name": name or getattr(callable, "__name__", "function"),
        "input_signature": signature,
        "buckets": [{symbol: _range(symbol, sizes) for symbol, sizes in bucket.items()} for bucket in buckets],
        "relax_shapes": relax_shapes,
        "max_concrete_functions": max_concrete_functions,
        "retrace_warning": retrace_warning,
        "run_eagerly": run_eagerly,
        "disable_passes": [disable_passes] if isinstance(disable_passes, str) else list(disable_passes),
        "reference": chosen("backend", backend, ("planned", "reference")) == "reference",
        "vulkan": chosen("target", target, ("cpu", "vulkan")) == "vulkan",
        "threads": threads or 0,
        "kept_shapes": kept_shapes,
    }
    _skiff.Function({**options, "argument_names": []})  # Says at once what is wrong with them.
    return Function(callable, options)


def _range(symbol: str, sizes: Sizes) -> tuple[int, int]:
    dim = dim_of(sizes)
    if dim.max is None:
        raise InvalidArgument(f"buckets: {symbol!r} needs a largest size, for example {{{symbol!r}: (1, 16)}}")
    return dim.min, dim.max


def _flat_branch(code: Callable[..., Any], what: str, rebuilds: list[Rebuild], call: Rebuild = lambda tensors: ()) -> Callable[..., Any]:
    """A branch or a body over flat tensors; it leaves behind how its results are made again."""

    if not callable(code):
        raise InvalidArgument(f"{what} is {shown(code)}; expected a function, as lambda x: x + 1")

    def run(tensors: list[Tensor] | None = None) -> list[Tensor]:
        flat = Flat()
        rebuilds.append(flat.add_result(code(*call(iter(tensors or []))), "", what))
        return flat.tensors

    return run


def cond(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """``then()`` where the condition (bool, one element) is true, else ``otherwise()``.

    Both return the same: tensors of equal dtypes and ranks, in the same structure. They may use tensors from around them, assign
    variables, print and check; only the chosen one does so. While a function is traced the Python code of both runs, once.

    >>> y = skiff.cond(x > 0, lambda: x + 1, lambda: x)
    """
    rebuilds: list[Rebuild] = []
    results = _skiff.cond(condition, _flat_branch(then, "a branch of cond", rebuilds), _flat_branch(otherwise, "a branch of cond", rebuilds))
    return rebuilds[0](iter(results))


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], initial: Any) -> Any:
    """``variables = body(variables)`` for as long as ``condition(variables)``, a bool of one element, is true; returns the last ones.

    initial: the first ones. A tuple or a list: both functions get its elements as arguments, and the body returns as many; else both
    get and the body returns the one. Variables keep their dtypes and ranks.

    >>> i, p = skiff.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, p @ x), (zero, eye))
    """
    several = isinstance(initial, (tuple, list)) and not hasattr(initial, "_fields")
    flat = Flat()
    rebuild = flat.add_result(initial, "", "the first variables of while_loop")

    def arguments(tensors: Any) -> Any:
        value = rebuild(tensors)
        return value if several else (value,)

    asked: list[Rebuild] = []
    ask = _flat_branch(condition, "the condition of while_loop", asked, arguments)
    step = _flat_branch(body, "the body of while_loop", asked, arguments)
    results = _skiff.while_loop(lambda tensors: ask(tensors)[0], step, flat.tensors)
    return rebuild(iter(results))


def print(*pieces: Any) -> None:
    """Prints one line at every call, eager or traced: texts and tensors with a space between them, to standard error.

    Effects of one function happen in the order of the program. A builtin ``print`` in a traced function runs once per trace.
    """
    _skiff.print([piece if isinstance(piece, str) or _skiff.is_operand(piece) else str(piece) for piece in pieces])


def assert_(condition: Any, *pieces: Any) -> None:
    """Raises :class:`InvalidArgument` with the pieces at every call, eager or traced, where an element of ``condition`` (bool) is false."""
    _skiff.assert_that(condition, [piece if isinstance(piece, str) or _skiff.is_operand(piece) else str(piece) for piece in pieces])


def check_numerics(x: Any, message: str) -> Tensor:
    """The tensor itself; at every call, eager or traced, an error with the message where an element is NaN or infinite."""
    return _skiff.check_numerics(x, message)


def functions_to_model(signatures: Mapping[str, Function | ConcreteFunction] | Function) -> Model:
    """A Model with these signatures, which :meth:`Model.save` writes for devices.

    They share weights and variables: what one assigns the others read, where Sessions share their state. Variables begin with the
    values that they have now. Inputs have the names of the arguments, outputs those that the code returned them by (the keys of a
    dictionary), else ``result0``, ``result1``, ...

    >>> skiff.functions_to_model({"step": step.concrete("f32[n, 20]"), "reset": reset}).save("net.skiff")

    Raises :class:`InvalidArgument`, and what conversion raises.
    """
    if isinstance(signatures, Function):
        signatures = {signatures.name: signatures}
    traces = []
    for name, one in named("signatures", signatures, '{"step": step}').items():
        if not isinstance(one, (Function, ConcreteFunction)):
            raise InvalidArgument(f"signatures: {name!r} is {shown(one)}; expected a skiff.Function, or one of its concrete()")
        traces.append((name, one.concrete() if isinstance(one, Function) else one))
    return Model(_skiff.serialize_functions(traces))
