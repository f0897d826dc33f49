"""A summariser for the tests: it keeps what it was asked, answers by a rule, and never waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestra.context.staged_summaries import Staged, SummaryRequest, staged, summarise
from orchestra.core.conversation import Compaction
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens

Rule = Callable[[SummaryRequest, int], str | BaseException]


def counted(request: SummaryRequest, _number: int) -> str:
    """A short text that tells what it was made of."""
    if request.kind == "merge":
        return "+".join(request.partials)
    return f"{request.kind}:{len(request.messages)}"


class Summariser:
    """``asked`` and ``waited`` tell what happened; ``rule`` gives the answer to the nth request, or what it raises."""

    def __init__(self, rule: Rule = counted) -> None:
        self.rule = rule
        self.asked: list[SummaryRequest] = []
        self.waited: list[float] = []

    async def ask(self, request: SummaryRequest) -> str:
        self.asked.append(request)
        answer = self.rule(request, len(self.asked))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    @property
    def kinds(self) -> list[str]:
        return [request.kind for request in self.asked]

    async def of(
        self,
        messages: Sequence[Message],
        *,
        window: int,
        tokens: Sequence[int] | None = None,
        previous: str | None = None,
        settings: Compaction | None = None,
    ) -> str | None:
        sizes = [message_tokens(message) for message in messages] if tokens is None else tokens
        return await summarise(
            messages,
            sizes,
            previous=previous,
            window=window,
            settings=settings or Compaction(),
            ask=self.ask,
            sleep=self.sleep,
        )

    async def staged(
        self, messages: Sequence[Message], *, window: int, tokens: Sequence[int], previous: str | None = None
    ) -> Staged:
        return await staged(
            messages,
            tokens,
            previous=previous,
            window=window,
            settings=Compaction(),
            ask=self.ask,
            sleep=self.sleep,
        )
