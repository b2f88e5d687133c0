"""Progress of long work."""

from __future__ import annotations

import contextlib
import sys
from typing import Callable, Iterator


@contextlib.contextmanager
def reporter(progress: bool | Callable[[str], None] | None, what: str) -> Iterator[Callable[[str], None] | None]:
    """What the native part calls at each step; None where nobody wants to know."""
    if progress is None or progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # A bar in terminals, a widget in notebooks.
    except ImportError:
        yield lambda step: print(f"{what}: {step}", file=sys.stderr)
        return
    with tqdm(desc=what, unit="step", leave=False) as bar:

        def show(step: str) -> None:
            bar.set_postfix_str(step)
            bar.update()

        yield show
