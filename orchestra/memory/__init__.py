"""Floor 2: blocks, sessions, state. Re-exports the session classes that work on their own."""

from orchestra.memory.chat_adapters import ProviderSession, SessionProvider, provider_session, session_provider
from orchestra.memory.chat_history import ChatHistoryProvider, InMemoryChatHistory, RedisChatHistory
from orchestra.memory.chat_preprocessors import FilterMessages, Preprocessor, SystemPrompt, WindowSize
from orchestra.memory.compaction_session import CompactionSession
from orchestra.memory.encrypted_session import EncryptedSession
from orchestra.memory.in_memory_session import InMemorySession
from orchestra.memory.redis_session import RedisSession
from orchestra.memory.session_settings import SessionSettings
from orchestra.memory.sqlite_session import SQLiteSession
from orchestra.memory.stored_session import SessionTimes, Snapshot

__all__ = [
    "ChatHistoryProvider",
    "CompactionSession",
    "EncryptedSession",
    "FilterMessages",
    "InMemoryChatHistory",
    "InMemorySession",
    "Preprocessor",
    "ProviderSession",
    "RedisChatHistory",
    "RedisSession",
    "SQLiteSession",
    "SessionProvider",
    "SessionSettings",
    "SessionTimes",
    "Snapshot",
    "SystemPrompt",
    "WindowSize",
    "provider_session",
    "session_provider",
]
