"""What names may look like, and how the name of a thread is made of them."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from orchestra.core.errors import InputError

_NAMESPACE = re.compile(r"[a-z0-9-]{1,64}")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_AGENT = re.compile(r"[^\s|:/][^|\n]{0,127}")
SESSION_CHARS = 256
_ESCAPED = {ord(mark): f"%{ord(mark):02X}" for mark in "%/|\n\r"}


def check_namespace(name: str) -> str:
    """``name`` if it is a namespace: lower-case letters, digits and hyphens."""
    if not _NAMESPACE.fullmatch(name):
        raise InputError(f"namespace {name!r}: use 1 to 64 lower-case letters, digits and hyphens")
    return name


def check_label(label: str) -> str:
    """``label`` if it is a block's label: a letter, then letters, digits, ``_`` and ``-``, at most 64."""
    if not _LABEL.fullmatch(label):
        raise InputError(f"block label {label!r}: use a letter, then letters, digits, '_' and '-', at most 64")
    return label


def check_agent(name: str) -> str:
    """``name`` if it is a runnable's name: 1 to 128 characters without ``|`` and line breaks."""
    if not _AGENT.fullmatch(name):
        raise InputError(f"agent name {name!r}: use 1 to 128 characters, without '|' and line breaks")
    return name


def check_session(session_id: str) -> str:
    """``session_id`` if it is one: 1 to 256 characters, any."""
    if not session_id or len(session_id) > SESSION_CHARS:
        raise InputError(f"a session id has 1 to {SESSION_CHARS} characters, this one has {len(session_id)}")
    return check_storable(session_id, "session id")


def check_user(user_id: str) -> str:
    """``user_id`` if it is one: 1 to 256 characters, any; empty ones would all be the same user."""
    if not user_id or len(user_id) > SESSION_CHARS:
        raise InputError(
            f"a user id has 1 to {SESSION_CHARS} characters, this one has {len(user_id)}; use None for no one"
        )
    return check_storable(user_id, "user id")


def check_storable(text: str, what: str) -> str:
    """``text`` if it can be encoded; ``what`` it is, for the message."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the {what} {text!r} has a lone surrogate, which cannot be stored") from None
    return text


def branch_of(*parts: str) -> str:
    """The name of a branch of threads below a session's own: ``parts`` outermost first, any text."""
    return "/".join(part.translate(_ESCAPED) for part in parts)


def thread_name(agent: str, session_id: str, branch: str = "") -> str:
    """The thread of one agent in one session. The free id comes last, so any session id is safe.

    A ``branch`` (of :func:`branch_of`) makes it the thread of a child. Such names begin with a slash, which names of
    agents do not, so they are nobody else's.
    """
    check_agent(agent), check_session(session_id)
    return f"/{branch}/{agent.translate(_ESCAPED)}|{session_id}" if branch else f"{agent}|{session_id}"


def split_thread(thread: str) -> tuple[str, str]:
    """(agent, session id) of a thread, a child's too."""
    agent, _, session_id = thread.partition("|")
    return unquote(agent.rpartition("/")[2]) if is_child(thread) else agent, session_id


def is_child(thread: str) -> bool:
    """Whether it is the thread of a child run, which no list of sessions shows."""
    return thread.startswith("/")


def derived_id(*parts: str) -> str:
    """Sixteen hexadecimal digits derived from ``parts``: the same parts give the same id, on every host."""
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()
