"""One conversation on a terminal or through pipes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

from rich.text import Text

from orchestra.cli.answering import ask_all, how_to_resume
from orchestra.cli.console import err, out, print_indented, width_of
from orchestra.cli.play_screen import changes
from orchestra.cli.play_summary import block_panel
from orchestra.cli.typed_lines import TypedLines
from orchestra.cluster.runtime import Runtime
from orchestra.cluster.scenario import progress as told
from orchestra.cluster.scenario.pass_watch import PassWatch
from orchestra.cluster.scenario.player import described
from orchestra.core.agent import Agent
from orchestra.core.errors import InputError, OrchestraError
from orchestra.core.events import RunEnded, RunEvent, TextDelta, ToolStarted
from orchestra.core.names import thread_name
from orchestra.core.result import RunResult
from orchestra.memory.sessions import Session

LEAVING_SECONDS = 120.0


class Chat:
    """Answers go to standard output, everything else to standard error."""

    def __init__(self, runtime: Runtime, agent: Agent, session: str, user: str) -> None:
        self._runtime, self._agent, self._session, self._user = runtime, agent, session, user
        self._out, self._err = out(), err()
        self._answering: asyncio.Task[RunResult | None] | None = None
        self._asks = sys.stdin.isatty()
        self._failures = 0
        self._lines: TypedLines | None = None

    async def talk(self) -> bool:
        """Read lines and answer them until the end of the input or ``/quit``; whether all were answered.

        Raises :class:`KeyboardInterrupt` by way of a cancellation when Ctrl-C comes while nothing is being answered.
        """
        await self._runtime.register(self._agent)
        self._tell_opening(await Session(self._runtime.store, self._session, self._agent.name).turn())
        lines = self._lines = TypedLines()
        with self._interrupts():
            async with PassWatch(
                self._runtime.store, thread_name(self._agent.name, self._session), tell=self._pass
            ) as passes:
                while True:
                    self._prompt()
                    line = await lines.next()
                    if line is None or line.strip() in ("/quit", "/exit"):
                        break
                    await self._handle(line.strip())
                if self._runtime.config.hosts.sleeptime:
                    await passes.drain(0, seconds=LEAVING_SECONDS)
        return not self._failures

    async def _handle(self, line: str) -> None:
        if line == "/blocks":
            await self._blocks()
        elif line.startswith("/"):
            self._say(f"there is no command {line.split()[0]}; there are /blocks and /quit", "yellow")
        elif line:
            await self._answer(line)

    async def _answer(self, text: str) -> None:
        self._answering = asyncio.create_task(self._turn(text), name="answer")
        try:
            await self._answering
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            self._out.print()
            self._say("stopped", "yellow")
        except InputError:
            raise
        except OrchestraError as error:
            self._failures += 1
            self._say(str(error), "red")
        finally:
            self._answering = None

    async def _turn(self, text: str) -> RunResult | None:
        if self._asks:
            self._err.print(Text(f"{self._agent.name}: ", "bold green"), end="")
        events = self._runtime.stream(self._agent.name, text, session_id=self._session, user_id=self._user)
        result, shown = await self._shown(events)
        while result is not None and result.status == "interrupted" and self._asks and self._lines is not None:
            self._write("\n")
            responses = await ask_all(self._err, result.interrupts, self._lines.next)
            if responses is None:
                break
            result, shown = await self._shown(self._runtime.resume_stream(result.run_id, responses))
        if result is not None and not shown and result.status == "completed":
            self._write(str(result.output or ""))
        self._write("\n")
        if result is not None and result.status == "interrupted":
            self._failures += 1
            for line in how_to_resume(result):
                self._say(line, "yellow")
        elif result is not None and result.status != "completed":
            self._failures += result.status != "cancelled"
            self._say(f"{result.status}: {result.error or result.reason}", "red")
        return result

    async def _shown(self, events: AsyncIterator[RunEvent]) -> tuple[RunResult | None, bool]:
        """Show what happens; the result, and whether its answer was shown."""
        shown, result = False, None
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, TextDelta) and event.kind == "text" and not event.path:
                    self._write(event.text)
                    shown = True
                elif isinstance(event, ToolStarted):
                    self._say(f"[{event.tool}]", "dim")
                elif isinstance(event, RunEnded):
                    result = event.result
        return result, shown

    async def _blocks(self) -> None:
        found = await self._runtime.blocks.list(agent=self._agent.name, user_id=self._user, session_id=self._session)
        for block in found:
            self._out.print(block_panel(block), width=width_of(self._out))
        if not found:
            self._say("it has no blocks; they are made with the first turn", "dim")

    # --- showing --------------------------------------------------------------------------------------------------

    def _tell_opening(self, turns: int) -> None:
        name, _, reason = described(self._agent).partition(" (")
        been = f"{turns} turns so far" if turns else "new"
        self._say(f"{self._agent.name} with {self._user}, session {self._session} ({been}); model {name}", "dim")
        if reason:
            self._say(reason.removesuffix(")"), "dim")
        if self._asks:
            self._say("/blocks shows its memory, /quit or Ctrl-D ends, Ctrl-C stops an answer", "dim")

    def _pass(self, progress: told.PassProgress) -> None:
        if isinstance(progress, told.PassPublished):
            report = progress.report
            self._say(f"● pass after turn {report.turn}: {changes(report)} ({report.seconds:.2f} s)", "magenta")
        elif isinstance(progress, told.PassFailed):
            self._say(f"! pass {progress.status}: {progress.error}", "yellow")
        elif isinstance(progress, told.Waiting):
            self._say("waiting for the sleep-time agent; Ctrl-C leaves at once", "dim")
        else:
            self._say("the pass has not finished; another start goes on with it", "yellow")

    def _prompt(self) -> None:
        if self._asks:
            self._err.print(Text("> ", "bold cyan"), end="")

    def _say(self, text: str, style: str) -> None:
        print_indented(self._err, Text(text, style), left=0, hang=2)

    def _write(self, text: str) -> None:
        # Never through rich: an answer is written as it is, piece by piece.
        sys.stdout.write(text)
        sys.stdout.flush()

    # --- Ctrl-C ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C cancels the answer that is coming; without one, the chat itself."""
        loop, chat = asyncio.get_running_loop(), asyncio.current_task()

        def interrupt() -> None:
            if self._answering is not None:
                self._answering.cancel()
            elif chat is not None:
                chat.cancel()

        try:
            loop.add_signal_handler(signal.SIGINT, interrupt)
        except NotImplementedError:  # Windows: Ctrl-C ends the chat
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
