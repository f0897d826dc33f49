"""Orchestra: a multi-agent runtime with shared memory."""

from orchestra.cluster.runtime import Runtime
from orchestra.core.agent import Agent, Budget, Limits, Sleeptime
from orchestra.core.blocks import Block, BlockView
from orchestra.core.conversation import Conversation
from orchestra.core.errors import OrchestraError, ToolError
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.guardrails import GuardrailResult, Guardrails, Verdict
from orchestra.core.interrupts import Approve, Interrupt, InterruptView, Reject, RunState
from orchestra.core.messages import Message
from orchestra.core.result import RunResult
from orchestra.core.swarm import Swarm
from orchestra.runtime.guardrails import GuardrailContext
from orchestra.runtime.hooks import HookContext
from orchestra.runtime.tool import Tool, tool
from orchestra.runtime.tool_context import ToolContext

__all__ = [
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
