"""Saved sessions: versioned JSON, written so that a crash leaves the old file or the new one.

Format 1 is an object with ``format`` ("logitscope-session"), ``version`` (1), ``model`` (what is
needed to find and recognise the model again) and ``document``. Nodes are written parent first;
``prompt_ids`` and the nodes' ids are the truth, the text of the blocks is what was typed.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from logitscope.document import Block, State
from logitscope.sampling import SamplerSettings, Stage
from logitscope.steps import Draw, Origin, StepRecord
from logitscope.tree import ROOT, Node, Tree

FORMAT = "logitscope-session"
VERSION = 1
_BEGIN = f'{{"format":"{FORMAT}"'.encode()
_BEGIN_BYTES = 64
"""More than what a file of ours, or one that was indented since, begins with."""
MAX_FILE_BYTES = 512 * 1024 * 1024
"""A step takes about 400 bytes: a larger file is not a session anyone made by hand."""


class SessionFileError(Exception):
    """One sentence: what is wrong with the file and what to do."""


@dataclass(frozen=True, slots=True)
class ModelReference:
    """How a saved session names its model."""

    path: str
    backend: str
    name: str
    header_hash: str


Stamp = tuple[int, int, int]
"""What tells a file from one that was written in its place: time, length, number."""


@dataclass(frozen=True, slots=True)
class HomeFile:
    """The file that a copy of unsaved changes belongs to, as it was when it was read or saved."""

    path: str
    stamp: Stamp | None


@dataclass(frozen=True, slots=True)
class SavedSession:
    """What a file holds."""

    state: State
    model: ModelReference | None
    home: HomeFile | None = None
    """Of a copy only."""


class SessionText:
    """The JSON text of a session that grows: a node never changes, so each is encoded once.

    Encoding 2,000 tokens anew takes 20 ms, which a window must not stop for every two seconds.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._encoded: list[str] = []
        self._runs: list[int | None] = []
        self._places: dict[SamplerSettings, int] = {}
        """Every settings that made a step is written once; ``_runs`` holds its place."""

    def of(self, session: SavedSession) -> str:
        """The text. Lone surrogates are written as escapes and survive."""
        state = session.state
        self._follow(state.tree, state.count)
        document = {
            "blocks": [asdict(block) for block in state.blocks],
            "chat": state.chat,
            "add_special": state.add_special,
            "parse_special": state.parse_special,
            "settings": _settings_to_json(state.settings),
            "prompt_ids": state.prompt_ids,
            "made_by": state.model,
            "runs": self._runs[: state.count],
            "run_settings": [_settings_to_json(settings) for settings in self._places],
            "leaf": state.leaf,
            "names": state.names,
            "deleted": sorted(state.deleted),
        }
        model = asdict(session.model) if session.model else None
        home = {"file": asdict(session.home)} if session.home else {}
        whole = {"format": FORMAT, "version": VERSION, **home, "model": model, "document": document}
        open_ended = _encode(whole).removesuffix("}}")
        return f'{open_ended},"nodes":[{",".join(self._encoded[: state.count])}]}}}}'

    def _follow(self, tree: Tree, count: int) -> None:
        """Trees only grow at their end and are cut there: what is the same up to a node is the
        same before it."""
        nodes = self._nodes
        while nodes and (len(nodes) > len(tree) or tree[len(nodes) - 1] is not nodes[-1]):
            for kept in (nodes, self._encoded, self._runs):
                kept.pop()
        if not nodes:
            self._places.clear()
        for index in range(len(nodes), count):
            node = tree[index]
            settings, places = node.step.settings, self._places
            nodes.append(node)
            self._encoded.append(_encode([node.parent, _step_to_json(node.step)]))
            self._runs.append(
                None if settings is None else places.setdefault(settings, len(places))
            )


def save(path: Path, session: SavedSession) -> None:
    """Write a session as `write` does. Raises OSError."""
    write(path, dumps(session))


def write(path: Path, text: str) -> None:
    """Write atomically: a temporary file beside ``path``, flushed to the disk, then renamed.

    Raises OSError where the folder cannot be written; ``path`` is then untouched.
    """
    data = text.encode("utf-8")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_session(path: Path) -> bool:
    """Whether a file begins as a session does, whatever its name."""
    try:
        with path.open("rb") as file:
            begin = file.read(_BEGIN_BYTES)
    except OSError:
        return False
    return b"".join(begin.split()).startswith(_BEGIN)


def load(path: Path) -> SavedSession:
    """Read a session. Raises SessionFileError, OSError."""
    # Reading a pipe waits for who writes into it, perhaps without end.
    if path.exists() and not path.is_file():
        raise SessionFileError(f"{path.name} is not an ordinary file: open a saved session.")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise SessionFileError(f"{path.name} is too large to be a saved session: open another.")
    return loads(path.read_bytes().decode("utf-8", errors="replace"), name=path.name)


def dumps(session: SavedSession) -> str:
    """The JSON text of a session."""
    return SessionText().of(session)


