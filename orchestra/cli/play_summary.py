"""What a play came to, for people: what each pass changed, blocks, passes, costs, checks, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from orchestra.cli.console import plain_table, print_indented, print_table, width_of
from orchestra.cli.next_steps import Step
from orchestra.cluster.scenario.passes import PassReport
from orchestra.cluster.scenario.report import Check, PlayReport
from orchestra.core.blocks import BlockView
from orchestra.core.model import Usage

FOUND = 60


def show_summary(report: PlayReport, steps: Sequence[Step], console: Console) -> None:
    """Print the whole summary."""
    width = width_of(console)
    fresh = [one for one in report.passes if one.id in report.new]
    if fresh:
        _title(console, "What each pass changed", width)
        for one in fresh:
            show_pass(one, console)
    if report.blocks:
        _title(console, "Memory now", width)
        for block in report.blocks:
            console.print(block_panel(block), width=width)
    if report.passes:
        _title(console, "Sleep-time passes", width)
        print_table(console, passes_table(report))
        if report.too_frequent:
            print_indented(console, Text(f"! {report.too_frequent}", "yellow"), left=2, hang=2)
    if report.context.any:
        _title(console, "Context", width)
        print_indented(console, Text(report.context.text()), left=0, hang=2)
    _title(console, "Tokens and time", width)
    print_table(console, costs(report))
    if report.checks or report.failure:
        _title(console, "Checks", width)
        for check in report.checks:
            print_indented(console, check_line(check), left=0, hang=4)
        if report.failure:
            print_indented(console, Text(f"✗ {report.failure}", "red"), left=2, hang=2)
    _title(console, "What to type next", width)
    for step in steps:
        console.print(Text("  " + step.command, "bold"), soft_wrap=True)
        print_indented(console, Text(step.what, "dim"), left=6)


def _title(console: Console, text: str, width: int) -> None:
    console.print()
    line = Text(text + " ", "bold")
    line.append("─" * (width - line.cell_len), "dim")
    console.print(line, width=width)


def show_pass(report: PassReport, console: Console) -> None:
    """Print one pass: a heading, then the unified diff of each block that it changed."""
    print_indented(console, Text(f"after turn {report.turn}", "bold magenta"), left=0)
    if not report.changed:
        print_indented(console, Text("nothing to change", "dim"), left=2)
    for block in report.changed:
        print_indented(console, Text(f"{block.label}, version {block.before} to {block.after}", "bold"), left=2)
        show_diff(block.diff, console, left=2)
    for refused in report.refused:
        print_indented(console, Text(f"! {refused}", "yellow"), left=2)


def show_diff(diff: str, console: Console, *, left: int = 0) -> None:
    """Print a unified diff in colours, without the two lines that name its files."""
    for line in diff.split("\n")[2:]:
        style = {"+": "green", "-": "red", "@": "dim cyan"}.get(line[:1], "dim")
        print_indented(console, Text(line, style), left=left, hang=1)


def block_panel(block: BlockView) -> Panel:
    """A block with its version and how full it is."""
    where = f"{block.scope} {block.owner}".strip()
    title = Text.assemble((block.label, "bold"), f" ({where})")
    facts = f"version {block.version}, {len(block.value):,} of {block.limit:,} characters"
    if block.read_only:
        facts += ", read-only"
    body = Text(block.value) if block.value else Text("(empty)", "dim")
    return Panel(
        body, title=title, title_align="left", subtitle=Text(facts, "dim"), subtitle_align="right", box=box.ROUNDED
    )


def passes_table(report: PlayReport) -> Table:
    """One line for each pass of the session; those of this play are bold."""
    numbers = ("after turn", "messages", "seconds", "tokens", "tries", "conflicts")
    table = plain_table("after turn", "messages", "changed", "seconds", "tokens", "tries", "conflicts", right=numbers)
    for one in report.passes:
        changed = ", ".join(block.label for block in one.changed) or "nothing"
        spent = (f"{one.seconds:.2f}", f"{one.usage.total_tokens:,}", str(one.tries), str(one.conflicts))
        style = "bold" if one.id in report.new else "dim"
        table.add_row(str(one.turn), str(one.messages), changed, *spent, style=style)
    return table


def costs(report: PlayReport) -> Table:
    """Tokens of turns and passes, and how long they took."""
    grid = Table.grid(padding=(0, 2))
    count = len(report.turns)
    if count:
        grid.add_row(f"  {count} turn{'' if count == 1 else 's'}", _tokens(report.usage))
    new = len(report.new)
    if new:
        grid.add_row(f"  {new} pass{'' if new == 1 else 'es'}", _tokens(report.pass_usage))
    if (half := report.latencies) is not None and count > 1:
        grid.add_row("  a turn", f"{half[0]:.3f} s half the time, {half[1]:.3f} s or less 95 % of the time")
    grid.add_row("  the play", f"{report.seconds:.1f} s, waiting for passes included")
    return grid


def check_line(check: Check) -> Text:
    """✓ or ✗, what was expected, and what was found instead."""
    mark, style = ("✓", "green") if check.ok else ("✗", "red")
    line = Text.assemble((f"  {mark} ", style), f"{check.name}: {check.expected}")
    if not check.ok:
        found = " ".join(check.found.split()) or "nothing"
        line.append(f" (found: {found[:FOUND]}{'…' if len(found) > FOUND else ''})", "red")
    return line


def _tokens(usage: Usage) -> str:
    shown = f"{usage.total_tokens:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"
    calls = usage.tool_calls
    return shown + (f", {calls} tool call{'' if calls == 1 else 's'}" if calls else "")
