"""What notebooks show."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence


def frame(page: str) -> str:
    """A page in a frame of its own, so that its style and scripts are not the notebook's."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 85vh; border: 0"></iframe>'


def table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], rest: str = "") -> str:
    """A table of texts and numbers; whatever they hold is shown as text. ``rest``: a line below it."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    below = f"<div>{html.escape(rest)}</div>" if rest else ""
    return f"<div><b>{html.escape(heading)}</b></div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align: right">{value:.3g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value}</td>'
    return f'<td style="text-align: left">{html.escape(str(value))}</td>'
