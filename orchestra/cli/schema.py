"""``python -m orchestra.cli.schema [DIRECTORY]``: write the JSON Schemas of the configuration files for editors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestra.core.schema import SCHEMAS, json_schema


def write_schemas(directory: Path) -> tuple[Path, ...]:
    """Write ``agent``, ``cluster`` and ``scenario.schema.json`` into ``directory`` and return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    out = []
    for name in SCHEMAS:
        path = directory / f"{name}.schema.json"
        path.write_text(json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        out.append(path)
    return tuple(out)


def main(arguments: Sequence[str]) -> int:
    """Write the schemas and print where they are; 2 when there is more than one argument."""
    if len(arguments) > 1:
        print("usage: python -m orchestra.cli.schema [DIRECTORY]", file=sys.stderr)
        return 2
    for path in write_schemas(Path(arguments[0] if arguments else "configs/schema")):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
