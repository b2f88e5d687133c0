"""From Keras, TensorFlow and JAX, with the converters that are installed with them."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from typing import Any, Mapping, Sequence

from skiff._arguments import chosen
from skiff._errors import InvalidArgument, Unsupported
from skiff._model import Model
from skiff._sources import is_keras

_FORMATS = ("auto", "tflite", "onnx")


def _needed(caller: str, package: str, install: str | None = None) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise Unsupported(f"{caller}() needs {name}: pip install {install or name} ({error})") from error


def _is_there(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def _quiet() -> Any:
    """TensorFlow's converters write pages to standard error on the way, from C++."""
    own = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(nowhere)


def _convert(source: bytes, keywords: Mapping[str, Any]) -> Model:
    from skiff._convert import convert  # Which offers what is here.

    return convert(source, **keywords)


def _tflite(converter: Any, options: Mapping[str, Any] | None) -> bytes:
    for name, value in (options or {}).items():
        if not hasattr(converter, name):
            raise InvalidArgument(f"export_options: a TFLiteConverter has no attribute {name!r}")
        setattr(converter, name, value)
    with _quiet():
        return converter.convert()


def export_keras(model: Any, format: str = "auto", export_options: Mapping[str, Any] | None = None) -> bytes:
    """A .tflite or an .onnx file."""
    chosen("format", format, _FORMATS)
    if not is_keras(model):
        _needed("from_keras", "keras")
        raise InvalidArgument(f"from_keras() takes a keras.Model, got {type(model).__name__}")
    if format == "tflite" or (format == "auto" and _is_there("tensorflow")):
        tensorflow = _needed("from_keras", "tensorflow")
        return _tflite(tensorflow.lite.TFLiteConverter.from_keras_model(model), export_options)
    _needed("from_keras", "onnx", 'onnx, or tensorflow for format="tflite"')
    with tempfile.TemporaryDirectory(prefix="skiff_keras_") as folder:
        path = os.path.join(folder, "model.onnx")
        with _quiet():
            model.export(path, format="onnx", verbose=False, **dict(export_options or {}))
        with open(path, "rb") as file:
            return file.read()


def from_keras(model: Any, *, format: str = "auto", export_options: Mapping[str, Any] | None = None, **convert_options: Any) -> Model:
    """Exports a keras.Model with the installed tools, and converts it.

    >>> model = skiff.from_keras(net, dims={"batch": 1})

    format: ``"tflite"``, by TensorFlow's converter (what layers have in TensorFlow Lite: NHWC, names of inputs); ``"onnx"``, by Keras's
    own export, which serves its other backends, too, and needs onnx; ``"auto"``: the first of these that is there.
    export_options: attributes of the tf.lite.TFLiteConverter, or more for Model.export(). The rest goes to :func:`convert`.

    Raises as :func:`convert`, and :class:`Unsupported` where a package is missing; what the tools raise is theirs.
    """
    return _convert(export_keras(model, format, export_options), convert_options)


def from_tf(
    source: Any,
    input_signature: Sequence[Any] | None = None,
    *,
    export_options: Mapping[str, Any] | None = None,
    **convert_options: Any,
) -> Model:
    """Exports a tf.function, a concrete function, a tf.Module or the folder of a SavedModel by TensorFlow's own converter, and converts it.

    >>> model = skiff.from_tf(f, [tf.TensorSpec([None, 20], tf.float32)])
    >>> model = skiff.from_tf("exported/", signatures=["serving_default"])

    input_signature: of a tf.function that has none of its own. A module's signatures are its tf.functions that have one, by their names.
    export_options: attributes of the tf.lite.TFLiteConverter. The rest goes to :func:`convert`.

    Raises as :func:`from_keras`.
    """
    tensorflow = _needed("from_tf", "tensorflow")
    converter = tensorflow.lite.TFLiteConverter
    if isinstance(source, (str, os.PathLike)):
        return _convert(_tflite(converter.from_saved_model(os.fspath(source)), export_options), convert_options)
    if is_keras(source):
        return from_keras(source, format="tflite", export_options=export_options, **convert_options)
    if isinstance(source, tensorflow.Module):
        return _convert(_tflite(_of_module(tensorflow, source), export_options), convert_options)
    concrete = _concrete(source, input_signature)
    return _convert(_tflite(converter.from_concrete_functions([concrete]), export_options), convert_options)


