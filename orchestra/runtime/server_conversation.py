"""Runs whose conversation the provider keeps: who may have one, what is to be sent, where the next one goes on."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.errors import ModelError, ServerConversationError
from orchestra.core.messages import Message
from orchestra.core.model import Model, ModelReply, ServerConversation, keeps_conversations


def asked_for(
    conversation_id: str | None, previous_response_id: str | None, automatic: bool, *, with_session: bool
) -> ServerConversation | None:
    """The conversation that the options of a run ask for; ``None`` when they ask for none.

    Raises:
        ServerConversationError: together with a session, two names at once, or a name that is none.
    """
    given = {
        "conversation_id": conversation_id is not None,
        "previous_response_id": previous_response_id is not None,
        "auto_previous_response_id": automatic,
    }
    names = [name for name, there in given.items() if there]
    if not names:
        return None
    if with_session:
        # Two places would keep the same history: refused before anything is read.
        raise ServerConversationError(
            f"{' and '.join(names)} cannot be used together with a session: the provider keeps the history, "
            "or Orchestra does"
        )
    if conversation_id is not None and len(names) > 1:
        raise ServerConversationError(
            f"{' and '.join(names)} cannot be used together: a conversation goes on under its own name, or from a reply"
        )
    for name, value in (("conversation_id", conversation_id), ("previous_response_id", previous_response_id)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ServerConversationError(f"{name} is an id that the provider gave, not {value!r}")
    return ServerConversation(conversation_id, previous_response_id)


def check_model(model: Model, conversation: ServerConversation | None) -> None:
    """Refuse a model that cannot go on with ``conversation``, before it is asked anything.

    Raises:
        ServerConversationError: names the model.
    """
    if conversation is not None and not keeps_conversations(model):
        raise ServerConversationError(
            f"the provider of model {model.name} does not keep conversations: use a session_id, or a model that can "
            "(openai-responses:NAME)"
        )


def after_replies(conversation: ServerConversation | None, replies: Sequence[ModelReply]) -> ServerConversation | None:
    """Where the next call of a run goes on that has got ``replies`` so far."""
    return conversation if conversation is None or not replies else conversation.after(replies[-1].response_id)


def unsent(messages: Sequence[Message]) -> Sequence[Message]:
    """What of a run's ``messages`` came after its last reply: the provider has all that is before."""
    last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=-1)
    return messages[last + 1 :]


def check_reply(
    model: Model, conversation: ServerConversation | None, reply: ModelReply, messages: Sequence[Message]
) -> None:
    """Refuse a reply from which ``conversation`` could not go on; ``messages`` are those of the run before it.

    Raises:
        ModelError: a chain would lose what was said, or two calls of the run could not be told apart.
    """
    if conversation is None:
        return
    if conversation.chained and not reply.response_id:
        raise ModelError(model.name, "the reply has no response id, so the conversation cannot go on from it")
    known = {call.id for message in messages for call in message.tool_calls}
    for call in reply.message.tool_calls:
        if call.id in known:
            # Elsewhere such a call gets an id of ours; here the provider would not know its result by that.
            raise ModelError(model.name, f"the call id {call.id!r} came twice in one conversation")
        known.add(call.id)


def last_response_id(conversation: ServerConversation | None, replies: Sequence[ModelReply]) -> str | None:
    """Where the next run can go on from: the last reply without calls, or where this run began.

    A reply whose calls have no results at the provider is none: a run that stopped there is not gone on with.
    """
    if conversation is None:
        return None
    ids = (reply.response_id for reply in reversed(replies) if reply.response_id and not reply.message.tool_calls)
    return next(ids, conversation.previous_response_id)
