"""``orchestra runs resume`` and ``orchestra runs cancel``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Inline, Json
from orchestra.core.errors import InputError, RunNotFound

if TYPE_CHECKING:
    from orchestra.core.result import RunResult

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]


def resume(
    run: RunId,
    approve: Annotated[list[str] | None, typer.Option(metavar="ID|all", help="Let a tool run.")] = None,
    reject: Annotated[list[str] | None, typer.Option(metavar="ID=WHY", help="Refuse it; the model reads why.")] = None,
    answer: Annotated[
        list[str] | None, typer.Option(metavar="ID=JSON", help="Answer a question, by JSON or text.")
    ] = None,
    invocation_state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The run's invocation_state, as YAML or JSON.")
    ] = None,
    cluster: Cluster = None,
    inline: Inline = False,
    json: Json = False,
) -> None:
    """Go on with a run that waits for answers, or whose host and caller have died.

    Without an answer it is asked for here, when this is a terminal. Exit code 1 when the run does not complete, also
    when it asks something more; 2 when the answers do not fit, and then nothing is changed.
    """
    from orchestra.cli.answering import how_to_resume
    from orchestra.cli.console import err, out, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cluster.scenario.report import as_text

    asks = sys.stdin.isatty() and not (approve or reject or answer)
    given = (approve or (), reject or (), answer or ())
    result = run_async(_resume(run, given, _state(invocation_state), cluster, inline=inline, asks=asks))
    if json:
        print_json(result.to_json(messages=False))
    elif result.status == "completed":
        out().print(as_text(result.output), soft_wrap=True)
    elif result.status == "interrupted":
        for line in how_to_resume(result, needs_state=invocation_state is not None):
            err().print(line, soft_wrap=True)
    else:
        err().print(f"{result.status}: {result.error or result.reason}", soft_wrap=True)
    if result.status != "completed":
        raise typer.Exit(1)


def cancel(run: RunId, cluster: Cluster = None, inline: Inline = False, json: Json = False) -> None:
    """Stop a run at its next step, or end one that waits for an answer; its session is free then.

    Exit code 1 when nobody works on the run and it does not wait.
    """
    from orchestra.cli.console import err, out, print_json
    from orchestra.cli.loop import run_async

    cancelled = run_async(_cancel(run, cluster, inline=inline))
    if json:
        print_json({"run_id": run, "cancelled": cancelled})
    elif cancelled:
        out().print(f"run {run} was cancelled", soft_wrap=True)
    else:
        err().print(f"nobody works on run {run}, and it does not wait for an answer", soft_wrap=True)
    if not cancelled:
        raise typer.Exit(1)


def _state(file: Path | None) -> Mapping[str, object] | None:
    if file is None:
        return None
    from orchestra.cli.answering import checked_state
    from orchestra.core.yamltext import parse_value
    from orchestra.runtime.text_file import read_text

    return checked_state(parse_value(read_text(file, what="invocation_state")), str(file))


async def _resume(
    run: str,
    given: tuple[Sequence[str], Sequence[str], Sequence[str]],
    state: Mapping[str, object] | None,
    cluster: Path | None,
    *,
    inline: bool,
    asks: bool,
) -> RunResult:
    from orchestra.cli.answering import answerer, answers_of
    from orchestra.cli.places import cluster_of
    from orchestra.cluster.runtime import Runtime
    from orchestra.core.result import RunResult
    from orchestra.store.interrupt_store import InterruptStore
    from orchestra.store.run_store import RunStore

    async with Runtime.start(cluster_of(cluster), inline=inline) as runtime:
        found = await RunStore(runtime.store).get(run)
        if found is None:
            raise RunNotFound(run)
        if found.status != "ended" and found.needs_invocation_state and state is None:  # before anybody is asked
            problem = "came with an invocation_state, which is never stored: hand it in again"
            raise InputError(f"run {run} {problem}, with --invocation-state FILE (YAML or JSON)")
        approve, reject, answer = given
        waits = (await InterruptStore(runtime.store).asked(run)).open
        responses = answers_of(run, waits, approve=approve, reject=reject, answers=answer)
        answer_typed = answerer() if asks else None
        if answer_typed is not None and waits:
            responses = dict(await answer_typed(RunResult(run, "interrupted", interrupts=waits)) or {})
        result = await runtime.resume(run, responses, invocation_state=state)
        while answer_typed is not None and result.status == "interrupted":
            more = await answer_typed(result)
            if more is None:
                break
            result = await runtime.resume(run, more, invocation_state=state)
        return result


async def _cancel(run: str, cluster: Path | None, *, inline: bool) -> bool:
    from orchestra.cli.places import cluster_of
    from orchestra.cluster.runtime import Runtime
    from orchestra.store.run_store import RunStore

    async with Runtime.start(cluster_of(cluster), inline=inline) as runtime:
        if await RunStore(runtime.store).get(run) is None:
            raise RunNotFound(run)
        return await runtime.cancel(run)
