"""The files that are loaded at the start of a session: who the agent is, whom it helps, what it noted."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.context.blocks import neutralised
from orchestra.context.head_tail import head_tail
from orchestra.core.conversation import BootstrapLimits


def render(files: Sequence[tuple[str, str | None]], *, limits: BootstrapLimits | None = None) -> str:
    """The ``<bootstrap_files>`` section, in the order of ``files``: (name, text), ``None`` where there is no file.

    A long file is shown as head and tail, an empty one not at all, a missing one as one line that names it; nothing to
    show gives an empty text. The texts of all files together are at most ``limits.total_chars`` characters; names and
    tags come on top.
    """
    limits = limits or BootstrapLimits()
    texts = [(name, None if text is None else neutralised(text.strip())) for name, text in files]
    shown = [(name, text) for name, text in texts if text is None or text]
    if not shown:
        return ""
    wanted = [min(len(text or ""), limits.max_chars) for _, text in shown]
    shares = fair_shares(wanted, limits.total_chars)
    lines = ["<bootstrap_files>"]
    for (name, text), share in zip(shown, shares, strict=True):
        if text is None:
            lines.append(f"[the file {_label(name)} is missing]")
            continue
        lines.append(f'<file name="{_label(name)}">')
        lines.append(head_tail(text, share, head=limits.head, tail=limits.tail))
        lines.append("</file>")
    return "\n".join([*lines, "</bootstrap_files>"])


def fair_shares(wanted: Sequence[int], total: int) -> list[int]:
    """``total`` shared fairly: nobody gets more than wanted, and what small ones leave goes to the large ones.

    Nothing of it is left while anybody wants more.
    """
    shares = [0] * len(wanted)
    left = total
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, place in enumerate(by_size):
        shares[place] = min(wanted[place], left // (len(by_size) - done))
        left -= shares[place]
    return shares


def _label(name: str) -> str:
    """A name on one line that ends no attribute."""
    return " ".join(name.split()).replace('"', "'").replace("<", "‹").replace(">", "›")
