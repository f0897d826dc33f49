"""``python -m orchestra.cli.schema [DIRECTORY]``: write the JSON Schemas of the configuration files for editors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from orchestra.core.schema import SCHEMAS, schema_of
from orchestra.experiments.experiment import Experiment


def write_schemas(directory: Path) -> tuple[Path, ...]:
    """Write ``agent``, ``cluster``, ``scenario`` and ``experiment.schema.json`` into ``directory``; their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    out = []
    models: list[tuple[str, type[BaseModel]]] = [*SCHEMAS.items(), ("experiment", Experiment)]
    for name, model in models:
        path = directory / f"{name}.schema.json"
        path.write_text(json.dumps(schema_of(model, name), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
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
