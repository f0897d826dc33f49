"""``orchestra chat``: talk to an agent."""

from __future__ import annotations

import getpass
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Inline

if TYPE_CHECKING:
    from orchestra.core.agent import Agent
    from orchestra.core.cluster import ClusterConfig
    from orchestra.core.session_template import SessionTemplate


def chat(
    agent: Annotated[str, typer.Argument(help="An agent file, or the name of an agent in agents/ or a shipped one.")],
    session: Annotated[
        str, typer.Option(help="The session to go on with, or a new one; {user} and {date} are filled in.")
    ] = "chat",
    user: Annotated[str | None, typer.Option(help="Who you are; left out: your login name.")] = None,
    agents: Annotated[Path, typer.Option(metavar="DIR", help="Where agents are looked for.")] = Path("agents"),
    cluster: Cluster = None,
    inline: Inline = False,
) -> None:
    """Talk to an agent. Each line is a turn; /blocks shows its memory, /quit or Ctrl-D ends.

    Ctrl-C stops the answer that is coming. Input may also come from a pipe.
    """
    from orchestra.cli.loop import run_async
    from orchestra.cli.places import agent_path, cluster_of
    from orchestra.core.session_template import SessionTemplate
    from orchestra.runtime.agent_file import load_agent

    loaded, who = load_agent(agent_path(agent, agents)), user or _login()
    template = SessionTemplate(session, loaded.conversation.time_zone)
    template.fill(user=who, at=time.time())  # what is wrong with it is said before anything starts
    # Who types has seen what failed; a pipe's other end is told by the exit code.
    if not run_async(_chat(cluster_of(cluster), loaded, template, who, inline=inline)):
        raise typer.Exit(1)


async def _chat(config: ClusterConfig, agent: Agent, template: SessionTemplate, user: str, *, inline: bool) -> bool:
    from orchestra.cli.chat_screen import Chat
    from orchestra.cluster.runtime import Runtime

    async with Runtime.start(config, inline=inline) as runtime:
        session = await runtime.open_session(template.text, agent.name, user_id=user, time_zone=template.time_zone)
        chat = Chat(runtime, agent, session, user)
        return await chat.talk()


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no login name, as in some containers
        return "user"
