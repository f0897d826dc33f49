"""What an experiment looks like on a terminal: how far it is, its table, its recommendation."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from orchestra.cli.console import plain_table, print_indented, print_table
from orchestra.experiments.intervals import Estimate
from orchestra.experiments.recommendation import Recommendation
from orchestra.experiments.summary import WorkloadSummary
from orchestra.experiments.tuning import Tuned

#: Where there is no terminal, a line is printed each time that so much more is done.
_STEP = 0.1


class TuneScreen:
    """A bar on a terminal; elsewhere a line now and then. It appears when the first trial is told of."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("trials"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[name]}"),
        )
        self._console, self._progress = console, Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("trials", total=None, name="")
        self._started, self._told = False, 0.0

    def __enter__(self) -> TuneScreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._started:
            self._progress.stop()

    def tell(self, done: int, total: int, name: str) -> None:
        """So many trials are done; ``name`` is the one that has just ended."""
        if self._console.is_terminal:
            if not self._started:
                self._progress.start()
                self._started = True
            self._progress.update(self._task, completed=done, total=total, name=name)
        elif done == total or done / total >= self._told + _STEP or not name:
            self._told = done / total
            self._console.print(Text(f"{done} of {total} trials"))


def show_tuned(tuned: Tuned, console: Console) -> None:
    """Print the tables, the recommendations and where the files are."""
    for workload, advice in zip(tuned.workloads, tuned.advice, strict=True):
        _show_workload(workload, advice, console)
    if tuned.writers:
        names = list(tuned.writers[0])
        table = plain_table(
            *(name.replace("_", " ") for name in names), right=[name.replace("_", " ") for name in names]
        )
        for row in tuned.writers:
            table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
        print_table(console, table)
    for note in tuned.notes:
        print_indented(console, Text(note, "yellow"), left=0)
    for file in tuned.files[:1]:
        console.print(Text(f"report: {file}"), soft_wrap=True)


def _show_workload(workload: WorkloadSummary, advice: Recommendation, console: Console) -> None:
    console.print(
        Text.assemble((workload.name, "bold"), f"  {workload.size}"),
        soft_wrap=True,
    )
    heads = ("arm", "freshness", "(95 %)", "asleep", "bill", "lag 0", "lag 10", "end", "stale", "never", "updated")
    table = plain_table(*heads, right=heads[1:], whole=heads)
    for one in workload.arms:
        bill = f"+{one.money_sleep / one.money_primary:.0%}" if one.money_primary and one.money_sleep else ""
        table.add_row(
            f"▸ {one.arm.name}" if one.arm.name == advice.arm else f"  {one.arm.name}",
            _value(one.freshness, 3),
            f"{one.freshness.low:.3f}-{one.freshness.high:.3f}" if one.freshness else "",
            f"{one.tokens_sleep:,.0f}" if one.tokens_sleep else "",
            bill,
            *(_value(one.recall.get(place), 2) for place in ("lag 0", "lag 10", "end")),
            _value(one.staleness, 1),
            _value(one.never, 2),
            _value(one.updated, 2),
            style="bold" if one.arm.name == advice.arm else "dim" if one.arm.kind == "baseline" else None,
        )
    print_table(console, table)
    console.print()
    print_indented(console, Text(advice.text), left=0)
    for verdict in advice.adaptive:
        print_indented(console, Text(verdict.text), left=0)
    console.print()


def _value(found: Estimate | None, digits: int) -> str:
    return "" if found is None else f"{found.value:.{digits}f}"
