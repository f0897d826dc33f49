"""Refused edits of blocks; the block is as it was."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.errors.root import OrchestraError


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
