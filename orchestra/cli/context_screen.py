"""What the next prompt looks like: a bar for each part, what is left out, and which steps are due."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from orchestra.cli.console import plain_table, print_indented, print_table, width_of
from orchestra.runtime.context_report import ContextReport

STYLES = {
    "instructions": "blue",
    "blocks": "cyan",
    "memory files": "cyan",
    "memory updates": "bold cyan",
    "tools": "blue",
    "summary": "magenta",
    "tool results": "yellow",
    "free": "dim",
}
BAR = 24


def show_context(report: ContextReport, console: Console) -> None:
    """All of it; bars are shares of the window."""
    window = f"a window of {report.window:,} tokens, {report.reserved:,} of them kept free"
    facts = f"{report.strategy}, {window}, compactions: {report.cycle}"
    print_indented(console, Text.assemble((f"session {report.session_id}", "bold"), f" of {report.agent}"), left=0)
    print_indented(console, Text(f"{report.model}: {facts}", "dim"), left=0)
    table = plain_table("part", "", "tokens", "share", "pieces", "", right=("tokens", "share", "pieces"))
    free = max(0, report.window - report.tokens)
    rows = [(part.name, part.tokens, str(part.count), part.note) for part in report.parts]
    for name, tokens, count, note in (*rows, ("free", free, "", "")):
        share = tokens / report.window if report.window else 0.0
        bar = Text(_bar(share), STYLES.get(name, "green"))
        table.add_row(name, bar, f"{tokens:,}", f"{share:.1%}", count, Text(note, "dim"))
    print_table(console, table)
    counted = f"; the provider counted {report.counted:,} at the last call" if report.counted else ""
    print_indented(console, Text(f"{report.tokens:,} tokens by the estimate{counted}"), left=0)
    if report.left_out:
        console.print("left out:")
        for out in report.left_out:
            print_indented(
                console, Text.assemble(f"{out.count:,} {out.name}", (f": {out.reason}", "dim")), left=2, hang=2
            )
    console.print("at the next turn:")
    width = max(len(gate.name) for gate in report.gates)
    for gate in report.gates:
        answer = ("yes", "bold yellow") if gate.due else ("no ", "dim")
        line = Text.assemble(gate.name.ljust(width), "  ", answer, (f"  {gate.reason}", "dim"))
        print_indented(console, line, left=2, hang=width + 7, width=width_of(console))


def _bar(share: float) -> str:
    """Eighths of a block, so that a small share is seen too."""
    eighths = min(BAR * 8, max(1 if share > 0 else 0, round(share * BAR * 8)))
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]
