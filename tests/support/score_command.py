"""`logitscope score` as a person calls it: a process, its standard output and error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAKE = "fake:vocab=400"
TEXT = "The sky is blue. 天空 😀\n"


def score(
    *arguments: object, data: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "logitscope", "score", *map(str, arguments)],
        input=data,
        capture_output=True,
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | (env or {}),
        check=False,
    )


def records(*arguments: object, data: bytes = b"", code: int = 0) -> list[dict[str, Any]]:
    result = score(*arguments, "--format", "jsonl", data=data)
    assert result.returncode == code, result.stderr.decode()
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


def said(result: subprocess.CompletedProcess[bytes], code: int) -> str:
    """Standard error of a run: sentences, no traceback."""
    errors = result.stderr.decode()
    assert result.returncode == code, errors
    assert "Traceback" not in errors
    return errors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path
