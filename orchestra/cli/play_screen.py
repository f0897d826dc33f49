"""What a play looks like while it runs: turns with their speakers and dates, passes as they are published."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.text import Text

from orchestra.cli.answering import ask_all
from orchestra.cli.console import print_indented, width_of
from orchestra.cli.run_tree import RunTree
from orchestra.cli.tree_lines import plain_line, summaries, tree_lines
from orchestra.cli.typed_lines import TypedLines
from orchestra.cluster.scenario import progress as told
from orchestra.cluster.scenario.passes import ChangedBlock, PassReport
from orchestra.cluster.scenario.progress import Progress
from orchestra.cluster.scenario.report import as_text
from orchestra.core.events import ContextDecided
from orchestra.core.interrupts import InterruptView, Response
from orchestra.core.result import RunResult

TAIL = 6


class PlayScreen:
    """Prints the progress of a play; on a terminal the answer that is coming is shown as it grows."""

    def __init__(self, console: Console, *, ray: bool) -> None:
        self._console = console
        self._width = width_of(console)
        self._ray, self._live = ray, cast("Live | None", None)
        self._agent, self._user, self._answer, self._day = "", "user", "", ""
        self._tree: RunTree | None = None
        self._lines: TypedLines | None = None

    def __enter__(self) -> PlayScreen:
        self._busy("starting Ray and Redis" if self._ray else "starting Redis")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rest()

    async def ask(self, interrupts: Sequence[InterruptView]) -> dict[str, Response] | None:
        """Ask in the terminal what a run waits for; ``None``: it is left open."""
        self._rest()
        self._lines = self._lines or TypedLines()
        self._console.print()
        return await ask_all(self._console, interrupts, self._lines.next)

    def tell(self, progress: Progress) -> None:
        """Show what has happened."""
        if isinstance(progress, told.AnswerText):
            self._answer += progress.text
            self._busy(f"{self._agent} is answering")
            return
        if isinstance(progress, told.RunHappened) and isinstance(progress.event, ContextDecided):
            self._decided(progress.event)
            return
        if isinstance(progress, told.RunHappened):
            self._happened(progress)
            return
        if isinstance(progress, told.Waiting):
            self._busy("waiting for the sleep-time agent")
            return
        self._rest()
        if isinstance(progress, told.Opened):
            self._opened(progress)
        elif isinstance(progress, told.Forgotten):
            self._forgotten(progress)
        elif isinstance(progress, told.TurnStarted):
            self._started(progress)
        elif isinstance(progress, told.ToolUsed):
            if self._tree is None or not self._tree.branched:  # else the tree shows it
                mark = "✗" if progress.is_error else "✓"
                self._print(Text(f"{mark} {progress.tool}: {_short(progress.content, 60)}", "dim"), left=4)
        elif isinstance(progress, told.TurnEnded):
            self._ended(progress)
        elif isinstance(progress, told.PassPublished):
            self._published(progress.report)
        elif isinstance(progress, told.PassFailed):
            self._failed(progress)
        else:
            text = f"the pass after turn {progress.turn} has not finished in {progress.seconds:.0f} s; going on"
            self._print(Text(f"! {text}", "yellow"), hang=2)

    # --- pieces ---------------------------------------------------------------------------------------------------

    def _opened(self, opened: told.Opened) -> None:
        self._agent, self._user = opened.agent, opened.user or "user"
        for warning in opened.warnings:
            self._print(Text(f"! {warning}", "yellow"), hang=2)
        name, _, reason = opened.model.partition(" (")
        head = Text.assemble((f"{opened.kind:<8}", "dim"), (opened.agent, "bold green"), f", session {opened.session}")
        self._print(head)
        self._print(Text.assemble(("model   ", "dim"), (name, "bold")))
        if reason:
            self._print(Text(reason.rstrip(")"), "dim"), left=8)
        self._print(Text.assemble(("play    ", "dim"), _what(opened)), hang=8)

    def _forgotten(self, gone: told.Forgotten) -> None:
        blocks = ", ".join(f"{block.label} of {block.scope} {block.owner}" for block in gone.blocks) or "no blocks"
        self._print(Text(f"--fresh: deleted session {gone.session} ({gone.turns} turns), {blocks}", "yellow"))

    def _started(self, turn: told.TurnStarted) -> None:
        self._answer, self._tree = "", None
        day, clock = _moment(turn.at)
        if day and day != self._day:
            self._console.print()
            self._console.rule(Text(day, "bold"), style="dim", align="left") if self._console.is_terminal else (
                self._print(Text(f"--- {day} ---"))
            )
            self._day = day
        self._console.print()
        head = Text.assemble((self._user, "bold cyan"), ("  " + clock if clock else "", "dim"))
        label = f"question {turn.position}/{turn.of}" if turn.question else f"turn {turn.position}/{turn.of}"
        head.append(" " * max(2, self._width - head.cell_len - len(label)) + label, "dim")
        self._print(head)
        self._print(Text(turn.text), left=2)
        self._busy(f"{self._agent} is answering")

    def _ended(self, turn: told.TurnEnded) -> None:
        result, tree = turn.result, self._tree
        if tree is not None and tree.branched:
            whole = tree_lines(tree.root, self._width - 2, seconds=tree.since)
            for line in whole if self._console.is_terminal else summaries(tree.root):
                self._print(line, left=2)
        facts = f"{turn.seconds:.2f} s, {_tokens(result)}" + (", played before" if result.duplicate else "")
        self._print(Text.assemble((self._agent, "bold green"), (f"  {facts}", "dim")))
        if result.status == "completed":
            self._print(Text(as_text(result.output).strip() or "(no words)"), left=2)
        else:
            self._print(Text(f"{result.status}: {result.error or result.reason}", "red"), left=2)

    def _published(self, report: PassReport) -> None:
        head = Text.assemble(
            ("● ", "magenta"),
            (f"pass after turn {report.turn}", "bold magenta"),
            (f"  {report.messages} messages read, {report.seconds:.2f} s", "dim"),
        )
        self._console.print()
        self._print(head)
        self._print(Text(changes(report)), left=2)

    def _failed(self, failed: told.PassFailed) -> None:
        what = {
            "failed": "a pass failed and is tried again",
            "aside": "a pass was set aside; the next one reads these messages again",
            "skipped": "a pass was skipped",
            "again": "a pass starts again",
        }.get(failed.status, f"a pass: {failed.status}")
        self._print(Text(f"! {what}: {failed.error}", "yellow"), hang=2)

    def _happened(self, happened: told.RunHappened) -> None:
        if self._tree is None:
            self._tree = RunTree(happened.run_id, self._agent)
        change = self._tree.add(happened.event)
        if not self._tree.branched:
            return
        if self._console.is_terminal:
            self._busy(f"{self._agent} is at work")
        elif change is not None:
            line = plain_line(change, self._width - 4, seconds=self._tree.since(change.item))
            if line is not None:
                self._print(line, left=4)

    def _decided(self, event: ContextDecided) -> None:
        """What keeps the prompt small; what was not due is not worth a line."""
        if event.decision == "no" or event.part == "guard":
            return
        self._rest()
        share = f" ({event.tokens:,} of {event.window:,} tokens)" if event.tokens and event.window else ""
        style = "red" if event.decision == "failed" else "blue"
        failed = " failed" if event.decision == "failed" else ""
        self._print(Text(f"· {event.part}{failed}{share}: {_short(event.reason, 110)}", style), left=4, hang=2)

    # --- the moving part ------------------------------------------------------------------------------------------

    def _busy(self, what: str) -> None:
        if not self._console.is_terminal:
            return
        shown: RenderableType = Spinner("dots", Text(what, "dim"))
        if self._tree is not None and self._tree.branched:
            shown = Group(_Growing(self._tree, self._width - 2), shown)
        elif self._answer:
            lines = Text(self._answer).wrap(self._console, self._width - 2)[-TAIL:]
            shown = Group(Padding(Text("\n").join(lines), (0, 0, 0, 2)), shown)
        if self._live is None:
            self._live = Live(shown, console=self._console, transient=True, refresh_per_second=12)
            self._live.start()
        else:
            self._live.update(shown)

    def _rest(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: Text, *, left: int = 0, hang: int = 0) -> None:
        print_indented(self._console, text, left=left, hang=hang)


class _Growing:
    """A tree as it is at the moment of drawing; of one that is higher than the screen, its last lines."""

    def __init__(self, tree: RunTree, width: int) -> None:
        self._tree, self._width = tree, width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = tree_lines(self._tree.root, self._width, seconds=self._tree.since)
        room = max(4, (options.max_height or console.height) - 4)
        if len(lines) > room:
            lines = [lines[0], Text(f"  … {len(lines) - room + 1} lines more", "dim"), *lines[-room + 2 :]]
        for line in lines:
            yield Text("  ").append_text(line)


def changes(report: PassReport) -> str:
    """What a pass did, in one line: ``human +2, trip +1 -1``."""
    if not report.changed:
        return "nothing to change"
    return ", ".join(f"{block.label} {_count(block)}" for block in report.changed)


def _count(block: ChangedBlock) -> str:
    lines = block.diff.split("\n")[2:]
    added = sum(line.startswith("+") for line in lines)
    gone = sum(line.startswith("-") for line in lines)
    return " ".join(part for part in (f"+{added}" if added else "", f"-{gone}" if gone else "") if part) or "changed"


def _what(opened: told.Opened) -> str:
    if opened.part == "turns":
        return f"{_turns(opened.turns)}, a new session"
    if opened.part == "rest":
        return f"{opened.played} of {opened.turns} turns have been played; going on with turn {opened.played + 1}"
    if opened.part == "follow_up":
        asked = "1 question" if opened.questions == 1 else f"{opened.questions} questions"
        return f"{_all(opened.turns)} been played; {asked} to its memory (--fresh starts over)"
    return f"{_all(opened.turns)} been played, and there is no follow_up (--fresh starts over)"


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _all(count: int) -> str:
    return "its turn has" if count == 1 else f"all {count} turns have"


def _moment(at: str | None) -> tuple[str, str]:
    """(day, time of day) as people write them; what is no date is shown as it is."""
    if not at:
        return "", ""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return "", at
    return f"{moment:%A}, {moment.day} {moment:%B %Y}", f"{moment:%H:%M}" if "T" in at or " " in at else ""


def _tokens(result: RunResult) -> str:
    return f"{result.usage.total_tokens:,} tokens"


def _short(text: str, size: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= size else line[: size - 1] + "…"