def _of_module(tensorflow: Any, module: Any) -> Any:
    """Through a SavedModel, which keeps variables and the names of signatures."""
    named = {
        name: getattr(module, name)
        for name in dir(type(module))
        if getattr(getattr(module, name, None), "input_signature", None) is not None
    }
    if not named:
        raise InvalidArgument(
            f"{type(module).__name__} has no tf.function with an input_signature; "
            "give one to each that is to be a signature, or call from_tf(module.function, [tf.TensorSpec(...)])"
        )
    with tempfile.TemporaryDirectory(prefix="skiff_tf_") as folder, _quiet():
        tensorflow.saved_model.save(module, folder, signatures={name: one.get_concrete_function() for name, one in named.items()})
        converter = tensorflow.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(named))
        return _Converted(converter.convert())


class _Converted:
    """What was converted while its folder was there."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def convert(self) -> bytes:
        return self._content


def _concrete(source: Any, input_signature: Sequence[Any] | None) -> Any:
    if not hasattr(source, "get_concrete_function"):
        if hasattr(source, "structured_input_signature"):
            return source
        raise InvalidArgument(
            f"from_tf() takes a tf.function, a concrete function, a tf.Module or the folder of a SavedModel, got {type(source).__name__}"
        )
    if input_signature is None and getattr(source, "input_signature", None) is None:
        raise InvalidArgument("the tf.function has no input_signature: give one, as [tf.TensorSpec([None, 20], tf.float32)]")
    return source.get_concrete_function(*(input_signature or ()))


def from_jax(
    function: Any,
    example_inputs: Any,
    *,
    polymorphic_shapes: Sequence[str | None] | None = None,
    export_options: Mapping[str, Any] | None = None,
    **convert_options: Any,
) -> Model:
    """Exports a function over JAX's arrays by jax2onnx, and converts it. Parameters are constants: bind them with functools.partial.

    >>> model = skiff.from_jax(functools.partial(net.apply, params), (jnp.zeros((1, 224, 224, 3)),))
    >>> model = skiff.from_jax(f, (x,), polymorphic_shapes=["batch, 20"], dims={"batch": (1, 64)})

    example_inputs: an array, or a tuple of them, of which dtypes and shapes count. polymorphic_shapes: for each, its extents as text,
    where names are open dimensions (None: all as in the example). export_options: more for jax2onnx.to_onnx(). The rest goes to
    :func:`convert`.

    Raises as :func:`from_keras`.
    """
    _needed("from_jax", "jax")
    jax2onnx = _needed("from_jax", "jax2onnx")
    inputs = list(example_inputs) if isinstance(example_inputs, (tuple, list)) else [example_inputs]
    shapes = [None] * len(inputs) if polymorphic_shapes is None else list(polymorphic_shapes)
    if len(shapes) != len(inputs):
        raise InvalidArgument(f"polymorphic_shapes has {len(shapes)} entries for {len(inputs)} inputs")
    specs = [_jax_spec(value, text) for value, text in zip(inputs, shapes)]
    exported = jax2onnx.to_onnx(function, inputs=specs, **dict(export_options or {}))
    return _convert(exported.SerializeToString(), convert_options)


def _jax_spec(value: Any, text: str | None) -> Any:
    """An input as jax2onnx has it: a shape, of which extents may be names, with a dtype."""
    import jax
    import numpy as np

    extents = list(np.shape(value))
    if text is not None:
        parts = [part.strip() for part in text.strip("()[] ").split(",")]
        if len(parts) != len(extents):
            raise InvalidArgument(f"polymorphic_shapes: {text!r} has {len(parts)} extents, the input has {len(extents)}")
        extents = [size if part in ("", "_", "...") else int(part) if part.isdigit() else part for part, size in zip(parts, extents)]
    if all(isinstance(extent, int) for extent in extents):
        return jax.ShapeDtypeStruct(tuple(extents), np.asarray(value).dtype)
    return tuple(extents)