def loads(text: str, *, name: str = "the session") -> SavedSession:
    """The session in a JSON text. Raises SessionFileError."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SessionFileError(
            f"{name} is not a saved session or is damaged ({error}): open an earlier copy."
        ) from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise SessionFileError(f"{name} is not a Logitscope session: choose another file.")
    if whole.get("version") != VERSION:
        raise SessionFileError(
            f"{name} was saved in format {whole.get('version')}, this Logitscope reads format "
            f"{VERSION}: open it with a newer one."
        )
    try:
        return SavedSession(
            _state_from_json(whole["document"]),
            _model_from_json(whole["model"]),
            _home_from_json(whole.get("file")),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise SessionFileError(
            f"{name} is damaged ({type(error).__name__}: {error}): open an earlier copy."
        ) from error


# -- parts --------------------------------------------------------------------------------------


def _encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _settings_to_json(settings: SamplerSettings) -> dict[str, Any]:
    return {**asdict(settings), "order": [stage.value for stage in settings.order]}


def _settings_from_json(data: dict[str, Any]) -> SamplerSettings:
    known = {name: data[name] for name in SamplerSettings.__slots__ if name in data}
    if "order" in known:
        known["order"] = tuple(Stage(stage) for stage in known["order"])
    return SamplerSettings(**known)


def _step_to_json(step: StepRecord) -> dict[str, Any]:
    return {
        "id": step.token_id,
        "origin": step.origin.value,
        "logp": step.log_probability,
        "rank": step.rank,
        "entropy": step.entropy,
        "shaped": step.shaped_probability,
        "draw": None if step.draw is None else [step.draw.u, step.draw.low, step.draw.high],
        "top": [step.top_ids, step.top_log_probabilities],
        "seconds": step.seconds,
    }


def _step_from_json(data: dict[str, Any], settings: SamplerSettings | None) -> StepRecord:
    draw = data["draw"]
    top_ids, top_log_probabilities = data["top"]
    return StepRecord(
        token_id=_id(data["id"]),
        origin=Origin(data["origin"]),
        log_probability=float(data["logp"]),
        rank=int(data["rank"]),
        entropy=float(data["entropy"]),
        shaped_probability=None if data["shaped"] is None else float(data["shaped"]),
        draw=None if draw is None else Draw(*(float(number) for number in draw)),
        top_ids=tuple(_id(token_id) for token_id in top_ids),
        top_log_probabilities=tuple(float(number) for number in top_log_probabilities),
        seconds=float(data["seconds"]),
        settings=settings,
    )


def _state_from_json(data: dict[str, Any]) -> State:
    tree = _tree_from_json(data)
    leaf = _node(data["leaf"], tree)
    return State(
        blocks=tuple(_block_from_json(block) for block in data["blocks"]),
        chat=bool(data["chat"]),
        add_special=bool(data["add_special"]),
        parse_special=bool(data["parse_special"]),
        settings=_settings_from_json(data["settings"]),
        prompt_ids=tuple(_id(token_id) for token_id in data["prompt_ids"]),
        model=str(data["made_by"]),
        tree=tree,
        count=len(tree),
        leaf=leaf,
        names=tuple((_node(node, tree), str(name)) for node, name in data["names"]),
        deleted=frozenset(_node(node, tree) for node in data["deleted"]),
    )


def _tree_from_json(data: dict[str, Any]) -> Tree:
    """Older files do not say which settings made a step."""
    made_with = [_settings_from_json(settings) for settings in data.get("run_settings", ())]
    runs = data.get("runs") or [None] * len(data["nodes"])
    tree = Tree()
    for (parent, step), run in zip(data["nodes"], runs, strict=True):
        settings = None if run is None else made_with[run]
        tree.add(_node(parent, tree), _step_from_json(step, settings))
    return tree


def _block_from_json(data: dict[str, Any]) -> Block:
    text = str(data["text"])
    # Files of before the origin panel have no ranges.
    sources = tuple(_range(*pair) for pair in data.get("sources", ()))
    stops = (0, *(stop for _, stop in sources))
    if any(start < before for (start, _), before in zip(sources, stops, strict=False)):
        raise ValueError("the ranges of a source are not in order")
    if stops[-1] > len(text):
        raise ValueError("a range of a source is outside its text")
    return Block(text, str(data["role"]), bool(data["is_source"]), sources)


def _model_from_json(data: dict[str, Any] | None) -> ModelReference | None:
    if data is None:
        return None
    return ModelReference(**{key: str(data[key]) for key in ModelReference.__slots__})


def _home_from_json(data: dict[str, Any] | None) -> HomeFile | None:
    if data is None:
        return None
    stamp = data["stamp"]
    if stamp is None:
        return HomeFile(str(data["path"]), None)
    modified, length, number = map(int, stamp)
    return HomeFile(str(data["path"]), (modified, length, number))


def _id(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a token id")
    return value


def _range(start: object, stop: object) -> tuple[int, int]:
    if not isinstance(start, int) or not isinstance(stop, int) or start >= stop:
        raise ValueError(f"({start!r}, {stop!r}) is not a range")
    return start, stop


def _node(value: object, tree: Tree) -> int:
    if not isinstance(value, int) or not ROOT <= value < len(tree):
        raise ValueError(f"{value!r} is not a node of the tree")
    return value
