"""What crosses between a program and a host."""

from __future__ import annotations

from orchestra.cluster.envelope import Call, Edition, Failed, as_failed, call_in, packed
from orchestra.core.errors import BlockLimitExceeded, OrchestraError
from orchestra.core.messages import as_messages
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed


class Holding(OrchestraError):
    """An error that holds something that does not pickle."""

    def __init__(self) -> None:
        super().__init__("held")
        self.held = (item for item in ())


def test_a_call_comes_back_whole_and_hides_what_is_sealed() -> None:
    request = RunRequest("run", "agent", as_messages("hello"), "session")
    call = Call(request, Sealed.of({"key": "violet-kestrel"}), Edition("owner", 3), again=True)
    found = call_in(packed(call))
    assert (found.request, found.functions, found.again) == (request, Edition("owner", 3), True)
    assert found.invocation_state is not None
    assert dict(found.invocation_state.open()) == {"key": "violet-kestrel"}
    assert "kestrel" not in repr(found)


def test_our_errors_keep_their_type_and_others_become_text() -> None:
    ours = as_failed(BlockLimitExceeded("human", 10, 12), "primary-0").error
    assert isinstance(ours, BlockLimitExceeded)
    assert (ours.limit, ours.size) == (10, 12)
    other = as_failed(ZeroDivisionError("by zero"), "primary-0").error
    assert type(other) is OrchestraError
    assert str(other) == "host primary-0: ZeroDivisionError: by zero"
    held = as_failed(Holding(), "primary-0")
    assert isinstance(held, Failed)
    assert str(held.error) == "host primary-0: held"
