"""Items that the storage cannot read: sealed before they are stored, opened when they are read."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from orchestra.core.errors import ConfigError, InputError
from orchestra.memory.session_items import Item, decoded, encoded
from orchestra.memory.session_settings import check_limit, settings_from
from orchestra.memory.stored_session import Snapshot
from orchestra.memory.wrapped_session import Session, WrappedSession, replaceable
from orchestra.store.session_store import check_ttl

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEALED = "orchestra.sealed"
NONCE_BYTES = 12
SHORTEST_KEY = 16


def _cipher(key: bytes, session_id: str) -> AESGCM:
    """AES-256-GCM with a key of this session's own (HKDF-SHA256), so that items cannot be moved between sessions."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        hint = "pip install 'orchestra-runtime[encryption]'"
        raise ConfigError("EncryptedSession needs the package cryptography", hint=hint) from None
    salt = session_id.encode(errors="surrogatepass")
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"orchestra.session.1").derive(key))


class EncryptedSession(WrappedSession):
    """A session whose items are sealed with authenticated encryption (AES-256-GCM).

    An item is stored as ``{"orchestra.sealed": 1, "at": …, "data": …}``. Items that cannot be opened (another key,
    another session, changed, never sealed) and items older than ``ttl`` are skipped, use up no limit, and are counted
    in ``skipped_items``. The order and number of items are visible to the storage, their content is not.

    Args:
        session: any session.
        key: a secret of at least 16 bytes (or characters); random ones, not a password.
        ttl: seconds after which an item is no longer given out; ``None``: never.
        clock: Unix seconds, for tests.

    Raises:
        InputError: the key is too short or ``ttl`` is out of range.
        ConfigError: the package ``cryptography`` is not installed.
    """

    def __init__(
        self, session: Session, key: str | bytes, ttl: float | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(session)
        secret = key.encode() if isinstance(key, str) else bytes(key)
        if len(secret) < SHORTEST_KEY:
            raise InputError(f"the key has {len(secret)} bytes; use at least {SHORTEST_KEY} random ones")
        self._cipher, self._ttl, self._clock = _cipher(secret, session.session_id), check_ttl(ttl), clock
        self.skipped_items = 0

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items that can be opened, or the last ``limit`` of them, oldest first."""
        wanted = check_limit(limit if limit is not None else settings_from(self.session_settings).limit)
        if wanted == 0:
            return []
        window = wanted
        while True:
            sealed = await self.session.get_items(window)
            items = [item for one in sealed if (item := self._opened(one)) is not None]
            if wanted is None or window is None or len(items) >= wanted or len(sealed) < window:
                self.skipped_items += len(sealed) - len(items)
                return items if wanted is None else items[-wanted:]
            window *= 2

    async def add_items(self, items: Sequence[Item]) -> None:
        """Seal and append the items, all or none. Raises as the inner session."""
        if items:
            await self.session.add_items(self._sealed(items))

    async def pop_item(self) -> Item | None:
        """Take the newest item away that can be opened; those behind it that cannot are dropped."""
        while (sealed := await self.session.pop_item()) is not None:
            if (item := self._opened(sealed)) is not None:
                return item
            self.skipped_items += 1
        return None

    async def set_items(self, items: Sequence[Item]) -> None:
        """Replace the whole history in one step."""
        await replaceable(self.session).set_items(self._sealed(items))

    async def snapshot(self) -> Snapshot:
        """The whole history, opened."""
        inner = await replaceable(self.session).snapshot()
        both = zip(inner.items, inner.ends, strict=True)
        found = [(item, end) for one, end in both if (item := self._opened(one)) is not None]
        self.skipped_items += len(inner.items) - len(found)
        return Snapshot(inner.generation, tuple(item for item, _ in found), tuple(end for _, end in found))

    async def replace_items(self, snapshot: Snapshot, count: int, items: Sequence[Item]) -> bool:
        """Replace the first ``count`` items of ``snapshot`` with sealed ones; False when the history has moved."""
        return await replaceable(self.session).replace_items(snapshot, count, self._sealed(items))

    def _sealed(self, items: Sequence[Item]) -> list[Item]:
        at = int(self._clock() * 1000)
        return [self._seal(text, at) for text in encoded(items)]

    def _seal(self, text: bytes, at: int) -> dict[str, Any]:
        nonce = os.urandom(NONCE_BYTES)
        data = nonce + self._cipher.encrypt(nonce, text, str(at).encode())
        return {SEALED: 1, "at": at, "data": base64.b64encode(data).decode()}

    def _opened(self, sealed: Item) -> Item | None:
        from cryptography.exceptions import InvalidTag

        if not isinstance(sealed, dict) or sealed.get(SEALED) != 1:
            return None
        at = sealed.get("at")
        if type(at) is not int or (self._ttl is not None and self._clock() * 1000 - at > self._ttl * 1000):
            return None
        try:
            data = base64.b64decode(cast("str", sealed.get("data")), validate=True)
            return decoded(self._cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], str(at).encode()))
        except (InvalidTag, ValueError, TypeError):
            return None
