"""A tool: a function that the agent may call. Its docstring and parameters are what the model reads."""

from orchestra import ToolContext, tool


@tool
def note(text: str, ctx: ToolContext) -> str:
    """Write down something that the user wants to have noted.

    Args:
        text: What to write down, in the user's words.
        ctx: Filled in by the runtime; the model does not see it.
    """
    # agent.state belongs to this agent alone and is kept for the session.
    count = ctx.agent.state.increment("notes")
    ctx.agent.state.set(f"note-{count}", text)
    return f"Noted as number {count}."
