"""Test doubles for users' tests as well as ours."""

from orchestra.models.function import FunctionModel
from orchestra.models.scripted import ScriptedModel, ScriptedReply
from orchestra.testing.clock import FakeClock
from orchestra.testing.replies import call, reply

__all__ = ["FakeClock", "FunctionModel", "ScriptedModel", "ScriptedReply", "call", "reply"]
