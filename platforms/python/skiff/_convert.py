"""Conversion: from a trained model to a .skiff file."""

from __future__ import annotations

import dataclasses
import difflib
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence, TypedDict, Union, Unpack

from skiff import _skiff
from skiff._arguments import chosen, listed, named, real, shown
from skiff._errors import InvalidArgument
from skiff._model import Model
from skiff._places import files_of, path_of
from skiff._progress import reporter
from skiff._sources import in_file, is_keras, is_torch, name_of

if TYPE_CHECKING:
    from skiff._quantize import QuantizeKeywords


@dataclasses.dataclass(frozen=True)
class Dim:
    """The sizes that a dimension may have: from ``min`` to ``max`` (None: no end), multiples of ``multiple``.

    ``Dim(7)`` is the size 7 alone; ``Dim(1, 512)`` all from 1 to 512; ``Dim(1, None)`` all from 1 on.
    """

    min: int
    max: int | None = -1  # type: ignore[assignment]
    multiple: int = 1

    def __post_init__(self) -> None:
        if self.max == -1:
            object.__setattr__(self, "max", self.min)

    def __str__(self) -> str:
        """As ``skiff convert --dim NAME=...`` takes it."""
        if self.min == self.max:
            return str(self.min)
        text = f"{self.min}..{'' if self.max is None else self.max}"
        return text if self.multiple == 1 else f"{text},multiple={self.multiple}"


#: A size; (min, max); a range, whose end is not included; or a Dim.
Sizes = Union[int, Sequence[int], range, Dim, None]


@dataclasses.dataclass(frozen=True)
class Image:
    """How pictures become an input, as the training had them.

    size: (width, height) in pixels; the input's own where it is left out. mean and std per channel of the input, as torchvision
    states them (samples of 0..1) or of samples of 0..255; or mean and ``scale``, which multiplies samples of 0..255 less their mean.
    channels: ``"rgb"``, ``"bgr"`` or ``"gray"``. fit: ``"stretch"``, ``"crop"`` (resize: the shorter side before the centre is taken)
    or ``"letterbox"`` (on fill). filter: ``"bilinear"``, ``"bicubic"``, ``"nearest"`` (as Pillow) or ``"linear"`` (as torch's
    interpolate).
    """

    size: tuple[int, int] | None = None
    mean: Sequence[float] | float | None = None
    std: Sequence[float] | float | None = None
    scale: Sequence[float] | float | None = None
    channels: str = "rgb"
    fit: str = "stretch"
    resize: int | None = None
    filter: str = "bilinear"
    fill: int = 0

    def _options(self) -> dict[str, Any]:
        if self.std is not None and self.scale is not None:
            raise InvalidArgument("an Image has std or scale, not both")
        return {
            "image_size": _image_size(self.size),
            "image_mean": _numbers("mean", self.mean),
            "image_std": _numbers("std", self.std),
            "image_scale": _numbers("scale", self.scale),
            "image_channels": chosen("channels", self.channels, ("rgb", "bgr", "gray", "grey")),
            "image_fit": chosen("fit", self.fit, ("stretch", "crop", "letterbox")),
            "image_resize": self.resize or 0,
            "image_filter": chosen("filter", self.filter, ("linear", "bilinear", "bicubic", "nearest")),
            "image_fill": self.fill,
        }


def _numbers(what: str, values: Sequence[float] | float | None) -> str:
    if values is None:
        return ""
    if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
        values = [values]
    return ",".join(repr(real(f"{what} of an Image", value)) for value in values)


def _image_size(size: tuple[int, int] | None) -> str:
    if size is None:
        return ""
    try:
        width, height = (operator.index(side) for side in size)
    except (TypeError, ValueError):
        raise InvalidArgument(f"an Image of size {size!r}; expected (width, height) in pixels, as (224, 224)") from None
    return f"{width}x{height}"


def dim_of(sizes: Sizes) -> Dim:
    """Whatever stands for sizes, as a Dim. None means any size from 1 on."""
    if sizes is None:
        return Dim(1, None)
    if isinstance(sizes, Dim):
        return sizes
    if isinstance(sizes, range):
        if len(sizes) == 0 or sizes.step < 1 or (sizes.step > 1 and sizes.start % sizes.step):
            raise InvalidArgument(f"{sizes!r} is no range of sizes; expected range(min, end) or range(m, end, m) for multiples of m")
        return Dim(sizes[0], sizes[-1], sizes.step)
    try:
        if hasattr(sizes, "__index__"):
            return Dim(operator.index(sizes))  # NumPy's integers, too.
        minimum, maximum = sizes
        return Dim(operator.index(minimum), None if maximum is None else operator.index(maximum))
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{sizes!r} is no size; expected a number, (min, max), a range, or skiff.Dim(min, max, multiple=m), where max may be None"
        ) from None


