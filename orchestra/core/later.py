"""Keys and values that the configuration's description names and this version does not have yet."""

from __future__ import annotations

from collections.abc import Mapping

LATER_KEYS: Mapping[str, frozenset[str]] = {
    "Agent": frozenset(
        {
            "embeddings",
            "session_settings",
            "sources",
        }
    ),
}

LATER_VALUES: Mapping[tuple[str, str], frozenset[str]] = {}

LATER_MAPPINGS: Mapping[tuple[str, str], str] = {}

NOT_YET = "not in this version yet"
