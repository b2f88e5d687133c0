"""Paths: what is one, and where results must not go."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, NamedTuple

from skiff import _skiff
from skiff._arguments import shown
from skiff._errors import InvalidArgument


def path_of(path: Any, what: str, otherwise: str = "") -> str:
    """A path as text. ``what`` begins messages: ``"path"``; ``otherwise`` ends them."""
    try:
        text = os.fsdecode(os.fspath(path))
    except TypeError:
        raise InvalidArgument(f"{what} is {shown(path)}; expected a path, as a str or a pathlib.Path{otherwise}") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} is {text!r}, whose name is not in UTF-8; rename the file or the folder") from None
    if "\0" in text:
        raise InvalidArgument(f"{what} is {text!r}; a path has no zeros")
    return text


class Read(NamedTuple):
    """A file that something was made from, and what it was. Of a source also the files beside it that its weights are in."""

    what: str
    path: str
    is_source: bool = False


def read_source(path: str) -> tuple[Read, ...]:
    """The file of a source; none where it is in memory."""
    return () if path.startswith("/proc/self/fd/") else (Read("the source", os.path.abspath(path), True),)


def files_of(path: str, options: Mapping[str, Any]) -> tuple[Read, ...]:
    """What a model is converted from."""
    labels = (Read("the labels", os.path.abspath(options["labels"])),) if "labels" in options else ()
    return read_source(path) + labels + tuple(Read("a custom library", os.path.abspath(one)) for one in options["custom_libraries"])


def check_place(path: str | os.PathLike[str], read: Iterable[Read] = ()) -> str:
    """The path as text. Raises :class:`InvalidArgument` where it is one of the files that were read, and :class:`IoError` where no
    file can be written, or something else is there."""
    place = path_of(path, "path")
    _skiff.check_output_file(place)
    if not os.path.exists(place):
        return place
    for one in read:
        files = [(one.what, one.path)]
        if one.is_source:
            files += [("weights of the source", file) for file in _skiff.other_files(one.path)]
        for what, file in files:
            if os.path.exists(file) and os.path.samefile(file, place):
                raise InvalidArgument(f"{place}: would overwrite {what}, {file!r}; choose another path")
    return place


def write(path: str | os.PathLike[str], content: bytes, read: Iterable[Read] = ()) -> None:
    """Writes a file; an existing one is replaced whole or not at all. Raises as :func:`check_place`."""
    _skiff.write_file(check_place(path, read), content)