def named_dims(dims: Mapping[str, Sizes] | None) -> dict[str, Sizes]:
    """What the keyword ``dims`` says."""
    return named("dims", dims, '{"batch": 1}')


def _shape_text(name: str, shape: Sequence[int]) -> str:
    try:
        return f"{name}={'x'.join(str(operator.index(extent)) for extent in shape)}"
    except TypeError:
        raise InvalidArgument(f"shapes: {name!r} is {shape!r}; expected its extents, as (1, 3, 224, 224)") from None


def conversion_options(
    dims: Mapping[str, Sizes] | None,
    shapes: Mapping[str, Sequence[int]] | None,
    buckets: Mapping[str, Iterable[Sizes]] | None,
    constants: Mapping[str, float] | None,
    state: Mapping[str, str] | None,
    signatures: Iterable[str] | str | None,
    disable_passes: Iterable[str],
    xnnpack: bool,
    custom: Iterable[str],
    custom_libraries: Iterable[str | os.PathLike[str]],
) -> dict[str, Any]:
    """The options of a plan as the tool spells them, which its code checks."""
    for name in listed("custom", custom, '["Mish"]'):
        _skiff.keep_custom(name)
    libraries = [path_of(file, "custom_libraries") for file in listed("custom_libraries", custom_libraries, '["operators.so"]')]
    for file in libraries:
        _skiff.load_custom_library(file)
    chosen = listed("signatures", signatures, '["encode"]')
    return {
        "dims": [f"{name}={dim_of(sizes)}" for name, sizes in named_dims(dims).items()],
        "shapes": [_shape_text(name, shape) for name, shape in named("shapes", shapes, '{"image": (1, 3, 224, 224)}').items()],
        "buckets": [
            f"{name}={','.join(str(dim_of(sizes)) for sizes in listed(f'buckets: {name!r}', ranges, '[16, (17, 64)]'))}"
            for name, ranges in named("buckets", buckets, '{"seq": [16, (17, 64)]}').items()
        ],
        "constants": [
            f"{name}={real(f'constants: {name!r}', number)!r}" for name, number in named("constants", constants, '{"sr": 16000}').items()
        ],
        "state": [f"{name}={output}" for name, output in named("state", state, '{"state": "stateN"}').items()],
        "signatures": chosen,
        "disable_passes": listed("disable_passes", disable_passes, '["fold-constants"]'),
        "no_xnnpack": not xnnpack,
        "custom_libraries": libraries,
    }


class ConvertKeywords(TypedDict, total=False):
    """The keywords of :func:`convert`, as :func:`quantize` takes them beside its own."""

    example_inputs: Any
    dynamic_shapes: Any
    dims: Mapping[str, Sizes] | None
    shapes: Mapping[str, Sequence[int]] | None
    buckets: Mapping[str, Iterable[Sizes]] | None
    constants: Mapping[str, float] | None
    state: Mapping[str, str] | None
    copy_state: bool
    signatures: Iterable[str] | str | None
    image: Image | None
    labels: Sequence[str] | str | os.PathLike[str] | None
    target: str
    disable_passes: Iterable[str]
    xnnpack: bool
    strip: bool
    dump_after: Iterable[str]
    custom: Iterable[str]
    custom_libraries: Iterable[str | os.PathLike[str]]
    progress: bool | Callable[[str], None] | None


def _quantize_words() -> Iterable[str]:
    from skiff._quantize import QuantizeKeywords

    return QuantizeKeywords.__annotations__


