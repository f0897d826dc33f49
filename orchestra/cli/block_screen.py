"""What blocks, their versions and their lines look like."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.text import Text

from orchestra.cli.console import plain_table, print_indented, print_table, width_of
from orchestra.cli.play_summary import block_panel, show_diff
from orchestra.core.blocks import BlockView
from orchestra.memory.lineage import BlameLine
from orchestra.store.block_store import Version


def show_list(blocks: Sequence[BlockView], console: Console) -> None:
    """One line for each block, the ids whole, so that they can be copied."""
    if not blocks:
        console.print("there are no blocks here")
        return
    table = plain_table("label", "of", "version", "size", "id", right=("version", "size"), whole=("id",))
    for block in blocks:
        size = f"{len(block.value):,}/{block.limit:,}"
        table.add_row(block.label, f"{block.scope} {block.owner}".strip(), str(block.version), size, block.id)
    print_table(console, table)


def show_block(block: BlockView, agents: Sequence[str], console: Console) -> None:
    """A panel with the text, and the facts below it."""
    console.print(block_panel(block), width=width_of(console))
    if block.description:
        print_indented(console, Text(block.description, "dim"), left=2)
    print_indented(console, Text(f"id {block.id}; agents: {', '.join(agents) or 'none'}"), left=2)


def show_log(versions: Sequence[Version], console: Console) -> None:
    """One line for each version."""
    table = plain_table("version", "when", "by", "how", "run or pass", "size", right=("version", "size"))
    for one in versions:
        by = one.author.removeprefix("agent:")
        table.add_row(
            *(str(one.version), moment(one.at), by, one.operation, one.work or one.run or "-", f"{len(one.value):,}")
        )
    print_table(console, table)


def show_blame(lines: Sequence[BlameLine], console: Console) -> None:
    """Each line, and below it who wrote it and from which messages."""
    if not lines:
        console.print("the block is empty")
    for line in lines:
        print_indented(console, Text(line.text or "(an empty line)", "bold"), left=0, hang=2)
        facts = f"version {line.version}, {line.operation} by {line.author.removeprefix('agent:')}"
        if line.work or line.run:
            facts += f", {'pass' if line.work else 'run'} {line.work or line.run}"
        print_indented(console, Text(f"{facts}; {_messages(line)}", "dim"), left=2, hang=2)


def show_versions(before: int, after: int, diff: str, console: Console, *, label: str = "") -> None:
    """A diff between two versions."""
    name = f"{label}, " if label else ""
    if before == after or not diff:
        same = "nothing changed" if before == after else "the text is the same"
        console.print(f"{name}version {before}" + (f" to {after}" if before != after else "") + f": {same}")
        return
    print_indented(console, Text(f"{name}version {before} to {after}", "bold"), left=0)
    show_diff(diff, console)


def moment(at: float) -> str:
    """A Unix time on the local clock, to the minute."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _messages(line: BlameLine) -> str:
    if line.oldest:
        return "at least as old as the history"
    if not line.seqs:
        return "from no message"
    numbers = list(line.seqs)
    shown = str(numbers[0])
    if len(numbers) > 1:
        whole = numbers == list(range(numbers[0], numbers[-1] + 1))
        shown = f"{numbers[0]}-{numbers[-1]}" if whole else ", ".join(map(str, numbers))
    agent, _, session = line.thread.partition("|")
    return f"from message{'s' if len(numbers) > 1 else ''} {shown} of session {session} ({agent})"
