"""Closing a session: its summary comes into the archive, found by the meaning of what was said in it."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from zoneinfo import ZoneInfo

from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps
from orchestra.core.model import Usage
from orchestra.core.names import split_thread
from orchestra.core.passages import Passage
from orchestra.memory.lineage import Sources
from orchestra.memory.passages import passage_id
from orchestra.runtime.definition import Loaded
from orchestra.sleeptime.summaries import Summarizer
from orchestra.sleeptime.transcript import transcript
from orchestra.store.closing_store import ClosingClaim, ClosingStore
from orchestra.store.connection import Store
from orchestra.store.passage_store import NewPassage, PassageStore
from orchestra.store.thread_store import ThreadStore, entry_from

TAG = "session-summary"
STRETCH_TOKENS = 16_000


class Closing:
    """One claimed closing. Owner: the worker that claimed it.

    The summary grows with the session: a later closing joins the earlier summary with what was said since and puts the
    result in its place, so a session has one summary. When messages under the earlier one were taken away, or somebody
    deleted it, the whole log is read; when nothing is left of it, the summary goes too. One of a time when the session
    had no user goes from the agent's own archive when the session has one.
    """

    def __init__(self, store: Store, claim: ClosingClaim, loaded: Loaded, summarizer: Summarizer) -> None:
        self.claim, self._loaded, self._summarizer = claim, loaded, summarizer
        self.agent, self.session_id = split_thread(claim.thread)
        self._closings, self._threads, self._passages = ClosingStore(store), ThreadStore(store), PassageStore(store)

    async def work(self) -> bool:
        """Summarise and publish; False when the log was changed meanwhile and it must be done again.

        Raises:
            Fenced: another worker has taken over.
            ModelError and others: the summary failed; nothing was published.
        """
        claim = self.claim
        found = await self._passages.get([claim.passage]) if claim.passage else []
        held = found[0] if found else None
        earlier = held if held is not None and held.user_id == (claim.user or None) else None
        after, entries = await self._waiting(earlier)
        text = "" if earlier is None or after == 0 else _body(earlier.text)
        usage, last = Usage(), 0.0
        while entries:
            read = transcript(entries, watermark=after, watermark_turn=0, max_tokens=self._stretch)
            if read.messages:
                summed = await self._summarizer.summarize(text, read, claim.calls + usage.model_calls)
                text, usage = summed.text, usage + summed.usage
                last = read.messages[-1].meta.created_at or last
            after = read.upto
            if not read.rest:
                break
        failpoint("closing.worked")
        made = self._summary(text, last, earlier)
        gone = None if held is None or (made is not None and made.id == held.id) else held
        done = await self._closings.publish(claim, made, usage, gone=gone)
        failpoint("closing.published")
        return done != "EDITED"

    @property
    def _stretch(self) -> int:
        sleeptime = self._loaded.agent.sleeptime
        return STRETCH_TOKENS if sleeptime is None else sleeptime.max_tokens

    async def _waiting(self, earlier: Passage | None) -> tuple[int, list[str]]:
        """(the message that the earlier summary ends with, or 0; the entries up to the claim's last message).

        They are counted from the end, and turns that end meanwhile move the end: read further back until the place is
        reached. Entries are taken away from the end only, so when that message is there, all before it are.
        """
        claim = self.claim
        closed = claim.closed if earlier is not None else 0
        size = claim.seq - closed + 1
        while True:
            texts = await self._threads.entries(claim.thread, -size, -1) if size else []
            known = [(entry.seq, text) for text in texts if (entry := entry_from(text)) is not None]
            if len(texts) < size or (known and known[0][0] <= closed):
                break
            size *= 2
        if closed and closed not in [seq for seq, _ in known]:
            closed, texts = 0, await self._threads.entries(claim.thread)
            known = [(entry.seq, text) for text in texts if (entry := entry_from(text)) is not None]
        return closed, [text for seq, text in known if closed < seq <= claim.seq]

    def _summary(self, text: str, last: float, earlier: Passage | None) -> NewPassage | None:
        """The passage. The id of a new one comes from what it covers, so the same closing done twice adds one."""
        claim = self.claim
        if not text:
            return None
        at = last or (earlier.created_at if earlier is not None else time.time())
        zone = ZoneInfo(self._loaded.agent.conversation.time_zone)
        day = datetime.fromtimestamp(at, zone).date()
        turns = "1 turn" if claim.turn == 1 else f"{claim.turn} turns"
        name = self.session_id if self.session_id.isprintable() else dumps(self.session_id)
        header = f"Session {name}, last used {day}, {turns}:"
        return NewPassage(
            passage_id(f"closing:{claim.thread}:{claim.edition}", claim.seq) if earlier is None else earlier.id,
            f"{header}\n{text}",
            (TAG,),
            Sources(claim.thread, (claim.seq,)).to_text(),
            at,
        )


def _body(text: str) -> str:
    """A summary's text without the line that stands above it; one that somebody has rewritten may have none."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith("Session ") and first.endswith(":") else text


async def leased(closing: Closing, store: ClosingStore, host: str) -> bool:
    """:meth:`Closing.work` while the claim is kept."""
    claim = closing.claim

    async def renew() -> None:
        while True:
            await asyncio.sleep(store.lease_ms / 3000)
            if not await store.renew(claim, host):
                return

    renewing = asyncio.create_task(renew(), name=f"lease of the closing of {claim.thread}")
    try:
        return await closing.work()
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
