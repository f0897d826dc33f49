"""A server of OpenAI's protocols on loopback, for tests of everything that talks to a provider.

    with OpenAIServer(lambda request: "Hello.") as server:
        server.base_url, server.requests

Requests are checked with the types of the OpenAI library and for the pairing of calls and results; what is wrong is
answered with 400 and kept in ``server.faults``. Streams are cut small, so that words, tool arguments and characters of
several bytes are split across events, HTTP chunks and TCP writes. Chat completions are here, the Responses protocol,
with the conversations that it keeps (``server.responses``), is in :mod:`tests.openai_responses`.

``python -m tests.openai_server`` serves an echo and prints its address.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import TypeAdapter, ValidationError

from tests.openai_answers import CREATED, Answer, Body, Called, Fault, exhausted, pieces
from tests.openai_responses import Responses

__all__ = ["OVERFLOW", "Answer", "Body", "Called", "Fault", "OpenAIServer", "Reaction", "echo", "in_order"]
_PARAMS: TypeAdapter[Any] = TypeAdapter(CompletionCreateParams)


OVERFLOW = Fault(
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
    "context_length_exceeded",
    "invalid_request_error",
)
Reaction = Answer | Fault | str


def in_order(*reactions: Reaction) -> Callable[[Body], Reaction]:
    """Answers with ``reactions`` one after the other; the last one again and again."""
    left = list(reactions)
    lock = threading.Lock()

    def answer(request: Body) -> Reaction:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


def echo(request: Body) -> Reaction:
    """Repeats the newest user message."""
    messages = request["messages"] if "messages" in request else request["input"]
    said = [message["content"] for message in messages if message.get("role") == "user"]
    return f"You said: {said[-1] if said else 'nothing'}"


class OpenAIServer:
    """Serves ``answer(request body)`` on a free port of 127.0.0.1 while it is entered.

    ``requests`` holds the bodies as they came, ``headers`` those of each request, ``connections`` counts TCP
    connections, ``hung_up`` counts streams that the client left early. With ``api_key`` every other key gets 401.
    """

    def __init__(
        self,
        answer: Callable[[Body], Reaction] = echo,
        *,
        api_key: str | None = None,
        write_size: int = 7,
        port: int = 0,
    ) -> None:
        self.answer = answer
        self.api_key = api_key
        self.write_size = write_size
        self.requests: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.faults: list[str] = []
        self.responses = Responses()
        self.connections = 0
        self.hung_up = 0
        self.changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def open_connections(self) -> int:
        """TCP connections that are open now."""
        return len(self._open)

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL is set to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def wait_for(self, condition: Callable[[OpenAIServer], bool], *, timeout: float = 10.0) -> bool:
        """Wait until ``condition`` holds (blocks; call it in a thread). Whether it came to hold in time."""
        with self.changed:
            return self.changed.wait_for(lambda: condition(self), timeout)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        with self.changed:
            for connection in self._open:
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()  # waits for the threads of the connections

    def opened(self, connection: socket.socket) -> None:
        """A client has connected."""
        with self.changed:
            self.connections += 1
            self._open.add(connection)
            self.changed.notify_all()

    def closed(self, connection: socket.socket) -> None:
        """A connection has ended."""
        with self.changed:
            self._open.discard(connection)
            self.changed.notify_all()

    def left(self) -> None:
        """A client has closed a stream before its end."""
        with self.changed:
            self.hung_up += 1
            self.changed.notify_all()

    def react(self, body: Body, headers: Mapping[str, str], fault: Callable[[Body], str | None]) -> Answer | Fault:
        """Record a request, check it with ``fault``, then ask ``answer``."""
        headers = {name.lower(): value for name, value in headers.items()}
        with self.changed:
            self.requests.append(body)
            self.headers.append(headers)
            self.changed.notify_all()
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and given != self.api_key:
            return Fault(401, f"Incorrect API key provided: {given}.", "invalid_api_key", "invalid_request_error")
        if problem := fault(body):
            self.faults.append(problem)
            return Fault(400, problem, None, "invalid_request_error")
        reaction = self.answer(body)
        return Answer(reaction) if isinstance(reaction, str) else reaction


def fault_of(body: Body) -> str | None:
    """What a strict server would refuse in ``body``."""
    try:
        exhausted(_PARAMS.validate_python(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"invalid request: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    pending: list[str] = []
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in pending:
                return f"messages.{number}: a tool result that no call before it has asked for"
            pending.remove(message["tool_call_id"])
        elif pending:
            return f"messages.{number}: calls without results before it: {', '.join(pending)}"
        pending.extend(call["id"] for call in message.get("tool_calls") or ())
    return f"calls without results: {', '.join(pending)}" if pending else None


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # then server_close waits for them
    request_queue_size = 512
    owner: OpenAIServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0  # each write is one of TCP

    @property
    def _owner(self) -> OpenAIServer:
        return cast("_Server", self.server).owner

    def setup(self) -> None:
        super().setup()
        self._owner.opened(self.connection)

    def finish(self) -> None:
        self._owner.closed(self.connection)
        super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self._owner.left()

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": "test-model", "object": "model", "created": 1}]})
        else:
            self._json(404, {"error": {"message": f"no such path {self.path}"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kept, path = self._owner.responses, self.path
        if path == "/v1/conversations":
            self._json(200, kept.conversation())
            return
        if path not in ("/v1/chat/completions", "/v1/responses"):
            self._json(404, {"error": {"message": f"no such path {path}"}})
            return
        reaction = self._owner.react(body, dict(self.headers), kept.fault if path == "/v1/responses" else fault_of)
        if isinstance(reaction, Fault):
            error = {"message": reaction.message, "type": reaction.type, "param": None, "code": reaction.code}
            self._json(reaction.status, {"error": error}, reaction.headers)
        elif path == "/v1/responses" and body.get("stream"):
            self._stream(reaction, kept.events(reaction, body), b"")
        elif path == "/v1/responses":
            self._json(200, kept.response(reaction, body))
        elif body.get("stream"):
            self._stream(reaction, _events(reaction, body), b"data: [DONE]\n\n")
        else:
            self._json(200, _completion(reaction, body))

    def _json(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, content in (headers or {}).items():
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: Answer, events: Iterator[Body], end: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = f"data: {json.dumps(event, ensure_ascii=answer.escaped)}\n\n".encode()
            self._write(data)
        if answer.then == "stall":
            self.connection.recv(1)  # returns when the client hangs up, or the server is closed
            self._owner.left()
            self.close_connection = True
        elif answer.then == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self._write(b"" if answer.then == "close" else end)
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        """``data`` in HTTP chunks that end in the middle of characters, each in several writes."""
        size = self._owner.write_size
        for start in range(0, len(data), size * 2 + 1):
            piece = data[start : start + size * 2 + 1]
            chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
            for begin in range(0, len(chunk), size):
                self.wfile.write(chunk[begin : begin + size])


def _ids(answer: Answer) -> list[str]:
    return [call.id or f"call_{number}" for number, call in enumerate(answer.calls)]


def _finish(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.calls else "stop")


def _usage(answer: Answer) -> Body | None:
    if answer.usage is None:
        return None
    prompt, completion, cached = answer.usage
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _events(answer: Answer, body: Body) -> Iterator[Body]:
    def chunk(delta: Body, finish: str | None = None) -> Body:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**head, "choices": [choice]}

    head: Body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": body["model"],
    }
    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(answer.reasoning, 5, halves=answer.escaped):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(answer.text, 3, halves=answer.escaped):
        yield chunk({"content": piece})
    ids = _ids(answer)
    for number, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": number, "id": ids[number], "type": "function", "function": function}]})
    # The arguments of parallel calls come interleaved, a few characters of each at a time.
    cut = [pieces(call.text, 4, halves=answer.escaped) for call in answer.calls]
    for turn in range(max(map(len, cut), default=0)):
        for number, parts in enumerate(cut):
            if turn < len(parts):
                yield chunk({"tool_calls": [{"index": number, "function": {"arguments": parts[turn]}}]})
    if answer.then != "end":
        return
    yield chunk({}, _finish(answer))
    wanted = (body.get("stream_options") or {}).get("include_usage")
    if wanted and (usage := _usage(answer)) is not None:
        yield {**head, "choices": [], "usage": usage}


def _completion(answer: Answer, body: Body) -> Body:
    message: Body = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for number, call in enumerate(answer.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": body["model"],
        "choices": [choice],
        "usage": _usage(answer),
    }


def main() -> None:
    """Serve an echo until interrupted."""
    with OpenAIServer() as server:
        print(server.base_url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
