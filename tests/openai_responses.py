"""The Responses protocol of the OpenAI server of the tests, with the conversations that it keeps.

It is as strict as the real one: what a request goes on from must be there, every call has its result before the next
reply, and a result answers a call. What a request adds is kept when its reply is complete, and not before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParams
from pydantic import TypeAdapter, ValidationError

from tests.openai_answers import CREATED, Answer, Body, exhausted, pieces


@cache
def _params() -> TypeAdapter[Any]:
    return TypeAdapter(ResponseCreateParams)


@cache
def _event() -> TypeAdapter[Any]:
    return TypeAdapter(ResponseStreamEvent)


class Responses:
    """What the provider keeps: ``kept`` has the items up to each response, ``conversations`` those of each of them."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Body]] = {}
        self.conversations: dict[str, list[Body]] = {}
        self._lock = threading.Lock()
        self._made = 0

    def conversation(self) -> Body:
        """Make one."""
        with self._lock:
            made = f"conv_{len(self.conversations)}"
            self.conversations[made] = []
        return {"id": made, "object": "conversation", "created_at": CREATED, "metadata": {}}

    def fault(self, body: Body) -> str | None:
        """What a strict server would refuse in ``body``."""
        try:
            exhausted(_params().validate_python(body))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"invalid request: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        previous, conversation = body.get("previous_response_id"), body.get("conversation")
        if previous is not None and conversation is not None:
            return "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
        if previous is not None and previous not in self.kept:
            return f"Previous response with id '{previous}' not found."
        if conversation is not None and conversation not in self.conversations:
            return f"Conversation with id '{conversation}' not found."
        return _unpaired([*self._before(body), *_input(body)])

    def response(self, answer: Answer, body: Body) -> Body:
        """A complete response, kept."""
        return self._complete(answer, body, self._begun(body))

    def events(self, answer: Answer, body: Body) -> Iterator[Body]:
        """A response in events; when ``answer`` does not end well, it is not kept."""
        for number, event in enumerate(self._events(answer, body)):
            numbered = {**event, "sequence_number": number}
            _event().validate_python(numbered)
            yield numbered

    def _events(self, answer: Answer, body: Body) -> Iterator[Body]:
        begun = self._begun(body)
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for index, item in enumerate(_output(answer, begun["id"])):
            where = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                begins = {**item, "content": [], "status": "in_progress"}
                yield {"type": "response.output_item.added", "output_index": index, "item": begins}
                part = item["content"][0]
                empty = {**part, "text": ""}
                yield {"type": "response.content_part.added", **where, "content_index": 0, "part": empty}
                for piece in pieces(answer.text, 3, halves=answer.escaped):
                    delta = {"content_index": 0, "delta": piece, "logprobs": []}
                    yield {"type": "response.output_text.delta", **where, **delta}
                if answer.then != "end":
                    return
                done = {"content_index": 0, "text": answer.text, "logprobs": []}
                yield {"type": "response.output_text.done", **where, **done}
                yield {"type": "response.content_part.done", **where, "content_index": 0, "part": part}
            else:
                begins = {**item, "arguments": "", "status": "in_progress"}
                yield {"type": "response.output_item.added", "output_index": index, "item": begins}
                for piece in pieces(item["arguments"], 4, halves=answer.escaped):
                    yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield {"type": "response.function_call_arguments.done", **where, **done}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        if answer.then == "end":
            yield {"type": "response.completed", "response": self._complete(answer, body, begun)}

    def _begun(self, body: Body) -> Body:
        with self._lock:
            self._made += 1
            number = self._made
        conversation = body.get("conversation")
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": CREATED,
            "status": "in_progress",
            "model": body["model"],
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "instructions": body.get("instructions"),
            "previous_response_id": body.get("previous_response_id"),
            "conversation": None if conversation is None else {"id": conversation},
        }

    def _complete(self, answer: Answer, body: Body, begun: Body) -> Body:
        output = _output(answer, begun["id"])
        with self._lock:
            self.kept[begun["id"]] = items = [*self._before(body), *_input(body), *output]
            if (conversation := body.get("conversation")) is not None:
                self.conversations[conversation] = items
        return {**begun, "status": "completed", "output": output, "usage": _usage(answer)}

    def _before(self, body: Body) -> list[Body]:
        if (conversation := body.get("conversation")) is not None:
            return self.conversations[conversation]
        return self.kept.get(body.get("previous_response_id") or "", [])


def said(items: Sequence[Body]) -> list[str]:
    """``items`` in short: what was said, called and given back."""
    out = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            content = item["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            out.append(f"{item['role']}: {text}")
        else:
            out.append(f"call {item['name']}" if kind == "function_call" else f"result {item['output']}")
    return out


def _input(body: Body) -> list[Body]:
    given = body.get("input", [])
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _unpaired(items: Sequence[Body]) -> str | None:
    waiting: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            waiting.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in waiting:
                return f"No tool call found for function call output with call_id {item['call_id']}."
            waiting.remove(item["call_id"])
        elif waiting and item.get("role") == "user":
            break
    return f"No tool output found for function call {waiting[0]}." if waiting else None


def _output(answer: Answer, response_id: str) -> list[Body]:
    items: list[Body] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]
        head = {"id": f"msg_{response_id}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**head, "content": content})
    for number, call in enumerate(answer.calls):
        items.append(
            {
                "id": f"fc_{response_id}_{number}",
                "type": "function_call",
                "call_id": call.id or f"call_{response_id}_{number}",
                "name": call.name,
                "arguments": call.text,
                "status": "completed",
            }
        )
    return items


def _usage(answer: Answer) -> Body | None:
    if answer.usage is None:
        return None
    prompt, completion, cached = answer.usage
    return {
        "input_tokens": prompt,
        "output_tokens": completion,
        "total_tokens": prompt + completion,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
