"""``orchestra context``: what the next prompt of a session will hold."""

from __future__ import annotations

from orchestra.cli.options import Cluster, Json, SessionAgent, SessionId


def context(session: SessionId, agent: SessionAgent = None, cluster: Cluster = None, json: Json = False) -> None:
    """Show what the next prompt of a session will hold, part by part, what is left out, and why."""
    from orchestra.cli import context_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.runtime.context_report import report_context
    from orchestra.runtime.function_ref import FunctionTable

    report = with_store(cluster, lambda store: report_context(store, session, agent, FunctionTable()))
    if json:
        print_json(report.to_json())
    else:
        context_screen.show_context(report, out())
