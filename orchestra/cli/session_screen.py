"""What sessions and their messages look like."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from orchestra.cli.block_screen import moment
from orchestra.cli.console import plain_table, print_indented, print_table
from orchestra.core.messages import Message
from orchestra.memory.retraction import LearnedLine
from orchestra.memory.session_list import SessionView
from orchestra.memory.sessions import Session
from orchestra.memory.snapshots import Restored, SnapshotView

STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "magenta", "system": "dim"}


def show_list(sessions: Sequence[SessionView], console: Console) -> None:
    """One line for each session."""
    if not sessions:
        console.print("there are no sessions here")
        return
    table = plain_table(
        *("session", "agent", "user", "turns", "messages", "tidied to", "last used"),
        right=("turns", "messages", "tidied to"),
    )
    for one in sessions:
        numbers = (str(one.turns), str(one.messages), str(one.slept_until))
        table.add_row(one.session_id, one.agent, one.user or "-", *numbers, moment(one.updated_at))
    print_table(console, table)


def show_messages(
    session: Session, messages: Sequence[Message], console: Console, *, none: str = "it has no messages"
) -> None:
    """Each message with its number, its speaker and its time."""
    if not messages:
        console.print(f"session {session.session_id} of {session.agent}: {none}")
    for message in messages:
        meta = message.meta
        speaker = {"assistant": session.agent, "tool": f"tool {message.name or ''}".strip()}.get(
            message.role, message.role
        )
        facts = [f"message {meta.seq}", f"turn {meta.turn}"] if meta.seq else []
        facts += [moment(meta.created_at)] if meta.created_at else []
        facts += [word for word, there in (("aborted", meta.aborted), ("filled in", meta.synthetic)) if there]
        style = STYLES.get(message.role, "bold")
        print_indented(console, Text.assemble((speaker, style), ("  " + ", ".join(facts), "dim")), left=0)
        if message.text:
            print_indented(console, Text(message.text), left=2)
        for call in message.tool_calls:
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            print_indented(console, Text(f"calls {call.name}({arguments})", "magenta"), left=2, hang=2)


def show_learned(session: Session, lines: Sequence[LearnedLine], console: Console) -> None:
    """What memory has made of messages that were taken away, and what has become of it."""
    if not lines:
        return
    console.print("memory has lines from them:")
    for line in lines:
        what = {
            "kept": "",
            "mixed": "also from other messages",
            "changed": f"changed since by {line.by.removeprefix('agent:')}",
            "removed": "taken out",
        }[line.state]
        facts = f"  {line.state}: {what}" if what else f"  written by {line.author.removeprefix('agent:')}"
        print_indented(console, Text.assemble((line.label, "bold"), (f" ({line.block_id})", "dim"), facts), left=2)
        print_indented(console, Text(line.text), left=4)
    if any(line.state == "kept" for line in lines):
        command = f"orchestra sessions pop {shlex.quote(session.session_id)} --agent {session.agent} --count 0"
        console.print("the next pass revises them; what came only from them is taken out at once by", style="dim")
        print_indented(console, Text(f"{command} --revert-memory", "dim"), left=2, hang=2)
    elif any(line.state in ("changed", "mixed") for line in lines):
        console.print("what stands there still can be changed with orchestra blocks set", style="dim")


def show_snapshots(snapshots: Sequence[SnapshotView], console: Console) -> None:
    """One line for each snapshot, the ids whole, so that they can be copied."""
    if not snapshots:
        console.print("there are no snapshots of this session")
        return
    table = plain_table(
        *("snapshot", "session", "agent", "turns", "messages", "files", "made"),
        right=("turns", "messages"),
        whole=("snapshot",),
    )
    for one in snapshots:
        files = "yes" if one.workspace else "-"
        table.add_row(one.id, one.session_id, one.agent, str(one.turns), str(one.messages), files, moment(one.at))
    print_table(console, table)


def show_restored(done: Restored, console: Console) -> None:
    """What a restore changed."""
    lines = [
        f"session {done.session_id} of {done.agent} is as it was: {done.turns} turns",
        f"messages: {done.removed} taken away, {done.returned} back again",
        f"state: {', '.join(done.state) or 'nothing changed'}",
        f"blocks: {', '.join(f'{one.label} (version {one.version})' for one in done.blocks) or 'nothing changed'}",
    ]
    if done.missing:
        lines.append(f"deleted since, and not made again: {', '.join(done.missing)}")
    if done.folder is not None:
        lines.append(f"files: {done.folder}")
    for line in lines:
        print_indented(console, Text(line), left=0, hang=2)
