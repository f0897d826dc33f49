"""The names that the outside sees. Changing one is a decision with a page in docs/decisions."""

from __future__ import annotations

import subprocess
import sys

import orchestra
import orchestra.memory
import orchestra.testing
from orchestra import Runtime
from orchestra.memory.blocks import Blocks


def test_names_of_the_package() -> None:
    assert sorted(orchestra.__all__) == [
        "Agent",
        "Approve",
        "Block",
        "BlockView",
        "Budget",
        "Conversation",
        "Edge",
        "Graph",
        "GuardrailContext",
        "GuardrailResult",
        "Guardrails",
        "HookContext",
        "Interrupt",
        "InterruptView",
        "Limits",
        "Message",
        "Node",
        "OrchestraError",
        "Reject",
        "RunResult",
        "RunState",
        "Runtime",
        "Sleeptime",
        "Swarm",
        "Tool",
        "ToolContext",
        "ToolError",
        "Verdict",
        "tool",
    ]
    assert all(hasattr(orchestra, name) for name in orchestra.__all__)


def test_names_of_the_sessions_that_work_on_their_own() -> None:
    names = (
        "ChatHistoryProvider CompactionSession EncryptedSession FilterMessages InMemoryChatHistory InMemorySession "
        "Preprocessor ProviderSession RedisChatHistory RedisSession SQLiteSession SessionProvider SessionSettings "
        "SessionTimes Snapshot SystemPrompt WindowSize provider_session session_provider"
    )
    assert sorted(orchestra.memory.__all__) == sorted(names.split())


def test_names_of_the_test_doubles() -> None:
    assert {"ScriptedModel", "FunctionModel", "FakeClock", "reply", "call"} <= set(orchestra.testing.__all__)


def test_methods_of_the_runtime_and_its_blocks() -> None:
    runtime = (
        "start load sync register run stream resume resume_stream drain cancel resource session blocks agents "
        "delete_agent hosts snapshot snapshots restore delete_snapshot prune_workspaces open_session close_session"
    )
    assert [name for name in runtime.split() if not hasattr(Runtime, name)] == ["blocks"]  # made when it is entered
    blocks = (
        "create get list update append replace insert rethink attach detach log blame diff revert watch delete agents"
    )
    assert [name for name in blocks.split() if not hasattr(Blocks, name)] == []


def test_importing_orchestra_starts_nothing_heavy() -> None:
    heavy = ("ray", "pydantic_ai", "openai", "torch", "numpy", "cel")
    code = f"import sys, orchestra; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
