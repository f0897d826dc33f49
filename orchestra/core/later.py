"""Keys and values that the configuration's description names and this version does not have yet."""

from __future__ import annotations

from collections.abc import Mapping

LATER_KEYS: Mapping[str, frozenset[str]] = {
    "Agent": frozenset(
        {
            "handoffs",
            "output_type",
            "guardrails",
            "bootstrap",
            "embeddings",
            "session_settings",
            "sources",
        }
    ),
    "Conversation": frozenset({"preprocessors", "offload"}),
    "Sleeptime": frozenset({"sources", "tokens", "idle", "compaction", "adaptive"}),
    "Scenario": frozenset({"graph", "swarm"}),
}

LATER_VALUES: Mapping[tuple[str, str], frozenset[str]] = {
    ("Sleeptime", "trigger"): frozenset({"tokens", "idle", "compaction", "adaptive"}),
    ("Sleeptime", "consolidator"): frozenset({"replay"}),
    ("Conversation", "strategy"): frozenset({"window", "summarizing"}),
}

LATER_MAPPINGS: Mapping[tuple[str, str], str] = {
    ("Conversation", "history_limit"): "a limit for each user",
}

NOT_YET = "not in this version yet"
