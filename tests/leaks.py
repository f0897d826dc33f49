"""What a test may leave in Redis: known kinds of keys, a time to live where one is due, nothing outside."""

from __future__ import annotations

import re

import redis

KINDS = re.compile(
    r"schema|token|hosts|runs|due|events|agents|blocks|threads|wake|embeddings|archives|snaps|closes|closing|idles"
    r"|(?:def|attach|users|block|hist):[^\n]+"
    r"|(?:head|log|turns|state|context|offload|pass|passes|retracted|snaps|children):[^|\n]+\|.+"
    r"|snap:[0-9a-f]{16}(?::log|:turns|:state|:context|:offload|:block:.+)?"
    r"|(?:passage|shelf|arch|vset|vsetat|userthreads):.+"
    r"|session:.+|run:.+|op:.+|sources:.+|draft:\d+:.+|spent:\d+:.+",
    re.DOTALL,
)
EXPIRING = ("op:", "draft:", "spent:")


def leaks(url: str, namespace: str) -> list[str]:
    """What is wrong with the keys that a test left. Deletes them: the next test starts with an empty server."""
    client = redis.Redis.from_url(url, decode_responses=True)
    faults = []
    try:
        for key in client.scan_iter(count=1000):
            found = re.match(rf"orchestra:\{{{re.escape(namespace)}[a-z0-9-]*\}}:", key)
            if not found:
                faults.append(f"outside the test's namespace: {key}")
                continue
            name = key[found.end() :]
            if not KINDS.fullmatch(name):
                faults.append(f"of no known kind: {key}")
            ended = name.startswith("run:") and client.hget(key, "status") == "ended"
            if (ended or name.startswith(EXPIRING)) and client.ttl(key) == -1:
                faults.append(f"never expires: {key}")
        client.flushdb()
    finally:
        client.close()
    return faults
