"""Threads, sessions and runs."""

from __future__ import annotations

from orchestra.core.errors.root import InputError, OrchestraError, UnknownName


class Fenced(OrchestraError):
    """This owner is late: another one has taken over the thread or pass. Data: ``name``, ``token``."""

    def __init__(self, name: str, token: int = 0) -> None:
        super().__init__(name, token)
        self.name, self.token = name, token

    def message(self) -> str:
        """Says that nothing was written."""
        return f"{self.name}: another owner has taken over (fencing token {self.token} is old); nothing was written"


class DefinitionChanged(OrchestraError):
    """A run cannot go on: what it runs was registered anew meanwhile, and differs.

    Data: ``runnable``, ``run_id``, ``differences`` (a line each). Nothing was changed: register the former definition
    and resume the run, or cancel it.
    """

    def __init__(self, runnable: str, run_id: str, differences: tuple[str, ...]) -> None:
        super().__init__(runnable, run_id, differences)
        self.runnable, self.run_id, self.differences = runnable, run_id, differences

    def message(self) -> str:
        """Lists the differences."""
        what = "; ".join(self.differences)
        return (
            f"{self.runnable!r} has changed since run {self.run_id} began: {what}. "
            "Register it as it was and resume the run, or cancel the run"
        )


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

    exit_code = 2

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def message(self) -> str:
        """Says how to make it loadable."""
        missing = f"function {self.name!r} is not available here: {self.reason}"
        return f"{missing}. Its file must be there, and importable, on every host (code:)"


class RunNotFound(UnknownName):
    """No such run. Data as in :class:`UnknownName`."""

    def __init__(self, run_id: str) -> None:
        super().__init__("run", run_id)
        self.args = (run_id,)
