"""Going on with stored runs: those that wait for answers, and those whose host and caller have died."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from orchestra.core.errors import AlreadyAnswered, InputError, MissingAnswer, RunFinished, RunNotFound, UnknownInterrupt
from orchestra.core.failpoints import failpoint
from orchestra.core.interrupts import Approve, InterruptView, Response, RunState, response_to_json
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.names import split_thread
from orchestra.core.result import RunResult
from orchestra.runtime.questions import always_line
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed
from orchestra.store.connection import Store
from orchestra.store.interrupt_store import InterruptStore
from orchestra.store.run_store import RunStore, StoredRun


def stored_request(run: StoredRun) -> RunRequest:
    """The request of a stored run, to be sent again under its own id."""
    agent, session_id = split_thread(run.thread)
    return RunRequest.from_text(
        run.request, run_id=run.run_id, agent=agent, session_id=session_id, user_id=run.user or None
    )


def ending(run: StoredRun, reason: str) -> RunRequest:
    """The request that ends a run on which nobody works, as cancelled with that reason."""
    return replace(stored_request(run), ending=reason)


async def prepared(
    store: Store,
    run: str | Mapping[str, Json],
    responses: Mapping[str, Response],
    invocation_state: Mapping[str, object] | None,
) -> RunResult | tuple[RunRequest, Sealed | None]:
    """What a host is to be asked for so that the run goes on, its answers stored; or the result of one that has ended.

    Errors as in :meth:`Client.resume`; then nothing was changed.
    """
    if not isinstance(run, str):
        state = RunState(run)
        responses = {**state.responses, **responses}
        if "carried" in state:
            return _carried_on(state, responses, invocation_state)
        run = state.run_id
    runs = RunStore(store)
    found = await runs.get(run)
    if found is None:
        raise RunNotFound(run)
    if found.parent and found.status != "ended":
        raise InputError(f"run {run} is part of run {found.parent}: resume that one")
    if found.status == "ended":
        if responses:
            raise RunFinished(run)
        return replace(RunResult.from_json(loads(await runs.answer(run) or "{}")), duplicate=True)
    if found.needs_invocation_state and invocation_state is None:
        raise _state_missing(run)
    sealed = Sealed.of(invocation_state)
    if responses or found.status == "interrupted":
        await _answer(InterruptStore(store), found, responses)
    return replace(stored_request(found), needs_invocation_state=sealed is not None), sealed


async def _answer(interrupts: InterruptStore, run: StoredRun, responses: Mapping[str, Response]) -> None:
    asked = {one.id: one for one in (await interrupts.asked(run.run_id)).interrupts}
    answers = _checked(run.run_id, asked, responses)
    always = _always(asked, responses)
    await interrupts.answer(run.run_id, run.thread, {name: dumps(value) for name, value in answers.items()}, always)
    failpoint("run.answered")


async def answered(interrupts: InterruptStore, request: RunRequest) -> bool:
    """Answer what this run asks with what the run above it hands down; False when that is not all.

    Twice is once: a parent that was resumed, died, and was resumed again hands down the same answers.
    """
    waits = [one.id for one in (await interrupts.asked(request.run_id)).open]
    if not all(name in request.answers for name in waits):
        return False
    given = {name: dumps(request.answers[name]) for name in waits}
    with contextlib.suppress(AlreadyAnswered):
        await interrupts.answer(request.run_id, request.thread, given)
    return True


def carried(request: RunRequest, journal: Mapping[str, str]) -> dict[str, Json]:
    """What an interrupted run without a session has done so far, as its result carries it. No ``invocation_state``."""
    return {
        "agent": request.agent,
        "request": loads(request.to_text()),
        "history": [message.to_json() for message in request.history],
        "user_id": request.user_id,
        "needs_invocation_state": request.needs_invocation_state,
        "answers": dict(request.answers),
        "approved": list(request.approved),
        "journal": dict(journal),
    }


def _carried_on(
    state: RunState, responses: Mapping[str, Response], invocation_state: Mapping[str, object] | None
) -> tuple[RunRequest, Sealed | None]:
    """The request of a run of which nothing is stored."""
    kept, run_id = cast("dict[str, Json]", state["carried"]), state.run_id
    asked = {one.id: one for one in state.interrupts}
    answers = _checked(run_id, asked, responses)
    if missing := [name for name in asked if name not in responses]:
        raise MissingAnswer(run_id, missing)
    if kept["needs_invocation_state"] and invocation_state is None:
        raise _state_missing(run_id)
    sealed = Sealed.of(invocation_state)
    user = cast("str | None", kept["user_id"])
    request = RunRequest.from_text(
        dumps(kept["request"]), run_id=run_id, agent=str(kept["agent"]), session_id="", user_id=user
    )
    earlier = cast("list[str]", kept["approved"])
    return replace(
        request,
        session_id=None,
        history=tuple(Message.from_json(one) for one in cast("list[dict[str, Json]]", kept["history"])),
        needs_invocation_state=sealed is not None,
        answers={**cast("dict[str, Json]", kept["answers"]), **answers},
        approved=tuple(dict.fromkeys([*earlier, *_always(asked, responses)])),
        carried=cast("dict[str, str]", kept["journal"]),
    ), sealed


def _checked(
    run_id: str, asked: Mapping[str, InterruptView], responses: Mapping[str, Response]
) -> dict[str, dict[str, Json]]:
    """The answers as they are stored. Raises :class:`UnknownInterrupt`, :class:`InputError`."""
    for name in responses:
        if name not in asked:
            raise UnknownInterrupt(run_id, name, tuple(asked))
    return {name: response_to_json(asked[name], response) for name, response in responses.items()}


def _always(asked: Mapping[str, InterruptView], responses: Mapping[str, Response]) -> Sequence[str]:
    return [
        always_line(asked[name].agent, asked[name].tool)
        for name, response in responses.items()
        if isinstance(response, Approve) and response.always and asked[name].kind == "approval"
    ]


def _state_missing(run_id: str) -> InputError:
    return InputError(f"run {run_id} came with an invocation_state, which is never stored: hand it in again")
