"""Reading text files of any encoding; expected texts are what Python's codecs were given."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from logitscope import textfile
from logitscope.textfile import (
    TextFileError,
    decode_text,
    jsonl_field,
    jsonl_fields,
    read_jsonl_field,
    read_text,
)

MIXED = "The sky — «é»\r\n天空是蓝色的。\tΩ 😀\n"
WESTERN = "Où est la bibliothèque ?\nGrün und süß.\n" * 3


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
    ],
)
def test_unicode_encodings_give_the_text_back(tmp_path: Path, codec: str, encoding: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(MIXED.encode(codec))
    file = read_text(path)
    assert (file.text, file.encoding, file.note) == (MIXED, encoding, "")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_told_by_its_nuls(codec: str) -> None:
    file = decode_text(WESTERN.encode(codec), "old.txt")
    assert (file.text, file.encoding) == (WESTERN, "UTF-16")
    assert "old.txt" in file.note


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        (WESTERN, "latin-1", "Latin-1"),
        ("“Œuvre” – 5 €\n", "cp1252", "Windows-1252"),
    ],
)
def test_single_byte_text_is_read_and_said(text: str, codec: str, encoding: str) -> None:
    file = decode_text(text.encode(codec), "old.txt")
    assert (file.text, file.encoding) == (text, encoding)
    assert file.note == f"old.txt is not UTF-8 and is read as {encoding}."


@pytest.mark.parametrize("text", ["", " ", "\n\t \n", "a\0b", "no end of line", "x" * 5_000_000])
def test_unusual_texts_are_texts(text: str) -> None:
    assert decode_text(text.encode(), "text.txt").text == text


def _binaries() -> dict[str, bytes]:
    noise = random.Random(0)
    return {
        "png": bytes.fromhex("89504e470d0a1a0a0000000d49484452000000100000001008060000001ff3ff61"),
        "gguf": b"GGUF" + (3).to_bytes(4, "little") + (9).to_bytes(8, "little") * 2,
        "gzip": gzip.compress(MIXED.encode() * 50, mtime=0),
        "noise": noise.randbytes(4096),
        "nuls": bytes(1000),
    }


@pytest.mark.parametrize("kind", _binaries())
def test_binary_files_are_refused_in_a_sentence(kind: str) -> None:
    with pytest.raises(TextFileError, match=r"^model\.bin is a binary file: choose a text file\.$"):
        decode_text(_binaries()[kind], "model.bin")


def test_a_broken_marked_file_is_refused() -> None:
    with pytest.raises(TextFileError, match="begins as UTF-8 text"):
        decode_text(b"\xef\xbb\xbfabc\xff\xfe", "broken.txt")


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_lone_surrogates_become_the_replacement_character(codec: str) -> None:
    file = decode_text("a\ud800b".encode(codec, "surrogatepass"), "text.txt")
    assert file.text == "a\ufffdb"
    assert "U+FFFD" in file.note


def test_surrogates_in_pairs_become_the_character() -> None:
    file = decode_text("\ud83d\ude00".encode("utf-8", "surrogatepass"), "cesu.txt")
    assert (file.text, file.note) == ("😀", "")


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TextFileError, match=r"There is no file .*nothing"):
        read_text(tmp_path / "nothing.txt")
    with pytest.raises(TextFileError, match="is a folder"):
        read_text(tmp_path)


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"a" * ((1 << 20) + 1))
    with pytest.raises(TextFileError, match="larger than 1 MB"):
        read_text(path, largest=1 << 20)
    with pytest.raises(TextFileError, match="larger than 1 MB"):
        read_text(Path("/dev/zero"), largest=1 << 20)


# -- JSON Lines ---------------------------------------------------------------------------------


def test_one_field_of_json_lines(tmp_path: Path) -> None:
    texts = ["one\ntwo", "  三 ", "line\u2028separator", ""]
    path = tmp_path / "texts.jsonl"
    lines = [json.dumps({"id": 7, "text": t, "by": "x"}, ensure_ascii=False) for t in texts]
    path.write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    assert jsonl_fields(path) == ("text", "by")
    records = read_jsonl_field(path, "text")
    assert records.texts == tuple(texts)
    assert (records.encoding, records.note) == ("UTF-8", "")


def test_escaped_lone_surrogates_are_replaced_and_said(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"t": "a\\ud800"}\n{"t": "\\ud83d\\ude00"}\n{"t": "\\udc00"}\n')
    records = read_jsonl_field(path, "t")
    assert records.texts == ("a\ufffd", "😀", "\ufffd")
    assert records.note.count("U+FFFD") == 1


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"text": "a"}\n{"body": "b"}\n', r"Line 2 of t\.jsonl has no text .*'text'.*here: body"),
        ('{"text": 3}\n', r"Line 1 .*here: none"),
        ("{'text': 1}\n", r"Line 1 of t\.jsonl is no JSON object"),
        ('\n["text"]\n', r"Line 2 of t\.jsonl is no JSON object"),
        ("[" * 100_000 + "\n", r"Line 1 of t\.jsonl is no JSON object"),
    ],
)
def test_json_lines_without_the_text(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines)
    with pytest.raises(TextFileError, match=said):
        read_jsonl_field(path, "text")


def test_an_empty_file_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("")
    assert jsonl_fields(path) == ()
    assert read_jsonl_field(path, "text").texts == ()


def test_a_record_that_would_hold_everything_up_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "LONGEST_RECORD", 1 << 20)
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"text": "short"}) + "\n" + "x" * ((1 << 20) + 1))
    with pytest.raises(TextFileError, match=r"Line 2 of t\.jsonl is longer than 1 million"):
        read_jsonl_field(path, "text")


def test_reading_is_reported_to_the_end_and_can_be_ended(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = json.dumps({"text": "a" * 1_500_000}) + "\n"
    path.write_text(line * 3)
    reports: list[tuple[int, int]] = []
    file = read_text(path, report=lambda *now: reports.append(now))
    assert reports[-1] == (3 * len(line), 3 * len(line))
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    reports.clear()
    jsonl_field(file, "text", path.name, report=lambda *now: reports.append(now))
    assert reports == [(n * len(line), 3 * len(line)) for n in (1, 2, 3)]

    def end(_done: int, _total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        jsonl_field(file, "text", path.name, report=end)
