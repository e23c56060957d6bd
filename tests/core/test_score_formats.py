"""The formats of ``logitscope score``: tables, CSV, Parquet, and pages of HTML."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import score_command
from score_command import FAKE, records, said, score

file = score_command.file

TITLES = ["file", "position", "id", "token", "loss", "probability", "rank", "entropy"]


def test_tables_for_people(file: Path) -> None:
    result = score(FAKE, file)
    assert said(result, 0) == ""
    title, line = result.stdout.decode().splitlines()
    assert title.split()[:4] == ["file", "tokens", "mean", "loss"]
    assert line.startswith(str(file))
    lines = score(FAKE, file, "--tokens").stdout.decode().splitlines()
    assert lines[0].split() == TITLES
    assert lines[1].split()[-4:] == ["–"] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="names hold no control characters there")
@pytest.mark.parametrize("tokens", [(), ("--tokens",)])
def test_a_name_with_a_line_break_makes_one_line_of_a_table(
    tokens: tuple[str, ...], tmp_path: Path, file: Path
) -> None:
    odd = file.rename(tmp_path / "a\nb\x1b[2J.txt")
    _title, *lines = score(FAKE, odd, *tokens).stdout.decode().splitlines()
    assert lines
    assert all(line.startswith(f"{tmp_path}/a\\nb\\x1b[2J.txt ") for line in lines)


@pytest.mark.parametrize("output", ["table", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("tokens", [(), ("--tokens",)])
def test_where_nothing_is_scored_nothing_is_printed(
    output: str, tokens: tuple[str, ...], tmp_path: Path, file: Path
) -> None:
    if output == "parquet":
        pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    empty = tmp_path / "empty.txt"
    empty.touch()
    for model, text in (
        (FAKE, tmp_path / "absent.txt"),
        (FAKE, empty),
        (FAKE + ",abort=prefill", file),
        (FAKE + ",fail=load", file),
    ):
        result = score(model, text, "--format", output, *tokens)
        assert said(result, 1).startswith("logitscope: ")
        assert result.stdout == b""


def test_csv_holds_what_json_lines_hold(file: Path) -> None:
    for arguments in ([], ["--tokens"]):
        expected = records(FAKE, file, *arguments)
        text = score(FAKE, file, *arguments, "--format", "csv").stdout.decode()
        found = list(csv.DictReader(io.StringIO(text)))
        assert len(found) == len(expected)
        for row, record in zip(found, expected, strict=True):
            assert list(row) == list(record)
            for name, value in record.items():
                values = value if isinstance(value, list) else [value]
                assert row[name] == " ".join("" if v is None else str(v) for v in values)


def test_parquet_holds_what_json_lines_hold(file: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    from pyarrow import parquet

    for arguments in ([], ["--tokens"]):
        data = score(FAKE, file, file, *arguments, "--format", "parquet").stdout
        found = parquet.read_table(io.BytesIO(data)).to_pylist()
        expected = records(FAKE, file, file, *arguments)
        assert [list(row) for row in found] == [list(record) for record in expected]
        for row, record in zip(found, expected, strict=True):
            for name, value in record.items():
                if name == "top_log_probabilities":
                    np.testing.assert_allclose(row[name], value, rtol=1e-6)
                else:
                    assert row[name] == value


def test_parquet_without_its_package_is_one_sentence(tmp_path: Path, file: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n")
    result = score(FAKE, file, "--format", "parquet", env={"PYTHONPATH": str(tmp_path)})
    assert said(result, 1) == (
        "logitscope: Parquet needs the package pyarrow: pip install 'logitscope[parquet]'\n"
    )


def test_html_is_one_file_for_one_text(tmp_path: Path, file: Path) -> None:
    page = tmp_path / "page.html"
    assert said(score(FAKE, file, "--html", page), 0) == ""
    text = page.read_text(encoding="utf-8")
    assert "The" in re.sub("<[^>]*>", "", text)
    assert "perplexity" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    errors = said(score(FAKE, file, "--html", tmp_path / "absent" / "page.html"), 1)
    assert "cannot be written" in errors
    assert "one file" in said(score(FAKE, file, file, "--html", page), 2)


def test_a_page_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, file: Path) -> None:
    # A model that never comes: who waits for it has begun the work.
    for page, reason in ((tmp_path / "absent" / "page.html", "No such"), (tmp_path, "directory")):
        result = score("fake:hang=load", file, "--html", page)
        assert re.search(f"cannot be written .*{reason}", said(result, 1))
        assert result.stdout == b""


def test_a_run_that_fails_leaves_the_page_as_it_was(tmp_path: Path, file: Path) -> None:
    page = tmp_path / "page.html"
    said(score("fake:fail=load", file, "--html", page), 1)
    assert not page.exists()
    page.write_text("of yesterday")
    said(score("fake:fail=load", file, "--html", page), 1)
    assert page.read_text() == "of yesterday"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_page_is_written_through_a_link(tmp_path: Path, file: Path) -> None:
    link, page = tmp_path / "link.html", tmp_path / "page.html"
    link.symlink_to(page)
    assert said(score(FAKE, file, "--html", link), 0) == ""
    assert link.is_symlink()
    assert "perplexity" in page.read_text(encoding="utf-8")


def test_what_is_read_is_not_written_over(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(file)
    before = file.read_bytes()
    for page in (file, link):
        assert "write over" in said(score(FAKE, file, "--html", page), 2)
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    assert "write over" in said(score(model, file, "--html", model), 2)
    assert (file.read_bytes(), model.read_bytes()) == (before, b"GGUF")


def test_a_text_without_a_loss_makes_no_page(tmp_path: Path) -> None:
    page, empty = tmp_path / "page.html", tmp_path / "empty.txt"
    empty.touch()
    assert "no token can be scored" in said(score(FAKE, empty, "--html", page), 1)
    assert not page.exists()


def test_a_model_that_fails_at_once_makes_no_page(tmp_path: Path, file: Path) -> None:
    page = tmp_path / "page.html"
    assert "failed in prefill" in said(score(FAKE + ",fail=prefill", file, "--html", page), 1)
    assert not page.exists()
