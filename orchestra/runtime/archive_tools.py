"""The tools by which an agent searches what was said and the archive, and adds to it. It never changes or deletes.

They are idempotent: what is added has an id that is derived from run and call.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from orchestra.core.errors import ToolError
from orchestra.runtime.run_archive import ToolArchive
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext

NOTHING = "nothing was found"
SHOWN_CHARS = 2000


async def conversation_search(
    query: str,
    ctx: ToolContext,
    roles: list[Literal["user", "assistant", "tool"]] | None = None,
    limit: int = 10,
    start_date: str | None = None,
    end_date: str | None = None,
    cursor: str | None = None,
) -> str:
    """Search everything that was ever said with this user, also what you do not see any more.

    Args:
        query: What to look for, in words or by meaning.
        roles: Only what these said; left out: everybody.
        limit: At most so many messages.
        start_date: Not before this date, such as 2026-03-31.
        end_date: Not after this date; the day itself is included.
        cursor: For the next page: the cursor that the last answer gave, with the same query.
    """
    found = await _archive(ctx).recall(query, roles, limit, start_date=start_date, end_date=end_date, cursor=cursor)
    lines = [f"[{_day(one.at)}] {one.role} (session {one.session_id}): {_short(one.text)}" for one in found]
    return _listed(lines, found.cursor)


async def archival_memory_search(
    query: str,
    ctx: ToolContext,
    tags: list[str] | None = None,
    tag_match_mode: Literal["any", "all"] = "any",
    limit: int = 10,
    cursor: str | None = None,
    start_date: str | None = None,
    end_date: str | None = None,
) -> str:
    """Search your archive by meaning: facts, documents and summaries that were put there to be kept.

    Args:
        query: What to look for.
        tags: Only passages with these tags.
        tag_match_mode: any: with one of the tags; all: with all of them.
        limit: At most so many passages.
        cursor: For the next page: the cursor that the last answer gave, with the same query.
        start_date: Only passages added on this date or later, such as 2026-03-31.
        end_date: Only passages added until this date; the day itself is included.
    """
    found = await _archive(ctx).search(
        query,
        tags,
        limit,
        tag_match_mode=tag_match_mode,
        start_date=start_date,
        end_date=end_date,
        cursor=cursor,
    )
    lines = []
    for hit in found:
        tagged = f" ({', '.join(hit.passage.tags)})" if hit.passage.tags else ""
        lines.append(f"[{_day(hit.passage.created_at)}]{tagged} {_short(hit.passage.text)}")
    return _listed(lines, found.cursor)


async def archival_memory_insert(content: str, ctx: ToolContext, tags: list[str] | None = None) -> str:
    """Put something into your archive, to be found by its meaning later. One self-contained fact or note at a time.

    Args:
        content: The text, with names and dates spelled out.
        tags: Words to find it by.
    """
    await _archive(ctx).insert(content, tags)
    return "added to the archive"


def _archive(ctx: ToolContext) -> ToolArchive:
    if ctx.archive is None:
        raise ToolError("there is no archive here")
    return ctx.archive


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if at else "no date"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text)} characters)"


def _listed(lines: list[str], cursor: str | None) -> str:
    if not lines:
        return NOTHING
    text = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    return text if cursor is None else f"{text}\nThere is more: cursor {cursor}"


ARCHIVE_TOOLS = {
    function.__name__: Tool(function, idempotent=True)
    for function in (conversation_search, archival_memory_search, archival_memory_insert)
}
