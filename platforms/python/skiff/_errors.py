"""What goes wrong, as exceptions, and what is said, as log messages."""

import logging
import sys

_LOGGER = logging.getLogger("skiff")
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)


class Error(Exception):
    """What all of Skiff's failures are. ``str(error)`` is one sentence: where, what was expected, what was found, what to do.

    ``code`` is the kind of failure in words, the same in every language that Skiff has an API for.
    """

    code = "unknown status"


class InvalidArgument(Error, ValueError):
    """The caller passed something that the contract forbids: a name, a shape, a dtype, an option."""

    code = "invalid argument"


class InvalidModel(Error, ValueError):
    """A file is malformed, truncated, or no model."""

    code = "invalid model"


class Unsupported(Error, NotImplementedError):
    """Valid, but this build, device or delegate cannot do it."""

    code = "unsupported"


class NoMatchingBucket(Error, ValueError):
    """No plan of the model serves the shapes of this call."""

    code = "no matching bucket"


class OutOfMemory(Error, MemoryError):
    """An allocation failed, or a memory limit would be passed."""

    code = "out of memory"


class IoError(Error, OSError):
    """The operating system refused to read, map or write a file."""

    code = "input/output error"


class Cancelled(Error):
    """``Session.cancel()`` ended the run."""

    code = "cancelled"


class DeviceLost(Error, RuntimeError):
    """The GPU went away; the Session must be made anew."""

    code = "device lost"


class InternalError(Error, RuntimeError):
    """A defect in Skiff."""

    code = "internal error"


class ParityError(Error, AssertionError):
    """A converted model computes something else than its source; see :meth:`ParityReport.raise_if_failed`."""

    code = "parity failed"


def log(level: int, message: str) -> None:
    _LOGGER.log(_LEVELS[level], "%s", message)


def print_line(line: str) -> None:
    """What the operator Print prints, which is to standard error as in C++, but to that of Python, which notebooks show."""
    sys.stderr.write(line + "\n")
