from __future__ import annotations

import subprocess
import sys

LIGHT = """
import sys
import orchestra.models, orchestra.testing
orchestra.models.resolve("openai:gpt-5-mini")
orchestra.models.describe_auto({"OPENAI_API_KEY": "k"})
print([name for name in ("pydantic_ai", "openai", "httpx2") if name in sys.modules])
"""


def test_client_libraries_are_imported_by_the_first_call_only() -> None:
    result = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "[]\n"
