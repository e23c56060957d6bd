"""The command line in a process of its own, or in this one, as scripts see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from logitscope import start

FAKE = "fake:vocab=400"


def logitscope(
    *arguments: str, text: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "logitscope", *arguments],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | (env or {}),
        check=False,
    )


def run_json(*arguments: str) -> Any:
    result = logitscope(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def complaint(result: subprocess.CompletedProcess[str], code: int) -> str:
    """The message of a failed run: no traceback, nothing on standard output."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip()
    return result.stderr


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["logitscope", *arguments])
    with pytest.raises(SystemExit) as caught:
        start.main()
    return int(caught.value.code or 0)
