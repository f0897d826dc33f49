"""Published passes, and what each changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

from orchestra.core.errors import OrchestraError
from orchestra.core.jsontext import Json, loads
from orchestra.core.model import Usage
from orchestra.memory.blocks import Blocks


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """A block that a pass changed: from version ``before`` to version ``after``. ``diff`` is a unified diff."""

    label: str
    block: str
    before: int
    after: int
    diff: str = ""


@dataclass(frozen=True, slots=True)
class PassReport:
    """One published pass. ``turn`` is the last turn that it has read; ``seconds`` is how long it worked."""

    id: str
    turn: int
    messages: int
    changed: tuple[ChangedBlock, ...]
    consolidator: str
    usage: Usage
    seconds: float
    tries: int
    conflicts: int
    refused: tuple[str, ...]
    documents: tuple[str, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> PassReport:
        """The report as the store keeps it."""
        value = cast("Mapping[str, Json]", loads(text))
        changed = cast("list[Mapping[str, Json]]", value["changed"])
        return cls(
            id=str(value["pass"]),
            turn=int(cast("int", value["turn"])),
            messages=int(cast("int", value["messages"])),
            changed=tuple(
                ChangedBlock(
                    str(c["label"]), str(c["block"]), int(cast("int", c["before"])), int(cast("int", c["after"]))
                )
                for c in changed
            ),
            consolidator=str(value["consolidator"]),
            usage=Usage.from_json(cast("Mapping[str, Json]", value["usage"])),
            seconds=float(cast("float", value["seconds"])),
            tries=int(cast("int", value["tries"])),
            conflicts=int(cast("int", value["conflicts"])),
            refused=tuple(str(item) for item in cast("list[Json]", value["refused"])),
            documents=tuple(str(item) for item in cast("list[Json]", value.get("documents", []))),
        )

    def to_json(self) -> dict[str, Json]:
        """All of it, with the diffs."""
        made = cast("dict[str, Json]", asdict(self))
        return {**made, "usage": self.usage.to_json(), "refused": list(self.refused), "documents": list(self.documents)}


async def with_diffs(report: PassReport, blocks: Blocks) -> PassReport:
    """The report with the diff of each changed block; one that is gone, or too old for its history, has none."""
    changed = []
    for one in report.changed:
        try:
            diff = await blocks.diff(one.block, one.before, one.after)
        except OrchestraError:
            diff = ""
        changed.append(ChangedBlock(one.label, one.block, one.before, one.after, diff))
    return PassReport(
        **{name: getattr(report, name) for name in PassReport.__slots__ if name != "changed"}, changed=tuple(changed)
    )
