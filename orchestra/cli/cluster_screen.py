"""What a cluster looks like: what ``up`` did, what ``status`` sees, what ``down`` ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from orchestra.cli.block_screen import moment
from orchestra.cli.console import plain_table, print_indented, print_table
from orchestra.cluster.cluster_status import ClusterStatus, QueuedPass
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.launch import Launched
from orchestra.cluster.teardown import Ended


@contextlib.contextmanager
def busy(console: Console, what: str) -> Iterator[None]:
    """Something that moves, on a terminal, while work is done."""
    if not console.is_terminal:
        yield
        return
    with console.status(Text(what, "dim")):
        yield


def show_launched(launched: Launched, file: Path | None, console: Console) -> None:
    """What ``up`` did, and how to go on."""
    said = {"started": "started", "unchanged": "up already, nothing was changed", "changed": "up, and changed"}
    _line(console, "cluster", said[launched.outcome])
    if launched.rolled:
        _line(console, "hosts", f"replaced, added or taken away: {', '.join(launched.rolled)}")
    _line(console, "ray", launched.address)
    _line(console, "redis", launched.redis_url)
    show_hosts(launched.hosts, console)
    where = "" if file is None else f" --cluster {file}"
    print_indented(console, Text(f"orchestra status{where}; orchestra down{where}", "dim"), left=0)


def show_status(found: ClusterStatus, console: Console) -> None:
    """Everything that ``status`` knows."""
    if found.stale:
        state = "its head has died; orchestra down cleans up"
    else:
        state = f"up since {moment(found.started_at)}" if found.up else "not up (orchestra up starts it)"
    _line(console, "cluster", f"namespace {found.namespace}, {state}", "" if found.up else "yellow")
    if found.up:
        ray = found.ray
        problem = "" if ray.reachable else f": {ray.problem}"
        _line(console, "ray", ray.address + problem, "red" if problem else "")
        for node in ray.nodes:
            size = f"{node.cpus:g} processors, {node.memory_bytes / 1e9:.1f} GB" if node.alive else "dead"
            _line(console, "", f"machine {node.address}: {size}", "" if node.alive else "red")
    server = found.server
    if server.reachable:
        facts = [f"{server.kind} {server.version}".strip(), f"appendfsync {server.durability or 'unknown'}"]
        facts += [f"{server.used_bytes / 1e6:.1f} MB", *(["stays without users"] if server.kept else [])]
        _line(console, "redis", f"{server.url}: {', '.join(facts)}")
        _line(console, "data", f"{found.agents} agents, {found.sessions} sessions, {found.blocks} blocks")
    else:
        _line(console, "redis", f"{server.url or 'embedded'}: {server.problem or 'does not run'}", "yellow")
    if found.hosts:
        show_hosts(found.hosts, console)
    if found.passes:
        show_passes(found.passes, console)


def show_hosts(hosts: Sequence[HostStatus], console: Console) -> None:
    """One line for each host."""
    table = plain_table("host", "state", "pid", "machine", "turns now", "memory", right=("pid", "turns now", "memory"))
    for host in hosts:
        state, style = ("alive", "") if host.alive else ("does not answer", "red")
        memory = f"{host.memory_bytes / 1e6:.0f} MB" if host.memory_bytes else "-"
        table.add_row(host.name, state, str(host.pid or "-"), host.node, str(len(host.active)), memory, style=style)
    print_table(console, table)


def show_passes(passes: Sequence[QueuedPass], console: Console) -> None:
    """Sleep-time passes and closings that wait, are worked on, or were set aside."""
    table = plain_table("pass of", "state", "tries", "error", right=("tries",))
    for one in passes:
        agent, _, session = one.thread.partition("|")
        what = "" if one.kind == "pass" else ", its closing"
        table.add_row(f"{agent}, session {session}{what}", _state(one), str(one.tries), one.error or "-")
    print_table(console, table)


def _state(one: QueuedPass) -> str:
    if one.aside:
        return "set aside"
    return "waits" if one.at <= time.time() else f"worked on, or tried again at {moment(one.at)}"


def show_ended(ended: Ended, console: Console) -> None:
    """What ``down`` found."""
    if ended.was_up:
        killed = f"; {ended.processes} processes had to be ended one by one" if ended.processes else ""
        _line(console, "cluster", f"down{killed}")
    else:
        _line(console, "cluster", "was not up")
    if ended.server:
        said = {"in_use": "in use by another program; it goes with the last one", "not_running": "did not run"}
        _line(console, "redis", said.get(ended.server, ended.server))


def _line(console: Console, name: str, text: str, style: str = "") -> None:
    print_indented(console, Text.assemble((f"{name:<9}", "dim"), (text, style)), left=0, hang=9)
