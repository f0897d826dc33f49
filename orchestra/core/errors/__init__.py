"""The one tree of errors.

Every class carries its data as attributes, says in its message what to do, tells by ``retryable`` whether the same
call may succeed later, and survives pickling (Ray moves errors between processes): all arguments go positionally to
``super().__init__`` through ``_args``.
"""

from orchestra.core.errors.blocks import (
    BlockAccessDenied,
    BlockConflict,
    BlockError,
    BlockLimitExceeded,
    BlockMatchError,
    BlockRangeError,
    BlockReadOnly,
    BlockScopeError,
    DuplicateLabel,
    UnknownBlock,
)
from orchestra.core.errors.models import (
    ContextOverflow,
    ContextWindowTooSmall,
    LimitReached,
    ModelError,
    ModelNotConfigured,
    ModelUnavailable,
    ToolError,
)
from orchestra.core.errors.root import (
    ConfigError,
    ConfigErrors,
    InputError,
    OrchestraError,
    UnknownName,
)
from orchestra.core.errors.system import (
    ClusterError,
    EmbeddedServerError,
    EmbeddingMismatch,
    EmbeddingsUnavailable,
    HostFull,
    HostUnavailable,
    SleeptimeError,
    StoreIncompatible,
    StoreUnavailable,
)
from orchestra.core.errors.threads import (
    DefinitionChanged,
    Fenced,
    FunctionUnavailable,
    InvocationStateError,
    RunNotFound,
    ServerConversationError,
    SessionBusy,
    SessionClosed,
    SessionInterrupted,
    SessionOfAnotherUser,
    StateValueError,
)

__all__ = [
    "BlockAccessDenied",
    "BlockConflict",
    "BlockError",
    "BlockLimitExceeded",
    "BlockMatchError",
    "BlockRangeError",
    "BlockReadOnly",
    "BlockScopeError",
    "ClusterError",
    "ConfigError",
    "ConfigErrors",
    "ContextOverflow",
    "ContextWindowTooSmall",
    "DefinitionChanged",
    "DuplicateLabel",
    "EmbeddedServerError",
    "EmbeddingMismatch",
    "EmbeddingsUnavailable",
    "Fenced",
    "FunctionUnavailable",
    "HostFull",
    "HostUnavailable",
    "InputError",
    "InvocationStateError",
    "LimitReached",
    "ModelError",
    "ModelNotConfigured",
    "ModelUnavailable",
    "OrchestraError",
    "RunNotFound",
    "ServerConversationError",
    "SessionBusy",
    "SessionClosed",
    "SessionInterrupted",
    "SessionOfAnotherUser",
    "SleeptimeError",
    "StateValueError",
    "StoreIncompatible",
    "StoreUnavailable",
    "ToolError",
    "UnknownBlock",
    "UnknownName",
]