def _meant(name: str) -> str:
    words = [*ConvertKeywords.__annotations__, *_quantize_words(), "quantize"]
    near = difflib.get_close_matches(name, words, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def convert(
    source: Any,
    *,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, Sizes] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    buckets: Mapping[str, Iterable[Sizes]] | None = None,
    constants: Mapping[str, float] | None = None,
    state: Mapping[str, str] | None = None,
    copy_state: bool = False,
    signatures: Iterable[str] | str | None = None,
    image: Image | None = None,
    labels: Sequence[str] | str | os.PathLike[str] | None = None,
    target: str = "cpu",
    disable_passes: Iterable[str] = (),
    xnnpack: bool = True,
    strip: bool = False,
    dump_after: Iterable[str] = (),
    custom: Iterable[str] = (),
    custom_libraries: Iterable[str | os.PathLike[str]] = (),
    progress: bool | Callable[[str], None] | None = None,
    quantize: str | None = None,
    **quantising: Unpack[QuantizeKeywords],
) -> Model:
    """Turns a trained model into a .skiff file, and opens it.

    >>> model = skiff.convert("bert.onnx", dims={"batch": 1, "seq": skiff.Dim(1, 512)})
    >>> model.save("bert.skiff")

    source: the path or bytes of an .onnx or .tflite file, an onnx.ModelProto, a keras.Model (see
    :func:`from_keras`), a torch.nn.Module or ExportedProgram. For a torch module,
    ``example_inputs`` and ``dynamic_shapes`` are torch's (see :func:`from_torch`).
    dims: the sizes of named dimensions: a size, (min, max), a range or a Dim. What stays open may have any size from 1 on.
    shapes: of inputs whose dimensions the file leaves open.
    buckets: sizes, or ranges of sizes, of a named dimension that get a plan each; several dimensions give every combination.
    constants: inputs of one number that are the same in every call, as ``{"sr": 16000}``.
    state: inputs that are outputs of the run before, ``{input: output}``: the Session keeps them, and writes rows into them where
    they lie. copy_state=True: every run makes a new copy, which older versions of Skiff can run.
    signatures: which entry points of a .tflite file; all by default.
    image, labels: how pictures become inputs, and the names of classes: a list, or the path of a text file with one in each line.
    target: ``"cpu"``, or ``"vulkan"``: a plan for the GPU beside each one for the CPU.
    disable_passes: optimisations to leave out. xnnpack=False: every node by its reference kernel. strip: leave out the names of
    nodes and inner tensors. dump_after: prints the graph to standard error after a pass, or after ``"all"``.
    custom: operators that Skiff does not know, kept for an application that registers them; custom_libraries: shared libraries
    with such operators.
    progress: True for a progress bar (tqdm, where it is installed), or a callable that gets the name of each step.
    quantize: a format, as ``"i8"``: the net is quantised on the way, with the other keywords of :func:`quantize`.

    The GIL is free meanwhile; Ctrl-C ends the conversion at its next step. What was left out is in ``model.notes``, advice in
    ``model.hints``.

    Raises :class:`InvalidArgument`, :class:`InvalidModel`, :class:`IoError`, and :class:`Unsupported`, which lists all operators
    that Skiff lacks at once.
    """
    if unknown := set(quantising) - set(_quantize_words()):
        name = sorted(unknown)[0]
        raise TypeError(f"convert() got an unexpected keyword argument {name!r}{_meant(name)}")
    if quantising and quantize is None:
        raise InvalidArgument(f"{next(iter(quantising))} says how a net is quantised, and needs quantize=, for example quantize='i8'")
    if is_keras(source):
        from skiff._frameworks import export_keras

        source = export_keras(source)
    if is_torch(source):
        from skiff._torch import export, sizes_of

        if example_inputs is None and not hasattr(source, "graph_module"):
            raise InvalidArgument("a torch module is traced with inputs: give example_inputs, as to torch.onnx.export()")
        source = export(source, example_inputs, dynamic_shapes)
        dims = {**sizes_of(dynamic_shapes), **named_dims(dims)}
    elif example_inputs is not None or dynamic_shapes is not None:
        raise InvalidArgument("example_inputs and dynamic_shapes are for torch modules; dims and shapes say the sizes of a file")
    options = conversion_options(
        dims, shapes, buckets, constants, state, signatures, disable_passes, xnnpack, custom, custom_libraries
    )
    options["target"] = chosen("target", target, ("cpu", "vulkan"))
    options["strip"] = strip
    options["copy_state"] = copy_state
    options["dump_after"] = listed("dump_after", dump_after, '["all"]')
    if image is not None:
        if not isinstance(image, Image):
            raise InvalidArgument(f"image is {shown(image)}; expected a skiff.Image, as skiff.Image((224, 224), mean=[...], std=[...])")
        options.update(image._options())
    if isinstance(labels, (str, os.PathLike)):
        options["labels"] = path_of(labels, "labels")
    elif labels is not None:
        options["label_list"] = listed("labels", labels, '["cat", "dog"]')
    with in_file(source) as path, reporter(progress, "convert") as report:
        if quantize is not None:
            from skiff._quantize import quantized

            return quantized(path, name_of(source), quantize, options, quantising, report)
        return Model._converted(*_skiff.convert(path, options, report), files_of(path, options))
